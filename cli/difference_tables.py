"""The tables of `probe diff`. Functions return renderables; the command prints them."""

import json

from rich import box
from rich.table import Table
from rich.text import Text

from attnprobe.cli.inputs import ranges
from attnprobe.cli.tables import defaults, in_order, options_line, p_value, title


def pages(made, names):
    """A table for each task and its options, the other differences, and what it all comes to. names: of the two sides."""
    groups = {}
    for row in made["arms"]:
        groups.setdefault(json.dumps([row["task"], row["options"]], sort_keys=True), []).append(row)
    yield Text(f"A: {names[0]}\nB: {names[1]}", style="dim")
    yield Text()
    for rows in groups.values():
        yield title({"task": rows[0]["task"], "config": {"options": rows[0]["options"]}})
        yield table(rows)
    for row in made["arms"]:
        if row["theory_changed"]:
            yield Text(f"{name(row)}: theory said {row['theory'][0]}, says {row['theory'][1]}", style="bold")
    yield from (Text(line, style="dim") for line in closing(made))


def table(rows):
    """A row an arm."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for heading in ("arm", "d", "A", "B", "only A", "only B", "p", "Holm p", ""):
        side = "left" if heading in ("arm", "only A", "only B", "") else "right"
        made.add_column(heading, justify=side, overflow="fold", no_wrap=heading not in ("arm", "only A", "only B"))
    for row in rows:
        counts = [
            f"{k}/{row['n']}" + (f" ({len(failed)} failed)" if failed else "")
            for k, failed in zip(row["solved"], row["failed"], strict=True)
        ]
        cells = (
            row["arm"],
            str(row["head_dim"]),
            *counts,
            seeds(row["lost"]),
            seeds(row["gained"]),
            p_value(row["p"]),
            p_value(row["p_holm"]),
        )
        made.add_row(*map(Text, cells), Text("changed" if row["changed"] else ""), style="" if row["changed"] else "dim")
    return made


def seeds(ids):
    """Seeds as ranges, or a dash."""
    return ", ".join(str(low) if high == low + 1 else f"{low}:{high}" for low, high in ranges(ids)) or "-"


def name(row):
    """An arm with its task, the task's first option, and the others where they are not the default: `ladder --r 6, fpa@4`."""
    usual = defaults(row["task"])
    options = in_order(row["task"], row["options"])
    told = {name: value for at, (name, value) in enumerate(options.items()) if not at or name not in usual or value != usual[name]}
    return f"{row['task']} {options_line(told)}".rstrip() + f", {row['arm']}@{row['head_dim']}"


def closing(made):
    """What is compared, what differs in version and code, what is on one side alone, and the count."""
    yield "A, B: seeds solved of those that both sides hold; only A, only B: the seeds that one side alone solves"
    yield "p: two-sided exact sign test, paired by seed; Holm over the arms of both"
    versions = {row["task"]: row["task_version"] for row in made["arms"] if row["task_version"]}
    for task, (then, now) in versions.items():
        yield f"{task}: task version {told(then)} in A, {told(now)} in B: the task itself is another"
    other = [row for row in made["arms"] if row["code"]]
    if other:
        which = "" if len(other) == len(made["arms"]) else f": {'; '.join(name(row) for row in other)}"
        yield f"other code in {len(other)} of {len(made['arms'])} arms{which}"
    for side, only in zip("AB", made["only"], strict=True):
        for one in only:
            yield f"only in {side}: {name(one)}, seeds {', '.join(f'{low}:{high}' for low, high in ranges(one['seeds']))}"
    for side, over in zip("AB", made["passed_over"], strict=True):
        if over:
            yield f"{side} has {over} more result{'s' * (over > 1)} of the same arms and seeds: today's count, else the latest"
    count = len(made["arms"])
    yield f"{count} arm{'s' * (count != 1)} on both sides, {made['changed']} changed"


def told(found):
    """Values in a row."""
    return " and ".join(map(str, found))

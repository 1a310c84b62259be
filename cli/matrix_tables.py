"""A matrix as a heat table: k of n in every cell, coloured where there are colours, names or numbers above it as the width allows."""

import re

from rich import box
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from attnprobe.cli.footer import common_seed_line
from attnprobe.cli.lr_grid import line as grid_line

HEAT = ((0.0, "white on #7f1d1d"), (0.5, "black on #ea580c"), (0.999, "black on #facc15"), (1.0, "black on #22c55e"))  # up to a rate
MARKS = {"can": "+", "cannot": "-", None: " "}
FOLD = 8  # characters of a heading's line


def heat_table(made, console):
    """(the table for a console's width, whether its headings are numbers)."""
    for numbered in (False, True):
        table = table_of(made, numbered)
        if Measurement.get(console, console.options.update(max_width=1000), table).maximum <= console.width:
            return table, numbered
    return table, True


def table_of(made, numbered):
    """The table, with names above and k/n in the cells, or with numbers above and k alone."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", show_edge=False)
    table.add_column("task", no_wrap=True)
    for at, mixer in enumerate(made["mixers"], 1):
        table.add_column(str(at) if numbered else folded(mixer["name"]), justify="right", no_wrap=True, vertical="bottom")
    by_place = {(cell["task"], cell["mixer"]): cell for cell in made["cells"]}
    for task in made["tasks"]:
        table.add_row(task, *(shown(by_place[task, mixer["name"]], numbered) for mixer in made["mixers"]))
    return table


def folded(name):
    """A name over several lines of at most FOLD characters where it can be cut: after +, - and _, before (."""
    lines = [""]
    for piece in re.findall(r"[^+_(/>-]*[+_/>-]|[(]?[^+_(/>-]+", name):
        if lines[-1] and len(lines[-1]) + len(piece) > FOLD:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def shown(cell, short):
    """A cell: `3/5+`, or `3+` where short; a dot where the task refuses the mechanism."""
    if cell["refused"]:
        return Text("· ", style="dim")
    text = f"{cell['solved']}" if short else f"{cell['solved']}/{cell['n']}"
    rate = cell["solved"] / cell["n"]
    style = next(style for most, style in HEAT if rate <= most)
    return Text(text + "!" * bool(cell["failed"]) + MARKS[cell["theory"]], style=style)


def legend(made, numbered):
    """The lines under the table."""
    if numbered:
        yield "mechanisms: " + ", ".join(f"{at} {mixer['name']}" for at, mixer in enumerate(made["mixers"], 1))
    yield f"{'k' if numbered else 'k/n'}: seeds solved, of {len(made['seeds'])}; a task's own default options, recipe and head dimension"
    marks = {cell["theory"] for cell in made["cells"]}
    if "can" in marks:
        yield "+ theory: some head of this size can do all of it; training may still miss it"
    if "cannot" in marks:
        yield "- theory: no head of this size does all of it, or fits it exactly"
        yield "solved is about a mean over examples: a solved cell with that mark is no contradiction"
    if any(cell["failed"] for cell in made["cells"]):
        yield "! seeds failed: " + "; ".join(
            f"{c['task']}, {c['mixer']}: {', '.join(map(str, c['failed']))}" for c in made["cells"] if c["failed"]
        )
    yield from forms(made)
    yield from refusals(made)
    yield common_seed_line(made["seeds"], [cell["task"] for cell in made["cells"]])
    if made["lr_grid"]:
        yield grid_line(made["lr_grid"])


def forms(made):
    """Where a mechanism stands in another form than its usual one."""
    rotary = {}
    for mixer in made["mixers"]:
        other = {}
        for cell in made["cells"]:
            if cell["mixer"] == mixer["name"] and cell["form"] == "other":
                other.setdefault(cell["spec"], []).append(cell["task"])
            if cell["mixer"] == mixer["name"] and cell["form"] == "rotary":
                rotary.setdefault(cell["task"], []).append(mixer["name"])
        yield from (f"{mixer['name']}: as {spec} on {', '.join(tasks)}" for spec, tasks in other.items())
    if rotary:
        names = dict.fromkeys(name for found in rotary.values() for name in found)
        yield f"with rotary positions, since the task has layers and no positions: {', '.join(names)} on {', '.join(rotary)}"


def refusals(made):
    """Why there are dots: a line a mechanism and reason."""
    found = {}
    for cell in made["cells"]:
        if cell["refused"]:
            reason = re.sub(rf"\b{re.escape(cell['task'])}\b", "the task", cell["refused"])
            found.setdefault((cell["mixer"], reason), []).append(cell["task"])
    yield from (f"· {mixer} on {', '.join(tasks)}: {reason}" for (mixer, reason), tasks in found.items())

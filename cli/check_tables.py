"""What `probe check` prints: a line a check, then what was measured and what theory makes of it."""

from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

STYLES = {"FAIL": "bold red", "ok": "green", "note": "yellow"}
VALUES = {True: "yes", False: "no", None: "-"}


@dataclass(frozen=True)
class Said:
    """What theory says of a mechanism on a task with its options; assumption: the trait that is measured and taken for granted, if any."""

    task: str
    options: dict
    head_dim: int
    text: str
    claim: str | None
    assumption: str | None


def lines(subject):
    """The renderables of one subject, as `examine` makes it."""
    checks = subject["checks"]
    failed = sum(one["status"] == "FAIL" for one in checks)
    verdict = f"{failed} of {len(checks)} checks fail" if failed else f"all {len(checks)} checks hold"
    yield Text(f"{subject['subject']}: {verdict}", style="bold")
    yield rows((one["status"], STYLES[one["status"]], one["check"], one["text"]) for one in checks)
    if failed and subject["kind"] == "mechanism" and not subject["traits"]:
        yield Text("what it is: not asked, since a check fails", style="bold")
    if subject["traits"]:
        yield Text("measured, at random parameters and inputs; no proof", style="bold")
        yield rows((VALUES[one["value"]], "", one["name"], one["text"]) for one in subject["traits"])
        if subject["alike"]:
            yield Text(f"the suite's biases that measure the same: {', '.join(subject['alike'])}")
    if subject["theory"]:
        assumed = ", if what was measured holds" if any(one["assumption"] for one in subject["theory"]) else ""
        yield Text(f"theory{assumed}", style="bold")
        yield rows(("", "", place(one), one["text"]) for one in subject["theory"])


def place(said):
    """`ladder --r 10, d 4`: a task with the first of its options, which is its size, and a head dimension."""
    from attnprobe.cli.tables import options_line

    first = dict(list(said["options"].items())[:1])
    return f"{said['task']} {options_line(first)}, d {said['head_dim']}"


def rows(cells):
    """(mark, style, name, text) as lines whose text is folded under itself."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(min_width=4)
    table.add_column(min_width=14, no_wrap=True)
    table.add_column(overflow="fold")
    for mark, style, name, text in cells:
        table.add_row(Text(mark, style=style), name, Text(text))
    return table

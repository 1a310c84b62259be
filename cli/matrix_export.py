"""A matrix as CSV and as markdown."""

import csv
import io

FLAT = (
    "task", "mixer", "spec", "form", "head_dim", "lr", "solved", "n", "failed", "low", "high", "metric", "median", "theory", "text",
    "seconds", "refused",
)  # fmt: skip


def csv_text(made):
    """A header line, a line a cell, and a line a point of the grid of learning rates, which names its stage."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("stage", *FLAT))
    for cell in made["cells"]:
        low, high = cell["interval"] or (None, None)
        line(writer, cell | {"stage": "reported", "low": low, "high": high, "failed": len(cell["failed"])})
    for point in made["lr_grid"]["points"] if made["lr_grid"] else ():
        stage = "selection, chosen" if point["chosen"] else "selection"
        line(writer, point | {"stage": stage, "spec": point["mixer"], "mixer": None, "failed": len(point["failed"])})
    return out.getvalue()


def line(writer, row):
    """One line; an empty cell where a row has nothing."""
    writer.writerow(["" if row.get(name) is None else row[name] for name in ("stage", *FLAT)])


def markdown_text(made):
    """The table as GitHub markdown."""
    names = [mixer["name"] for mixer in made["mixers"]]
    by_place = {(cell["task"], cell["mixer"]): cell for cell in made["cells"]}
    lines = ["| task | " + " | ".join(names) + " |", "|---" + "|---:" * len(names) + "|"]
    lines += [f"| {task} | " + " | ".join(plain(by_place[task, name]) for name in names) + " |" for task in made["tasks"]]
    return "\n".join(lines) + "\n"


def plain(cell):
    """A cell's text."""
    from attnprobe.cli.matrix_tables import shown

    return shown(cell, False).plain.strip()

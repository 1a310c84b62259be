"""A reproduction as CSV and as markdown: every column of every row."""

import csv
import io
import json

from attnprobe.cli.computed import slips
from attnprobe.cli.reproduction_tables import COLUMNS

FLAT = (
    "source", "table", "task", "options", "case", "arm", "head_dim", "metric", "winner", "theirs", "theirs_n", "ours", "n", "low", "high",
    "p", "p_holm", "verdict", "seconds", "failed", "where", "note",
)  # fmt: skip


def csv_text(report):
    """A header line and a line a figure; an empty cell where there is nothing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FLAT)
    for row in report["rows"]:
        low, high = row["interval"] or (None, None)
        flat = row | {"low": low, "high": high, "options": json.dumps(row["options"]), "failed": len(row["failed"])}
        writer.writerow(["" if flat[name] is None else flat[name] for name in FLAT])
    return out.getvalue()


def markdown_text(report):
    """A GitHub markdown table a table of a paper, the note in full."""
    columns = COLUMNS | {"note": ("note", lambda row: row["note"] or "", "left", True)}
    lines = []
    for source, name in dict.fromkeys((row["source"], row["table"]) for row in report["rows"]):
        lines += [f"### {source}: {name}", "", "| " + " | ".join(heading for heading, *_ in columns.values()) + " |"]
        lines.append("|" + "|".join("---:" if justify == "right" else "---" for _, _, justify, _ in columns.values()) + "|")
        for row in report["rows"]:
            if (row["source"], row["table"]) == (source, name):
                lines.append("| " + " | ".join(cell(row) for _, cell, *_ in columns.values()) + " |")
        lines.append("")
    lines += ["### The sources' own slips", "", *(f"- {text}" for _, text, _ in slips(report["sources"])), ""]
    return "\n".join(lines)

"""A run as CSV and as markdown."""

from attnprobe.cli.tables import all_columns, full_columns, source
from attnprobe.probes.stats import median

FLAT = {
    "arm": lambda row: row["arm"],
    "mixer": lambda row: row["mixer"],
    "head_dim": lambda row: row["head_dim"],
    "control": lambda row: row["control"],
    "n": lambda row: row["n"],
    "solved": lambda row: row["solved"],
    "failed": lambda row: len(row["failed"]),
    "low": lambda row: row["interval"][0],
    "high": lambda row: row["interval"][1],
    "metric": lambda row: row["metric"]["name"],
    "median": lambda row: row["metric"]["median"],
    "worst": lambda row: row["metric"]["worst"],
    "realised": lambda row: row["realised"],
    "realisable": lambda row: row["realisable"],
    "ceiling": lambda row: row["ceiling"],
    "p": lambda row: row["p"],
    "p_holm": lambda row: row["p_holm"],
    "theory": lambda row: row["theory"]["text"],
    "source": lambda row: source(row) if row["source"] else None,
    "seconds": lambda row: row["seconds"],
}


def csv_text(report):
    """Every column of every arm, and the median over seeds of every score, with a header line; an empty cell where there is nothing."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    scores = dict.fromkeys(name for row in report["arms"] for seed in row["seeds"] for name in seed["score"])
    flat = FLAT | {name: lambda row, name=name: score_median(row, name) for name in scores if name not in FLAT}
    if "lr_grid" in report:
        flat = {"stage": lambda row: "reported", "lr": lambda row: row["lr"], **flat}
    writer.writerow(flat)
    for row in report["arms"]:
        writer.writerow(["" if (value := cell(row)) is None else value for cell in flat.values()])
    for point in report["lr_grid"]["points"] if "lr_grid" in report else ():
        row = point | {"stage": "selection, chosen" if point["chosen"] else "selection", "failed": len(point["failed"])}
        writer.writerow([row.get(name, "") if row.get(name) is not None else "" for name in flat])
    return out.getvalue()


def score_median(row, name):
    """The median over an arm's seeds of one score, None if no seed has it."""
    values = [seed["score"][name] for seed in row["seeds"] if name in seed["score"]]
    return median(values) if values else None


def markdown_text(report):
    """The table as GitHub markdown, every column."""
    names, columns = full_columns(report), all_columns(report)
    lines = ["| " + " | ".join(columns[name][0] for name in names) + " |"]
    lines.append("|" + "|".join("---:" if columns[name][2] == "right" else "---" for name in names) + "|")
    lines += ["| " + " | ".join(columns[name][1](row) for name in names) + " |" for row in report["arms"]]
    return "\n".join(lines) + "\n"

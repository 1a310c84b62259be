"""Tables of what was followed in training."""

from rich import box
from rich.table import Table

from attnprobe.probes.stats import median

STEPS = (0, 50, 100, 400)
TOLD = (
    "own key: from a value to the key just before it, in layer 1, the mean over its pairs and the fixed evaluation sequences; "
    "medians over the seeds still in training at a step (how many, if not all); last: of each seed's last evaluation"
)


def trace_tables(report):
    """A table a trace: each arm's median over the seeds still in training at some steps, and over each seed's last value."""
    names = dict.fromkeys(name for row in report["arms"] for seed in row["seeds"] for name in seed["traces"])
    for name in names:
        table = Table(title=f"{name}, at step", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("arm")
        seen = {step for row in report["arms"] for seed in row["seeds"] for step, _ in seed["traces"].get(name, ())}
        steps = [step for step in STEPS if step in seen]
        for heading in (*map(str, steps), "last"):
            table.add_column(heading, justify="right")
        for row in report["arms"]:
            points = [dict(seed["traces"][name]) for seed in row["seeds"] if name in seed["traces"]]
            if points:
                last = [list(seed.values())[-1] for seed in points]
                cells = [cell([seed[step] for seed in points if step in seed], row["n"]) for step in steps]
                table.add_row(row["arm"].rpartition("@")[0], *cells, cell(last, row["n"]))
        yield table
    if names:
        yield TOLD


def cell(values, n):
    """The median of the values that are finite, and of how many seeds if not of all n."""
    kept = [value for value in values if value is not None]
    return f"{median(kept):.2g}" + (f" ({len(kept)})" if len(kept) < n else "") if kept else "-"

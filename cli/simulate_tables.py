"""The tables of `theory simulate`: what was drawn, beside what the theory computes."""

from rich.console import Group
from rich.table import Table
from rich.text import Text


def field_table(result):
    """Return a receptive-field simulation as a Table, with its setting above it and the number of layers to full coverage below."""
    table = _table("layer", "pairs seen", "share", "recursion", "missing pairs")
    for row in result["rows"]:
        expected = "" if row["recursion"] is None else f"{row['recursion']:.6f}"
        table.add_row(str(row["layer"]), str(row["pairs"]), f"{row['share']:.6f}", expected, str(row["missing"]))
    kind = f"{'causal ' if result['causal'] else ''}{result['routing']}"
    setting = f"{kind}, n = {result['n']}, window {result['window']}, {result['sources']} sources, seed {result['seed']}"
    full = next((row["layer"] for row in result["rows"] if not row["missing"]), None)
    reached = f"full at layer {full}" if full else f"not full after {result['layers']} layers"
    return Group(Text(setting), table, Text(reached))


def world_table(result):
    """Return the small-world metrics as a Table, with the random graphs that sigma is held against and the fly connectome below."""
    table = _table("graph", "degree", "clustering", "mean path", "sigma")
    table.columns[0].justify = "left"
    for row in result["rows"]:
        figures = f"{row['degree']:.2f}", f"{row['clustering']:.4f}", f"{row['mean path']:.3f}", f"{row['sigma']:.2f}"
        table.add_row(row["graph"], *figures)
    fly = result["connectome"]
    table.add_row("fly connectome", "", "", f"{fly['mean path']:.1f}", "")
    sigmas = ", ".join(f"{value:.1f} against {name}" for name, value in result["sigma of sa+swa"].items())
    notes = [
        f"sigma in the table: against a random regular graph. Of sa+swa: {sigmas}.",
        "swa and sa: a ring lattice and the same one relabelled, by closed forms (T19-lattice).",
        f"The connectome of {fly['n']} neurons (Lin et al. 2024) is comparable at its own n and degree (T19-fly) only.",
    ]
    return Group(Text(f"n = {result['n']}, degree {result['degree']}, seed {result['seed']}"), table, *map(Text, notes))


def _table(*names):
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        table.add_column(name, no_wrap=True, justify="right")
    return table

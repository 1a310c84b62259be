"""The tables of `theory`: claims, certificates, and what a head can realise. Functions return renderables; the command prints them."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

WIDE = 120  # columns from which the assumptions fit beside the verdicts
STYLES = {"verified": "green", "supported": "cyan", "refuted": "bold red", "vacuous": "yellow"}
EXACT_DIGITS = 12  # longer integers are rounded in the table, and exact in --json


def claim_table(entries):
    """Return the Table of catalogue entries: name, kind, statement, source."""
    table = _table("claim", "kind", ("statement", 3), ("source", 1))
    for entry in entries:
        table.add_row(entry.name, entry.kind, Text(entry.statement), entry.source)
    return table


def certificate_table(certificates, width):
    """Return the certificates as a Table, and below it what does not fit `width` or a row: assumptions, witnesses of refuted claims."""
    wide = width >= WIDE
    table = _table("claim", "verdict", "kind", ("scope", 2), "cases", "seconds", *([("assumption", 3)] if wide else []))
    table.columns[4].justify = table.columns[5].justify = "right"
    for found in certificates:
        verdict = Text(found.verdict, STYLES[found.verdict])
        row = [found.name, verdict, found.kind, Text(scope_text(found.scope)), str(found.cases), f"{found.seconds:.2f}"]
        table.add_row(*row, *([Text(found.assumption or "none")] if wide else []))
    notes = [] if wide else [Text(f"{', '.join(names)}: assuming {text}") for text, names in _assumptions(certificates).items()]
    for found in certificates:
        if found.verdict == "refuted":
            notes.append(Text(f"{found.name} is refuted by {found.witness}", STYLES["refuted"]))
        if found.verdict == "vacuous":
            notes.append(Text(f"{found.name} had no case to check", STYLES["vacuous"]))
    return Group(table, *notes)


def realisation_table(realisation, head_dim, ceiling, offsets):
    """Return what a head of r keys realises: count, ceiling, and its first impossible set with the dependency that proves it."""
    sets = len(realisation.table)
    kind = "with offsets" if offsets else "without offsets"
    lines = [
        f"r = {realisation.r}, head_dim = {head_dim}, {kind}",
        f"realisable {realisation.count} of {sets} alive sets",
        f"ceiling    {ceiling} of {sets} (T6)",
    ]
    found = realisation.first_impossible
    if found is None:
        return Group(*map(Text, [*lines, "no set is impossible"]))
    exact = all(abs(w) < 10**EXACT_DIGITS for w in found.weights)
    table = _table("key", "in the set", "lambda" if exact else "lambda / max (exact in --json)")
    table.columns[0].justify = table.columns[2].justify = "right"
    largest = max(map(abs, found.weights))
    for s, weight in enumerate(found.weights, 1):
        table.add_row(str(s), "alive" if s in found.alive else "dead", str(weight) if exact else f"{weight / largest:.6g}")
    sums = "sum lambda = 0, sum lambda_s k_s = 0" + (", sum lambda_s o_s <= 0" if offsets else "")
    why = f"No query does it (T5): lambda >= 0 on alive keys, <= 0 on dead ones; {sums}."
    return Group(*map(Text, [*lines, "", "first impossible set (lowest word):"]), table, Text(why))


def scope_text(scope):
    """Return a scope as `name=value` words."""
    return ", ".join(f"{name}={value}" for name, value in scope.items())


def _table(*columns):
    """Return a Table; a column is a name that is never cut or wrapped, or (name, share of the width left over)."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        if isinstance(column, str):
            table.add_column(column, no_wrap=True)
        else:
            table.add_column(column[0], ratio=column[1], overflow="fold")
    return table


def _assumptions(certificates):
    names = {}
    for found in certificates:
        if found.assumption:
            names.setdefault(found.assumption, []).append(found.name)
    return names

"""The tables of `theory`: claims, certificates, and what a head can realise. Functions return renderables; the command prints them."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

from attnprobe.theory.explanations import scope_text

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
    """Return the certificates as a Table, and below it what does not fit `width` or a row: assumptions, witnesses, and the counts."""
    wide = width >= WIDE
    table = _table("claim", "verdict", "kind", ("scope", 2), "cases", "seconds", *([("source", 1), ("assumption", 3)] if wide else []))
    table.columns[4].justify = table.columns[5].justify = "right"
    for found in certificates:
        verdict = Text(found.verdict, STYLES[found.verdict])
        row = [found.name, verdict, found.kind, Text(scope_text(found.scope)), str(found.cases), f"{found.seconds:.2f}"]
        table.add_row(*row, *([Text(found.source), Text(found.assumption or "none")] if wide else []))
    notes = [] if wide else [Text(f"{', '.join(names)}: assuming {text}") for text, names in _assumptions(certificates).items()]
    for found in certificates:
        if found.verdict == "refuted":
            notes.append(Text(f"{found.name} is refuted by {found.witness}", STYLES["refuted"]))
        if found.verdict == "vacuous":
            notes.append(Text(f"{found.name} had no case to check", STYLES["vacuous"]))
    return Group(table, *notes, Text(), Text(footer(certificates)))


def certificate_markdown(certificates):
    """Return the certificates as a Markdown table, and the counts below it."""
    rows = ["| claim | verdict | kind | source | scope | cases | seconds | holds only if |", "|---|---|---|---|---|--:|--:|---|"]
    for found in certificates:
        texts = [text.replace("|", "\\|") for text in (found.source, scope_text(found.scope), found.assumption or "")]
        cells = [found.name, found.verdict, found.kind, *texts[:2], str(found.cases), f"{found.seconds:.2f}", texts[2]]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([*rows, "", footer(certificates)])


def footer(certificates):
    """Return how many claims are verified, supported and so on, and how many of those that hold do so only if their assumption does."""
    counts = {verdict: sum(found.verdict == verdict for found in certificates) for verdict in STYLES}
    only = sum(found.assumption is not None for found in certificates if found.verdict in ("verified", "supported"))
    told = [f"{counts['verified']} verified", f"{counts['supported']} supported", f"{counts['refuted']} refuted"]
    if counts["vacuous"]:
        told.append(f"{counts['vacuous']} vacuous")
    return f"{len(certificates)} claims: {', '.join(told)}; {only} of those that hold do so only if their assumption does"


def check_table(rows, missing, unredone):
    """Return a Table of (file, why it does not hold, or None), and below it the counts and the claims without a certificate.

    unredone: the files whose certificates hold and have no evidence: their texts and counts were checked, nothing was computed again.
    """
    table = _table("certificate", ("result", 1))
    for file, why in rows:
        said = why or ("holds; too large to redo, nothing was computed again" if file in unredone else "holds")
        table.add_row(file, Text(said, STYLES["refuted" if why else "supported" if file in unredone else "verified"]))
    bad = sum(bool(why) for _, why in rows)
    notes = [Text(f"{len(rows)} certificates: {len(rows) - bad} hold, {bad} do not")]
    if missing:
        notes.append(Text(f"without a certificate: {', '.join(missing)}"))
    return Group(table, Text(), *notes)


def explanation(told):
    """Return an Explanation as its title and a table of its parts."""
    table = _table("", ("", 1))
    table.show_header = False
    for name, texts in told.parts:
        for n, text in enumerate(texts):
            table.add_row(Text("" if n else name, "bold"), Text(text))
    return Group(Text(told.title, "bold"), table, Text())


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

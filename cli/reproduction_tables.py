"""A reproduction as rich tables: a section a source, a table a table of its paper, notes by number, then the sources' own slips."""

from rich import box
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from attnprobe.cli.agreement import DIFFERS, FAILED, MATCHES, SAME_DIRECTION
from attnprobe.cli.computed import slips
from attnprobe.cli.footer import common_seed_line
from attnprobe.cli.tables import number, p_value
from attnprobe.probes.papers import SEEN

PAPERS = {
    "fpa": "FPA: a path's minimum erases keys",
    "pn-fir-tau": "pn_fir_tau: filtered keys and a threshold that is silent",
    "stochastic": "Stochastic attention: windows over shuffled tokens",
}
STYLES = {MATCHES: "green", SAME_DIRECTION: "yellow", DIFFERS: "red", FAILED: "bold red"}


def ours(row):
    """Our k/n, our mean, or what is computed, with the number of failed seeds."""
    if row["n"] is None:
        return number(row["ours"], 4)
    failed = f" ({len(row['failed'])} failed)" if row["failed"] else ""
    return (f"{row['ours']}/{row['n']}" if counts(row) else number(row["ours"])) + failed


def counts(row):
    """Whether a row counts seeds."""
    return row["metric"] is None and row["n"] is not None


def interval(row):
    """The 95 % interval, in percent where it is of a rate of seeds."""
    if row["interval"] is None:
        return "-"
    low, high = row["interval"]
    return f"{100 * low:.0f}-{100 * high:.0f}%" if counts(row) else f"{low:.2g}-{high:.2g}"


# (heading, cell, justification, may wrap), in order of display
COLUMNS = {
    "case": ("", lambda row: row["case"], "left", True),
    "arm": ("arm", lambda row: row["arm"], "left", True),
    "head_dim": ("d", lambda row: str(row["head_dim"] or "-"), "right", False),
    "theirs": ("theirs", lambda row: row["text"], "right", False),
    "ours": ("ours", ours, "right", False),
    "interval": ("95 %", interval, "right", False),
    "p": ("Holm p", lambda row: p_value(row["p_holm"]), "right", False),
    "verdict": ("verdict", lambda row: row["verdict"], "left", False),
    "seconds": ("s", lambda row: "-" if row["n"] is None else f"{row['seconds']:.1f}", "right", False),
    "note": ("", lambda row: row["mark"], "right", False),
}
GIVES_WAY = ("seconds", "head_dim", "interval")  # where the terminal is narrow, in this order


def pages(report, console):
    """Everything that is printed, in order."""
    marks = {}
    rows = [row | {"mark": mark(row, marks)} for row in report["rows"]]
    gone = {}
    for source in report["sources"]:
        own = [row for row in rows if row["source"] == source]
        if own:
            yield Text(PAPERS[source], style="bold underline")
        for name in dict.fromkeys(row["table"] for row in own):
            table = [row for row in own if row["table"] == name]
            names = columns_for(table, console, gone)
            yield Text(name, style="bold")
            yield table_of(table, names)
    if marks:
        yield Text("Why ours is another, or what a match leaves open, as measured", style="bold")
        yield from (Text(f" {at} {note}") for note, at in marks.items())
        yield Text("")
    yield Text("The sources' own slips", style="bold")
    yield from (Text(f" - {text} (theory explain {claim})") for _, text, claim in slips(report["sources"]))
    yield Text("")
    yield from (Text(line, style="bold" if line.startswith("warning") else "dim") for line in footer(report, gone))


def mark(row, marks):
    """The number of a row's note, where ours does not match or the note is told always; marks: note -> number, filled."""
    if row["note"] is None or (row["verdict"] == MATCHES and not row["always"]):
        return ""
    return str(marks.setdefault(row["note"], len(marks) + 1))


def columns_for(rows, console, gone):
    """The columns of a table in which a row says something, and that fit the console's width; gone collects the headings of the rest."""
    names = [name for name in COLUMNS if any(COLUMNS[name][1](row) not in ("", "-") for row in rows)]
    for name in GIVES_WAY:
        if Measurement.get(console, console.options.update(max_width=1000), table_of(rows, names)).maximum <= console.width:
            break
        if name in names:
            names.remove(name)
            gone[COLUMNS[name][0]] = None
    return names


def table_of(rows, names):
    """One table of the paper."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in names:
        heading, _, justify, wraps = COLUMNS[name]
        table.add_column(heading, justify=justify, no_wrap=not wraps, overflow="fold", min_width=8 if wraps and name == "arm" else None)
    for row in rows:
        cells = {name: COLUMNS[name][1](row) for name in names}
        table.add_row(*(Text(cell, style=STYLES[cell] if name == "verdict" else "") for name, cell in cells.items()))
    return table


def footer(report, gone):
    """The lines under the tables: the rule, the seeds, what gave way, warnings."""
    found = [row["verdict"] for row in report["rows"]]
    yield ", ".join(f"{found.count(verdict)} {verdict}" for verdict in STYLES if verdict in found) + f", of {len(found)} figures"
    yield "matches: the source's rate lies in our 95 % interval (a score: within 20 %, or .01 of a share), and its winner is ahead in ours"
    yield "same direction: its winner is ahead at p < .05; where nothing is compared, most seeds solve it in both or in neither"
    yield "differs: everything else"
    yield "k/n: solved seeds, interval by Clopper-Pearson; scores: mean over seeds, interval by Student's t"
    yield "Holm p: one-sided exact sign test, the source's winner against the arm, paired by seed; adjusted within its table"
    yield common_seed_line(report["seeds"], [row["task"] for row in report["rows"]])
    for task, seeds, why in SEEN:
        if set(seeds) & set(report["seeds"]) and any(row["task"] == task for row in report["rows"]):
            yield f"warning: {task} on seeds {seeds.start}:{seeds.stop}: {why}"
    if report["steps"]:
        yield f"warning: {report['steps']} steps for every arm: a smoke test, no reproduction"
    if gone:
        yield f"not shown in every table at this width: {', '.join(gone)} (--csv has every column)"
    for row in report["rows"]:
        if row["failed"]:
            yield f"warning: {row['table']}, {row['arm']}: the run failed on seeds {', '.join(map(str, row['failed']))}: no verdict"

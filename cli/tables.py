"""Rich tables and text of a run. Functions return renderables; the caller prints."""

from rich import box
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from attnprobe.cli.report import FRESH, TUNED
from attnprobe.cli.verdict import NO_THEOREM
from attnprobe.probes.stats import median


def number(x, digits=3):
    """A metric with three significant digits, or a dash."""
    return "-" if x is None else f"{x:.{digits}g}"


def p_value(p):
    """A p value as 0.00012, 0.031, 1, or a dash."""
    return "-" if p is None else f"{p:.2g}"


def solved(row):
    """k/n with the number of failed seeds."""
    return f"{row['solved']}/{row['n']}" + (f" ({len(row['failed'])} failed)" if row["failed"] else "")


def interval(row):
    """The 95 % interval of the solved rate, in percent."""
    low, high = row["interval"]
    return f"{100 * low:.0f}-{100 * high:.0f}%"


def realised(row):
    """realised / realisable / ceiling, a dash where there is none."""
    return " / ".join("-" if row[name] is None else str(row[name]) for name in ("realised", "realisable", "ceiling"))


def source(row):
    """The source's k/n, or its value where it gives no n."""
    if not row["source"]:
        return "-"
    value, n = row["source"]["value"], row["source"]["n"]
    return f"{value}/{n}" if n else value if isinstance(value, str) else number(value)


# (heading, cell, justification), in order of display
COLUMNS = {
    "arm": ("arm", lambda row: row["arm"].rpartition("@")[0], "left"),
    "head_dim": ("d", lambda row: str(row["head_dim"]), "right"),
    "solved": ("solved", solved, "right"),
    "interval": ("95 %", interval, "right"),
    "median": ("median", lambda row: number(row["metric"]["median"]), "right"),
    "worst": ("worst", lambda row: number(row["metric"]["worst"]), "right"),
    "realised": ("sets", realised, "right"),
    "p": ("p", lambda row: p_value(row["p"]), "right"),
    "p_holm": ("Holm p", lambda row: p_value(row["p_holm"]), "right"),
    "theory": ("theory", lambda row: row["theory"]["text"] if row["theory"] else "-", "left"),
    "needs": ("theory", lambda row: row["theory"]["text"].replace("all sets need ", "needs ").replace("both heads need ", "need "), "left"),
    "source": ("source", source, "right"),
    "seconds": ("s", lambda row: f"{row['seconds']:.1f}", "right"),
}
# in this order, where the terminal is narrow: a column, and what stands in its place
GIVES_WAY = {
    "seconds": None,
    "p": None,
    "theory": "needs",
    "interval": None,
    "worst": None,
    "source": None,
    "realised": None,
    "median": None,
    "needs": None,
    "p_holm": None,
    "head_dim": None,
}


def columns_for(report, console):
    """The columns that fit the console's width, and those that gave way."""
    names, gone = full_columns(report), []
    for name, instead in gives_way(report).items():
        if Measurement.get(console, console.options.update(max_width=1000), table_of(report, names)).maximum <= console.width:
            break
        if name in names:
            at = names.index(name)
            names[at : at + 1] = [instead] if instead else []
            gone += [] if instead else [all_columns(report)[name][0]]
    return names, gone


def gives_way(report):
    """GIVES_WAY, with the scores of slices (present@0.2) after the first two; before the metric, where it stands beside other scores,
    a dimension common to all arms, then Holm's p."""
    items, scores = list(GIVES_WAY.items()), report["arms"][0]["scores"]
    slices = [(f"score {name}", None) for name in scores if "@" in name]
    common = [("head_dim", None)] if scores and len({row["head_dim"] for row in report["arms"]}) == 1 else []
    last = list(GIVES_WAY).index("median")
    return dict([*items[:2], *slices, *items[2:last], *common, *([("p_holm", None)] if scores else []), *items[last:]])


def full_columns(report):
    """The columns where there is room."""
    return [name for name in all_columns(report) if name != "needs" and present(report, name)]


def all_columns(report):
    """COLUMNS with the metric's name, and with the scores that the task shows, each as the median over seeds, after its metric."""
    before = list(COLUMNS).index("worst") + 1
    first = report["arms"][0]
    scores = {f"score {name}": (name, lambda row, name=name: number(row["scores"][name]), "right") for name in first["scores"]}
    metric = first["metric"]["name"]  # beside other scores, all medians, the footer says so
    named = COLUMNS | {"median": (metric if scores else f"{metric} median", *COLUMNS["median"][1:])}
    items = list(named.items())
    return dict([*items[:before], *scores.items(), *items[before:]])


def present(report, name):
    """Whether any arm has something to say in a column."""
    if name == "theory":
        return any(row["theory"]["text"] != NO_THEOREM for row in report["arms"])
    return name not in ("realised", "source") or any(row[name] is not None for row in report["arms"])


def table_of(report, names):
    """The table with the named columns."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    columns = all_columns(report)
    for name in names:
        heading, _, justify = columns[name]
        # the arm and the theorem may wrap; numbers never
        least = 4 if name == "arm" else None
        table.add_column(heading, justify=justify, no_wrap=name not in ("theory", "arm", "realised"), overflow="fold", min_width=least)
    control = False
    for row in report["arms"]:
        if row["control"] and not control:
            table.add_section()
            control = True
        style = "dim" if row["control"] else ("bold" if row["arm"] == report["reference"] else "")
        table.add_row(*(columns[name][1](row) for name in names), style=style)
    return table


def result_table(report, console):
    """The table of a run for a console's width."""
    return table_of(report, columns_for(report, console)[0])


def title(report):
    """One line that says what was run."""
    options = " ".join(f"--{name} {value}" for name, value in report["config"]["options"].items())
    return Text(f"{report['task']} {options}", style="bold")


def footer(report, console):
    """The lines under the table: what is counted, how it is compared, on which seeds; warnings last."""
    config = report["config"]
    step, evaluated = config["recipe"]["steps"], config["evaluated"]
    yield f"solved: {config['rule']} at step {step}, {evaluated} evaluation; 95 %: Clopper-Pearson"
    if any(row["realised"] is not None for row in report["arms"]):
        yield "sets: realised by the best seed / realisable with its keys and offsets, by theory / ceiling of any such head"
        yield "solved is about the mean over sets: a solved arm may stay below 'all sets'"
    if report["arms"][0]["scores"]:
        names = [report["arms"][0]["metric"]["name"], *report["arms"][0]["scores"]]
        yield f"{', '.join(names)}: the median over seeds; worst: the worst seed's {names[0]}"
    if report["family"]:
        pairs = f"{report['reference']} solves more, paired by seed"
        count = len(report["family"])
        controls = "; controls carry none" if any(row["control"] for row in report["arms"]) else ""
        yield f"p: one-sided exact sign test, {pairs}; Holm over {count} arm{'s' * (count > 1)}{controls}"
    else:
        yield f"p: none, the reference {report['reference']} is not among the arms with another one beside it"
    if any(row["control"] for row in report["arms"]):
        yield "below the line: the control, the same arms at a head dimension that suffices"
    if any(row["source"] for row in report["arms"]):
        yield "source: " + "; ".join(dict.fromkeys(row["source"]["where"] for row in report["arms"] if row["source"]))
    yield seed_line(config["seeds"])
    gone = columns_for(report, console)[1]
    if gone:
        yield f"not shown at this width: {', '.join(gone)} (--csv has every column)"
    for arm, seeds in config["near_threshold"].items():
        yield f"warning: {arm}: seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))} within 5 % of the threshold"
    for row in report["arms"]:
        for seed in row["seeds"]:
            if seed["failure"]:
                quantity, step = seed["failure"]["quantity"], seed["failure"]["step"]
                yield f"warning: {row['arm']}: seed {seed['seed']} failed, {quantity} not finite at step {step}"


def seed_line(seeds):
    """Which seeds ran, and whether choices were made on them."""
    name = f"seeds {seeds[0]}:{seeds[-1] + 1}"
    if set(seeds) & set(TUNED):
        return f"{name}: recipes were chosen on {TUNED.start}:{TUNED.stop}; report on fresh ones: --seeds {FRESH}"
    return f"{name}: no recipe was chosen on them"


def discordant_lines(report):
    """For each compared arm, the seeds that decide its p."""
    for row in report["arms"]:
        if row["discordant"]:
            ours, theirs = (", ".join(map(str, row["discordant"][side])) or "none" for side in ("reference", "arm"))
            yield f"{row['arm']}: only {report['reference']} solves {ours}; only {row['arm']} solves {theirs}"


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
    writer.writerow(flat)
    for row in report["arms"]:
        writer.writerow(["" if (value := cell(row)) is None else value for cell in flat.values()])
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

"""Rich tables and text of a run. Functions return renderables; the caller prints."""

from dataclasses import fields

from rich import box
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from attnprobe.cli.verdict import NO_THEOREM
from attnprobe.probes.tasks import TASKS


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
    "lr": ("lr", lambda row: f"{row['lr']:g}", "right"),
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
    """GIVES_WAY, with the scores of slices (present@0.2) after the first two; where the metric stands beside other scores, a dimension
    common to all arms goes before p, and Holm's p before the metric."""
    items, scores = list(GIVES_WAY.items()), report["arms"][0]["scores"]
    slices = [(f"score {name}", None) for name in scores if "@" in name]
    common = [("head_dim", None)] if scores and len({row["head_dim"] for row in report["arms"]}) == 1 else []
    last = list(GIVES_WAY).index("median")
    return dict([items[0], *common, items[1], *slices, *items[2:last], *([("p_holm", None)] if scores else []), *items[last:]])


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
    if name == "lr":
        return "lr" in report["arms"][0]
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
    options = in_order(report["task"], report["config"]["options"])
    return Text(f"{report['task']} {options_line(options)}".rstrip(), style="bold")


def in_order(task, options):
    """A task's options, by name, in the order in which the task has them; those that it has not, or of a task that is not here, last."""
    own = list(defaults(task))
    return {name: options[name] for name in sorted(options, key=lambda name: own.index(name) if name in own else len(own))}


def defaults(task):
    """The default of each option of a task, in its order; none of a task that is not here."""
    return {field.name: field.default for field in fields(TASKS[task])} if task in TASKS else {}


def by_size(task, options):
    """A sort key of a task with its options: numbers by their value, so that --r 6 stands before --r 10.

    >>> sorted([{"r": 10}, {"r": 6}], key=lambda options: by_size("ladder", options))
    [{'r': 6}, {'r': 10}]
    """
    values = in_order(task, options).values()
    return task, [(0, value, "") if isinstance(value, int | float) else (1, 0, str(value)) for value in values]


def options_line(options):
    """Options of a task as they are typed: `--r 10 --slot balanced`."""
    given = {name.replace("_", "-"): value for name, value in options.items() if value is not False}
    return " ".join(f"--{name}" if value is True else f"--{name} {value}" for name, value in given.items())

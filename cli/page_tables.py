"""The tables of the HTML report: arms, seeds, commands. Functions return markup."""

from attnprobe.cli.comparisons import command
from attnprobe.cli.markup import tag
from attnprobe.cli.tables import all_columns, full_columns, number

FRACTION = {
    "solved": lambda row: row["solved"] / row["n"],
    "interval": lambda row: row["interval"][0],
    "realised": lambda row: "" if row["realised"] is None else row["realised"],
}  # what a column is sorted by, where its text is no number


def table(caption, heads, rows):
    """A sortable table in a frame that scrolls. heads: (text, is a number); rows: lists of cells, with their attributes or None."""
    head = tag("thead", tag("tr", [tag("th", text, scope="col", class_="n" if numeric else None) for text, numeric in heads]))
    body = tag("tbody", [tag("tr", cells, **(given or {})) for cells, given in rows])
    made = tag("table", tag("caption", caption), head, body, class_="sortable")
    return tag("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


def arms(title, report, claims):
    """A row an arm, as the terminal shows it where it is wide. claims: families of theorems that the page explains."""
    names, columns = full_columns(report), all_columns(report)
    heads = [(columns[name][0], columns[name][2] == "right") for name in names]
    rows = [
        (arm_cells(row, names, columns, claims, report["reference"]), {"class_": "control"} if row["control"] else None)
        for row in report["arms"]
    ]
    return table(f"{title}: the arms", heads, rows)


def mark(row, reference):
    """What an arm is among the others, in words; None for most."""
    what = "control" if row["control"] else "reference" if row["arm"] == reference else None
    return tag("span", f" {what}", class_="aside") if what else None


def arm_cells(row, names, columns, claims, reference):
    """The cells of one arm."""
    cells = []
    for name in names:
        said = columns[name][1](row)
        if name == "arm":
            cells.append(tag("th", said, mark(row, reference), scope="row", data_v=said))
            continue
        if name == "interval":
            said = [whisker(row), said]
        if name == "theory" and row["theory"]["claim"] in claims:
            said = tag("a", said, href=f"#{row['theory']['claim']}")
        cells.append(
            tag("td", said, class_="n" if columns[name][2] == "right" else "said", data_v=FRACTION[name](row) if name in FRACTION else None)
        )
    return cells


def whisker(row):
    """The rate and its interval as a line, for the eye alone: the text beside it says the same."""
    low, high = row["interval"]
    wide = high - low
    at = low / (1 - wide) if wide < 1 else 0  # background-position counts what is left over
    return tag(
        "span", "", class_="whisker", aria_hidden="true", style=f"--k:{row['solved'] / row['n']:.3f};--at:{at:.1%};--wide:{wide:.1%}"
    )


def seeds(title, report):
    """A row a seed of every arm, with every score."""
    metric = report["arms"][0]["metric"]["name"]
    scores = list(dict.fromkeys([metric, *(name for row in report["arms"] for seed in row["seeds"] for name in seed["score"])]))
    texts, numbers = ("arm", "status", "data", "key"), ("d", "seed", *scores, "steps")
    heads = [(name, name in numbers) for name in ("arm", "d", "seed", "status", *scores, "steps", "data", "key")]
    assert {name for name, _ in heads} == {*texts, *numbers}
    rows = []
    for row in report["arms"]:
        arm = tag("th", row["arm"].rpartition("@")[0], scope="row")
        dim = right(row["head_dim"])
        for seed in row["seeds"]:
            values = [right(number(seed["score"].get(name), 4)) for name in scores]
            state = tag("td", status(seed), class_=seed["status"])
            ids = [tag("td", tag("code", seed[name][:length]), title=seed[name]) for name, length in (("data_hash", 8), ("key", 16))]
            rows.append(([arm, dim, right(seed["seed"]), state, values, right(seed["steps"]), ids], None))
    return table(f"{title}: every seed", heads, rows)


def status(seed):
    """A seed's status, with what failed."""
    failure = seed["failure"]
    return f"failed: {failure['quantity']} not finite at step {failure['step']}" if failure else seed["status"]


def right(value):
    """A cell that holds a number."""
    return tag("td", value, class_="n")


def commands(title, comparison):
    """A row an arm with the command that makes it again."""
    rows = []
    for result in comparison.results:
        line = command(comparison, result)
        said = tag("code", line) if line else "no command line: its recipe differs from the task's in more than steps, lr and batch"
        rows.append(([tag("th", str(result.arm), scope="row"), tag("td", said, class_="command")], None))
    return table(f"{title}: how to make each row again", [("arm", False), ("command", False)], rows)

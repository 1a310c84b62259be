"""A reference: a run's rows, frozen in one small file, and what moved since."""

import json
from pathlib import Path

from attnprobe.cli.tables import number

SHIPPED = "reproduced.json"  # of the package attnprobe.probes.papers
NAMES = ("source", "table", "task", "options", "case", "arm", "head_dim", "metric")  # that name a row
KEPT = (*NAMES, "ours", "n", "interval", "verdict")
SCHEMA = 1


def write(path, report):
    """Write a report's rows to a file."""
    rows = [{name: row[name] for name in KEPT} for row in report["rows"]]
    given = {name: report[name] for name in ("command", "seeds", "steps", "versions")}
    Path(path).write_text(json.dumps({"schema": SCHEMA, **given, "rows": rows}, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def read(path):
    """The reference in a file, or the one that ships if None. Raises ValueError where it is none, OSError where it cannot be read."""
    if path is None:
        from importlib.resources import files

        shipped = files("attnprobe.probes.papers") / SHIPPED
        if not shipped.is_file():
            raise ValueError("no reference ships with this version; name one with --reference FILE, written by --freeze FILE")
        text, path = shipped.read_text(encoding="utf-8"), SHIPPED
    else:
        text = Path(path).read_text(encoding="utf-8")
    try:
        made = json.loads(text)
        good = made["schema"] == SCHEMA and all(set(row) == set(KEPT) for row in made["rows"]) and made["seeds"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no reference written by --freeze: {error!r}") from None
    if not good:
        raise ValueError(f"{path} is no reference written by --freeze of this version")
    return made


def name_of(row):
    """What names a row, as one string."""
    return json.dumps([row[name] for name in NAMES], sort_keys=True)


def moved(reference, report):
    """What moved against a reference, changed verdicts first: {row, verdict: [then, now] | None, value: [then, now] | None} each.

    A row that the reference has and the suite no longer does, or the reverse, has None on that side. A value moved if it lies outside the
    reference's interval, or, where that has none, is another by more than one part in a million.
    """
    then = {name_of(row): row for row in reference["rows"]}
    found = []
    for row in report["rows"]:
        old = then.get(name_of(row))
        if old is None:
            found.append({"row": row, "verdict": [None, row["verdict"]], "value": None})
            continue
        verdict = None if old["verdict"] == row["verdict"] else [old["verdict"], row["verdict"]]
        value = None if within(rate(row), old) else [rate(old), rate(row)]
        if verdict or value:
            found.append({"row": row, "verdict": verdict, "value": value})
    found += [{"row": row, "verdict": [row["verdict"], None], "value": None} for row in lost(then)]
    return sorted(found, key=lambda move: move["verdict"] is None)


def lost(then):
    """The rows of a reference that are of no figure any more. then: name -> row."""
    from attnprobe.probes.papers import FIGURES

    known = {name_of({name: getattr(figure, name) for name in NAMES}) for figure in FIGURES}
    return [row for name, row in then.items() if name not in known]


def rate(row):
    """A row's value; where it counts seeds, the share of them that is solved."""
    counts = row["metric"] is None and row["n"]
    return row["ours"] / row["n"] if counts else row["ours"]


def within(value, old):
    """Whether a value lies in a reference row's interval, or is its value where it has none."""
    if value is None or old["ours"] is None:
        return value is old["ours"]
    if old["interval"] is None:
        return abs(value - rate(old)) <= 1e-6 * abs(rate(old))
    low, high = old["interval"]
    return low <= value <= high


def lines(moves, reference, report):
    """What moved, as text."""
    made_by = reference["versions"].get("attnprobe", "?")
    yield f"reference: {span(reference['seeds'])}, attnprobe {made_by}; this run: {span(report['seeds'])}"
    if reference["seeds"] != report["seeds"] or reference["steps"] != report["steps"]:
        yield "warning: other seeds or steps than the reference's: a verdict may change with their number alone"
    for move in moves:
        row = move["row"]
        title = f"{row['source']}, {row['table']}: {' '.join(filter(None, (row['case'], row['arm'])))}"
        if move["verdict"]:
            then, now = move["verdict"]
            yield f"VERDICT {title}: {then or 'not in the reference'} -> {now or 'no such figure any more'}"
        if move["value"]:
            then, now = map(number, move["value"])
            yield f"value   {title}: {then} -> {now}, outside the reference's interval"
    changed, other = (sum(move[what] is not None for move in moves) for what in ("verdict", "value"))
    yield f"{len(report['rows'])} figures: verdicts changed: {changed}, values moved: {other}"


def span(seeds):
    """A range of seeds as it is typed."""
    return f"seeds {seeds[0]}:{seeds[-1] + 1}"

"""The HTML report: one file that holds everything, asks for nothing, and runs no script but its own."""

import base64
import hashlib
from importlib.resources import files
from string import Template

from attnprobe.cli import page_pictures, page_tables, page_theory
from attnprobe.cli.listing_tables import recipe, size
from attnprobe.cli.markup import joined, tag
from attnprobe.cli.tables import p_value, solved

FOLDER = "report_page"  # of this package: page.html, style.css, script.js


def page(asked, compared, listing):
    """The whole page as text.

    Args: asked: what was asked, as name -> text, with `command` and `version`; compared: [(Comparison, its report)]; listing: what the
    store holds, as `probe results --json`.
    """
    reports = [report for _, report in compared]
    theorems = page_theory.families(reports)
    script, style = read("script.js"), read("style.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    names = list(dict.fromkeys(comparison.task.name for comparison, _ in compared))
    sections = [section(f"run-{n}", comparison, report, theorems) for n, (comparison, report) in enumerate(compared, 1)]
    return Template(read("page.html")).substitute(
        title=joined([f"attnprobe: {', '.join(names)}"]),
        generator=joined([asked["version"]]),
        script_hash=f"sha256-{digest}",
        style=style,
        script=script,
        header=header(asked, listing),
        main=joined([overview(compared), against(reports), no_pictures(), sections, page_theory.section(theorems), others(listing)]),
        footer=tag("footer", tag("p", f"Made by {asked['version']}. This file asks for nothing from the network.")),
    )


def read(name):
    """A file of the page."""
    return (files("attnprobe.cli") / FOLDER / name).read_text(encoding="utf-8")


def header(asked, listing):
    """What was asked, of which store, when, with what."""
    counts = ", ".join(f"{count} {state}" for state, count in listing["counts"].items() if count)
    facts = {
        "asked": tag("code", asked["command"]),
        "store": tag("code", listing["store"]),
        "holds": f"{counts} ({size(listing['bytes'])})",
        "made": asked["date"],
        "by": asked["version"],
    }
    return tag(
        "header",
        tag("h1", "What these attention mechanisms can do"),
        tag(
            "p", "Tiny models trained on synthetic tasks, many seeds each, compared seed by seed, beside what theory proves.", class_="lead"
        ),
        tag("dl", [[tag("dt", name), tag("dd", value)] for name, value in facts.items()], class_="facts"),
    )


def overview(compared):
    """One line a comparison, with a link to it."""
    heads = [("task", False), ("seeds", False), ("arms", True), ("reference", False), ("solved by it", True), ("least Holm p", True)]
    rows = []
    for n, (comparison, report) in enumerate(compared, 1):
        reference = next((row for row in report["arms"] if row["arm"] == report["reference"]), None)
        least = min((row["p_holm"] for row in report["arms"] if row["p_holm"] is not None), default=None)
        link = tag("th", tag("a", comparison.title, href=f"#run-{n}"), scope="row")
        share = reference["solved"] / reference["n"] if reference else ""
        cells = [
            link, tag("td", span(comparison)), page_tables.right(len(report["arms"])), tag("td", reference["arm"] if reference else "-"),
            tag("td", solved(reference) if reference else "-", class_="n", data_v=share), page_tables.right(p_value(least)),
        ]  # fmt: skip
        rows.append((cells, None))
    table = page_tables.table("The comparisons of this report", heads, rows)
    return tag("nav", tag("h2", "Results", id="results"), table, aria_labelledby="results")


def span(comparison):
    """A range of seeds as it is typed."""
    return f"{comparison.seeds[0]}:{comparison.seeds[-1] + 1}"


def against(reports):
    """Contradictions with a theorem, if there are any."""
    from attnprobe.cli.report import contradictions

    found = [line for report in reports for line in contradictions(report)]
    said = [tag("p", f"Contradiction with a theorem: {line}. One of the two is wrong: please report it.") for line in found]
    return tag("div", said, class_="alert", role="alert") if said else None


def no_pictures():
    """Why there are none, if there are none."""
    why = page_pictures.reason()
    return tag("p", why, class_="lead") if why else None


def section(name, comparison, report, theorems):
    """One comparison: the question, the arms, the notes, pictures, seeds, commands."""
    from attnprobe.probes.tasks import TASKS

    entry, title = TASKS.entries[comparison.task.name], comparison.title
    versions = ", ".join(f"{name} {' and '.join(v) if isinstance(v, list) else v}" for name, v in report["versions"].items())
    facts = {
        "source": entry.facts.get("paper"),
        "trained": f"{recipe(report['config']['recipe'])}, on {report['config']['device']}, seeds {span(comparison)}",
        "task version": report["config"]["version"],
        "versions": versions,
    }
    count = sum(len(row["seeds"]) for row in report["arms"])
    return tag(
        "section",
        tag("h2", tag("code", title), id=name),
        tag("p", entry.summary, class_="lead"),
        tag("dl", [[tag("dt", what), tag("dd", value)] for what, value in facts.items() if value], class_="facts"),
        page_tables.arms(title, report, theorems),
        tag(
            "ul",
            [tag("li", line, class_="warning" if line.startswith("warning") else None) for line in notes(comparison, report)],
            class_="notes",
        ),
        page_pictures.pictures(comparison),
        fold("Every seed", f"{count} rows", page_tables.seeds(title, report)),
        fold("How to make each row again", f"{len(report['arms'])} commands", page_tables.commands(title, comparison)),
        aria_labelledby=name,
    )


def notes(comparison, report):
    """The lines under a run's table, and what is different where the store is read in a run's place."""
    from attnprobe.cli.row_formats import notes as under

    yield from under(report)
    if report["family"]:
        yield "the arms are all that the store holds here: Holm's correction may be over more of them than in the run that made them"
    short = [row["arm"] for row in report["arms"] if row["n"] < len(comparison.seeds)]
    if short:
        yield f"warning: fewer seeds than the range: {', '.join(short)}; p is over the seeds that an arm and the reference both hold"


def fold(title, aside, inside):
    """What is unfolded on a click."""
    return tag("details", tag("summary", title, " ", tag("span", aside, class_="aside")), inside)


def others(listing):
    """What the store holds beside, which no table above counts; None where there is nothing."""
    from attnprobe.cli.tables import title

    lines = []
    for group in listing["groups"]:
        for row in group["arms"]:
            if row["state"] != "current":
                task = title({"task": group["task"], "config": {"options": group["options"]}}).plain
                lines.append(f"{task}, {row['arm']}@{row['head_dim']}: {row['n']} {row['state']} ({'; '.join(row['why'])})")
    lines += [f"{other['path']}: {other['state']} ({'; '.join(other['why'])})" for other in listing["others"]]
    if not lines:
        return None
    lead = "Results of other code, task versions or schemas, and files that are no result: none of them is counted above."
    inside = tag("ul", [tag("li", line) for line in lines], class_="inside notes")
    heading = tag("h2", "Left out", id="left-out")
    return tag("section", heading, tag("p", lead, class_="lead"), fold("What", f"{len(lines)} lines", inside), aria_labelledby="left-out")

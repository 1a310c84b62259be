"""The theorems that a report's verdicts rest on, each unfolded on a click."""

from attnprobe.cli.markup import tag

ALSO = {"T5": ("T6",)}  # whose ceilings stand beside it
HEADINGS = {"assumes": "holds if", "proof": "proof", "limits": "limits", "checked": "checked"}


def families(reports):
    """The families of claims that the arms of reports name, each once, with those that stand beside them."""
    named = [row["theory"]["claim"] for report in reports for row in report["arms"] if row["theory"]["claim"]]
    return tuple(dict.fromkeys(name for claim in dict.fromkeys(named) for name in (claim, *ALSO.get(claim, ()))))


def section(names):
    """A section with the claims of every family; None where there is none."""
    if not names:
        return None
    return tag(
        "section",
        tag("h2", "What theory says", id="theory"),
        tag("p", "Each statement unfolds to what it assumes, its proof, its limits and how it was checked.", class_="lead"),
        [tag("section", tag("h3", name, id=name), family(name), aria_labelledby=name) for name in names],
        aria_labelledby="theory",
    )


def family(name):
    """The claims of one family."""
    from attnprobe.theory import claim
    from attnprobe.theory.explanations import explanation

    entries = claim.catalogue()
    return [one(entry, explanation(entry, claim.load(entry)).parts) for entry in claim.select([name], entries)]


def one(entry, parts):
    """One claim: its statement always seen, the rest unfolded."""
    told = dict(parts)
    inside = [[tag("dt", heading), [tag("dd", text) for text in told[name]]] for name, heading in HEADINGS.items() if told[name]]
    also = [tag("dt", "source"), tag("dd", entry.source), tag("dt", "check it"), tag("dd", tag("code", f"theory verify {entry.name}"))]
    summary = tag("summary", entry.name, tag("span", f": {told['statement'][0]}", class_="aside"))
    return tag("details", summary, tag("dl", inside, also, class_="inside"), id=f"claim-{entry.name}")

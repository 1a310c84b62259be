"""The pictures of a report: the learning curves of each comparison, as inline SVG, where they can be drawn."""

from importlib.util import find_spec

from attnprobe.cli.markup import Markup, tag

MOST = 50  # seeds an arm: more lines than that are a smear, and megabytes
LEFT_OUT = "Pictures are left out: they need matplotlib. pip install 'attnprobe[plot]', then make the report again."


def reason():
    """Why no picture can be drawn here, or None."""
    return None if find_spec("matplotlib") else LEFT_OUT


def pictures(comparison):
    """The figures of one Comparison; none where its seeds have no curve."""
    if reason():
        return []
    from attnprobe.cli.plots import curves, output, style

    records = {str(result.arm): dict(list(result.records.items())[:MOST]) for result in comparison.results}
    which = f"the first {MOST} seeds of each arm" if any(len(result.records) > MOST for result in comparison.results) else "every seed"
    results = [record["result"] for found in records.values() for record in found.values()]
    if not any(value is not None for result in results for _, value in [*result["curve"], *result["losses"]]):
        return []
    cut = style.cut(comparison.recipe.steps, comparison.task.recipe.steps)
    drawn = output.svg(curves.draw(curves.gather(comparison.task, records, cut)))
    return [tag("figure", Markup(drawn), tag("figcaption", f"{comparison.title}: learning curves of {which}, their median bold"))]

"""How the lines of learning curves look, and the key that says so."""

from attnprobe.cli.plots import style

SOLVED = {"color": style.GOOD, "linewidth": 0.5, "alpha": 0.8, "zorder": 2}
UNSOLVED = {"color": style.BAD, "linewidth": 0.6, "alpha": 0.8, "zorder": 2, "dashes": (3, 1.2)}
MEDIAN = {"color": style.INK, "linewidth": 1.6, "zorder": 3}
OTHERS = {"color": "#c9c9c9", "linewidth": 1.0, "zorder": 1}
THRESHOLD = {"color": style.QUIET, "linewidth": 0.7, "linestyle": ":", "zorder": 1}
END = {"solved": {"marker": ".", "markersize": 3}, "unsolved": {}, "failed": {"marker": "x", "markersize": 4}}


def key(data):
    """What each kind of line is, for those that are there."""
    from matplotlib.lines import Line2D

    statuses = {seed.status for one in data.arms for seed in one.seeds if seed.points}
    kinds = {
        "a seed, solved": SOLVED | END["solved"] if "solved" in statuses else None,
        "a seed, not solved": UNSOLVED if statuses - {"solved"} else None,
        "median": MEDIAN,
        "other arms' medians": OTHERS if len(data.arms) > 1 else None,
        f"threshold {data.threshold:g}" if data.threshold is not None else "": THRESHOLD if data.threshold is not None else None,
        "failed": {**UNSOLVED, **END["failed"]} if "failed" in statuses else None,
    }
    return [Line2D([], [], label=label, **look) for label, look in kinds.items() if look]

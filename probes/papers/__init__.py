"""The source papers' figures, as data, beside the task that reproduces each: a file a source."""

from attnprobe.probes.papers import fpa, pn_fir_tau, stochastic

SOURCES = {"fpa": fpa.figures, "pn-fir-tau": pn_fir_tau.figures, "stochastic": stochastic.figures}
SEEN = fpa.SEEN
FIGURES = tuple(figure for figures in SOURCES.values() for figure in figures())


def figure(task_name, options, arm, head_dim):
    """The source's first Figure for an arm, or None."""
    for f in FIGURES:
        if (f.task, f.arm, f.head_dim) == (task_name, arm, head_dim) and f.options.items() <= options.items():
            return f
    return None

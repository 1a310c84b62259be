"""The source papers' figures, as data, beside the probe that reproduces each."""

from __future__ import annotations

from dataclasses import dataclass, field

WHERE_LADDER = "FPA, one-layer probes, 15 seeds"


@dataclass(frozen=True)
class Figure:
    """`value` of `n` seeds solved, as a source states it (a string where it gives a range), for one arm (canonical spec) of one task."""

    task: str
    arm: str
    head_dim: int
    value: int | str
    n: int
    where: str
    options: dict = field(default_factory=dict)


def ladder():
    """Solved seeds of the ladder. The source does not say how its slots are written; ours are balanced."""
    rivals = ("rope", "softmax", "alibi", "fox")  # softmax: without positions, NoPE
    fpa = {10: 11, 14: 12, 18: 13}
    for r in (6, 10, 14, 18):
        options = {"r": r, "slot": "balanced"}
        for arm in rivals:
            yield Figure("ladder", arm, 4, "14-15" if r == 6 else 0, 15, WHERE_LADDER, options)
            if r != 6:
                yield Figure("ladder", arm, r + 2, 15, 15, WHERE_LADDER, options)
        if r in fpa:
            yield Figure("ladder", "fpa", 4, fpa[r], 15, WHERE_LADDER, options)


FIGURES = tuple(ladder())


def figure(task_name, options, arm, head_dim):
    """The source's Figure for an arm, or None."""
    for f in FIGURES:
        if (f.task, f.arm, f.head_dim) == (task_name, arm, head_dim) and f.options.items() <= options.items():
            return f
    return None

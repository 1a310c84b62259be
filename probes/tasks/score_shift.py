"""Score shift: recall with a constant taken off every score."""

from __future__ import annotations

from dataclasses import dataclass, field

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.associative import PRESENT, Associative


@register("score-shift", paper="ours, after Zhukov 2026, pn_fir_tau", family="A4")
@dataclass(frozen=True)
class ScoreShift(Associative):
    """Recall after every score is lowered by delta: a fixed threshold leaves all rows dead, a learned one that starts below is whole.

    The context is that of recall (three pairs here); only the layer differs, its scores are 4 q . k - delta:

        k7 v1   k2 v1   k9 v3     ?k9 ?k7 ?k2      answers: v3 v1 v1

    Softmax does not see a constant. A rectified normaliser does: where no score of a row exceeds the threshold, its
    weights and every gradient are exactly 0, and a row dead at the start stays dead (dead: the share of such rows
    at the end; gradient: the norm of the first step's gradient). Such a layer answers one fixed value: 25 %.

    Shortcuts score as in recall: one fixed value 25 %, the last value and the value at the row's own place 34.4 %,
    the most frequent value 44.2 %; looking the key up, 100 %.

    Choices of ours, not stated by the source: the task itself, delta = 2, and all that recall says.
    """

    delta: float = field(default=2.0, metadata={"help": "Taken off every score."})

    gradient = True

    def __post_init__(self):
        super().__post_init__()
        if not 0 <= self.delta < float("inf"):
            raise ValueError(f"delta must be 0 or more, and finite, not {self.delta}")

    @property
    def shift(self):
        return self.delta

    @property
    def present(self):
        return self.pairs

    steps = 200
    rule = f"present >= {PRESENT}"
    shown = ("dead", "gradient")
    arms = ("pn_fir_tau", *(f"fir+{name}" for name in ("power", "power-tau(tau0=0)", "power-centred", "softmax")))

    def solved(self, score):
        return score["present"] >= PRESENT

"""Decoys: recall and silence among keys that carry a share of the asked key."""

from __future__ import annotations

from dataclasses import dataclass, field

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.associative import ASKED, HALLUCINATION, PRESENT, Associative


@register("decoys", paper="Zhukov 2026, pn_fir_tau", family="A3")
@dataclass(frozen=True)
class Decoys(Associative):
    """Whether a threshold tells a key from its decoys: each asked key, present or absent, has a decoy pair with a value of its own.

    A decoy's key is e(other) + eps e(asked), not renormalised; eps is one of 0.05, 0.2, 0.5, 1, drawn per context.
    Twelve pairs and eight decoys stand in random order, then four present and four absent keys are asked for (two
    pairs, two decoys here):

        k7 v1   k5 v0   k2 v1   k8 v3     ?k4 ?k7        answers: - v1
                = decoy         = decoy
                of k7           of k4

    Every score is also given at each eps; solved needs each of them, so that no eps hides behind another.

    Shortcuts score, at present keys: one fixed value 25 %, the last value and the value at the row's own place
    28.75 %, the most frequent value 36.9 %, each with 100 % hallucination; silence 0 % with 0 %; the decoy's value
    25 % with 100 %. Looking the token up (a decoy's own token is never asked for): 100 % with 0 %.

    Choices of ours, not stated by the source: as in unanswerable; 12 pairs and 8 decoys; the decoys' form and the
    four eps.
    """

    pairs: int = field(default=12, metadata={"help": "Key-value pairs in a context, decoys not counted."})

    absent = ASKED
    decoys = 2 * ASKED
    amounts = (0.05, 0.2, 0.5, 1.0)
    reference = "fir+power-tau(tau0=-3)"
    present = ASKED
    steps = 500
    rule = f"present >= {PRESENT} and hallucination <= {HALLUCINATION}, at every eps"
    shown = ("present@0.05", "present@1", "hallucination", "mass", "dead")

    @property
    def arms(self):
        rest = ("power", "power(tau=-3)", "power-tau(tau0=0)", "power-centred", "softmax")
        return (self.reference, *(f"fir+{name}" for name in rest))

    def solved(self, score):
        at = [(score[f"present@{eps:g}"] >= PRESENT) & (score[f"hallucination@{eps:g}"] <= HALLUCINATION) for eps in self.amounts]
        passed = at[0]
        for one in at[1:]:
            passed = passed & one
        return passed

"""Unanswerable: give the value after the asked key, and nothing where the context does not hold that key."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.associative import ASKED, HALLUCINATION, PRESENT, Associative


@register("unanswerable", paper="Zhukov 2026, pn_fir_tau", family="A2")
@dataclass(frozen=True)
class Unanswerable(Associative):
    """Whether the layer can stay silent: half of the asked keys are not in the context, and their output should be 0.

    Four rows ask for a key of the context, four for another, in random order (three pairs, two rows each, here):

        k7 v1   k2 v1   k9 v3     ?k4 ?k9 ?k7 ?k1      answers: - v3 v1 -

    A row gives a value iff o . e_v > 1/2 for some v: it is then nearer to e_v than to 0. hallucination: an absent
    key that gets a value; a present key that gets none is an error too. mass: the row's weights at an absent key.

    Shortcuts score, at present keys: one fixed value 25 %, the last value and the value at the row's own place 34.4
    %, the most frequent value 44.2 %, each with 100 % hallucination; silence 0 % with 0 %. Looking the key up: 100
    % with 0 %.

    Choices of ours, not stated by the source: as in recall; 4 + 4 rows; |o|^2 as the loss at an absent key, and
    that decode rule. With a fully trained model, a cross-entropy loss and a class 'absent' softmax hallucinates <=
    1 % in our prototype: what is shown here needs the output that is to be kept unchanged (|o|^2).
    """

    absent = ASKED
    present = ASKED
    steps = 500
    rule = f"present >= {PRESENT} and hallucination <= {HALLUCINATION}"
    shown = ("hallucination", "mass", "dead")

    @property
    def arms(self):
        rest = ("softmax", "softmax1", "sparsemax", "entmax15", "softpick", "power", "power-centred")
        return ("pn_fir_tau", *(f"fir+{name}" for name in rest))

    def solved(self, score):
        return (score["present"] >= PRESENT) & (score["hallucination"] <= HALLUCINATION)

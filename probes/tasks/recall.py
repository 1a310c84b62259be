"""Recall: give the value that stands after the asked key, in one layer."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.associative import PRESENT, Associative


@register("recall", paper="Zhukov 2026, pn_fir_tau", family="A1")
@dataclass(frozen=True)
class Recall(Associative):
    """Which value stands after the asked key: one layer needs the key filter, which writes a key into the place of its value.

    Eight pairs of distinct keys and iid values, then every key is asked for, in random order (three pairs here):

        k7 v1   k2 v1   k9 v3     ?k9 ?k7 ?k2      answers: v3 v1 v1

    Without a position and a key filter a layer sees which values there are and not whose: it answers the most
    frequent one, and no such layer passes E[max count] / 8 = 0.44226.

    Shortcuts score: one fixed value 25 %, the last value 34.4 %, the value at the row's own place 34.4 %, the most
    frequent value 44.2 %; looking the key up, 100 %. Slices: the asked pair stands early or late in the context.

    Choices of ours, not stated by the source: 32 keys, 4 values, 8 pairs; frozen embeddings of length 1, model_dim
    = head_dim = 64, W_V = W_O = I, no residual, no BOS; what trains, the loss |o - e_value|^2 and the recipe; the
    answer is the nearest value.
    """

    @property
    def present(self):
        return self.pairs

    steps = 200
    rule = f"present >= {PRESENT}"
    shown = ("dead",)

    @property
    def arms(self):
        rest = ("softmax", "softmax1", "sparsemax", "entmax15", "softpick", "rela")
        return ("pn_fir_tau", *(f"fir+{name}" for name in rest), "softmax", "power-tau")

    def solved(self, score):
        return score["present"] >= PRESENT

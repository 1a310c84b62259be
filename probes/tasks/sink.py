"""Sink: where attention goes at an absent key, with a BOS token to go to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.associative import ASKED, HALLUCINATION, PRESENT, Associative


@register("sink", paper="Zhukov 2026, pn_fir_tau", family="A5")
@dataclass(frozen=True)
class Sink(Associative):
    """How much attention lies on BOS at an absent key: a normaliser that cannot be silent needs a place that means nothing.

    The task is unanswerable with BOS before the context (three pairs, two rows each, here):

        bos   k7 v1   k2 v1   k9 v3     ?k4 ?k9 ?k7 ?k1      answers: - v3 v1 -

    With `--bos zero` the value at BOS is 0, so that attending to it is a way to be silent; with `--bos value` it is
    its frozen embedding, of length 1 like every other. sink: the weight on BOS at an absent key, mean over rows.

    Shortcuts score as in unanswerable: one fixed value 25 %, the last value and the value at the row's own place
    34.4 %, the most frequent value 44.2 %, each with 100 % hallucination; silence 0 % with 0 %. Looking the key up:
    100 % with 0 %.

    Choices of ours, not stated by the source: all of it; the source measures a six-layer language model (.0177
    against .0031).
    """

    bos: Literal["zero", "value"] = field(default="zero", metadata={"help": "The value at BOS: 0, or its embedding."})

    absent = ASKED
    start = 1

    @property
    def valueless(self):
        return int(self.bos == "zero")

    present = ASKED
    steps = 500
    rule = f"present >= {PRESENT} and hallucination <= {HALLUCINATION}"
    shown = ("hallucination", "sink", "mass", "dead")
    arms = ("pn_fir_tau", *(f"fir+{name}" for name in ("softmax", "softmax1", "softpick")))

    def solved(self, score):
        return (score["present"] >= PRESENT) & (score["hallucination"] <= HALLUCINATION)

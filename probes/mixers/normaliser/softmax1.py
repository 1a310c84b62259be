"""Softmax with one added to the denominator: a row may be silent."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Normaliser
from attnprobe.probes.registry import register


@register("softmax1", paper="Miller 2023, Attention is off by one")
@dataclass(frozen=True)
class Softmax1(Normaliser):
    """e^x / (1 + sum e^x): softmax beside a key of score 0 and value 0."""

    def parameters(self, dims):
        return {}

    def __call__(self, p, scores, mask):
        scores = scores.masked_fill(~mask, -float("inf"))
        m = scores.amax(-1, keepdim=True).clamp(min=0).detach()  # cancels
        e = (scores - m).exp()
        return e / (e.sum(-1, keepdim=True) + (-m).exp())

    def log(self, p, scores, mask):
        import torch

        scores = scores.masked_fill(~mask, -float("inf"))
        return scores.log_softmax(-1) + torch.nn.functional.logsigmoid(scores.logsumexp(-1, keepdim=True))

    def finish(self, p, output):
        return output

"""Softpick: a rectified softmax, silent where every score is at most 0."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Floored
from attnprobe.probes.registry import register

EPSILON = 1e-8


@register("softpick", paper="Zuhri et al. 2025")
@dataclass(frozen=True)
class Softpick(Floored):
    """relu(e^x - 1) / (sum |e^x - 1| + 1e-8), with both sides times e^-m, m = max(0, max x).

    Published with m = max x, which overflows where every score is below -88; the factor cancels. A masked key is added as 0.
    """

    def parameters(self, dims):
        return {}

    def __call__(self, p, scores, mask):
        x = scores.masked_fill(~mask, 0)  # |e^0 - 1| = 0: a masked key adds nothing
        m = x.amax(-1, keepdim=True).clamp(min=0).detach()  # cancels
        above = -(-x.relu()).expm1() * (x.relu() - m).exp()  # e^(x-m) - e^-m where x > 0, else 0
        below = -(-(-x).relu()).expm1() * (-m).exp()  # e^-m - e^(x-m) where x < 0, else 0
        return above / ((above + below).sum(-1, keepdim=True) + EPSILON)

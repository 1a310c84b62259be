"""Projections onto the simplex: weights that sum to 1 and are exactly 0 below a threshold."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Floored
from attnprobe.probes.registry import register


@register("sparsemax", paper="Martins & Astudillo 2016")
@dataclass(frozen=True)
class Sparsemax(Floored):
    """The point of the simplex nearest to the scores."""

    def parameters(self, dims):
        return {}

    def __call__(self, p, scores, mask):
        from attnprobe.kernels.sparse import sparsemax

        return sparsemax(scores, mask)


@register("entmax15", paper="Peters, Niculae & Martins 2019")
@dataclass(frozen=True)
class Entmax15(Floored):
    """1.5-entmax, between softmax and sparsemax."""

    def parameters(self, dims):
        return {}

    def __call__(self, p, scores, mask):
        from attnprobe.kernels.sparse import entmax15

        return entmax15(scores, mask)

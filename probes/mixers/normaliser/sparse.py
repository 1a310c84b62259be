"""Projections onto the simplex: weights that sum to 1 and are exactly 0 below a threshold."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Normaliser, floored_log
from attnprobe.probes.registry import register


@register("sparsemax", paper="Martins & Astudillo 2016")
@dataclass(frozen=True)
class Sparsemax(Normaliser):
    """The point of the simplex nearest to the scores."""

    def parameters(self, dims):
        return {}

    def __call__(self, p, scores, mask):
        from attnprobe.kernels.sparse import sparsemax

        return sparsemax(scores, mask)

    def log(self, p, scores, mask):
        return floored_log(self(p, scores, mask))

    def finish(self, p, output):
        return output


@register("entmax15", paper="Peters, Niculae & Martins 2019")
@dataclass(frozen=True)
class Entmax15(Normaliser):
    """1.5-entmax, between softmax and sparsemax."""

    def parameters(self, dims):
        return {}

    def __call__(self, p, scores, mask):
        from attnprobe.kernels.sparse import entmax15

        return entmax15(scores, mask)

    def log(self, p, scores, mask):
        return floored_log(self(p, scores, mask))

    def finish(self, p, output):
        return output

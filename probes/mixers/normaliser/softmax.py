"""Softmax."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import FusedNormaliser
from attnprobe.probes.registry import register


@register("softmax", paper="Vaswani et al. 2017")
@dataclass(frozen=True)
class Softmax(FusedNormaliser):
    """Weights that sum to 1."""

    def parameters(self, dims):
        return {}

    def __call__(self, p, scores, mask):
        from attnprobe.kernels.softmax import masked_softmax

        return masked_softmax(scores, mask)

    def log(self, p, scores, mask):
        from attnprobe.kernels.softmax import masked_log_softmax

        return masked_log_softmax(scores, mask)

    def finish(self, p, output):
        return output

    def settings(self, p, shift):
        """Nothing: a shift of every score changes no weight."""
        return (), {}

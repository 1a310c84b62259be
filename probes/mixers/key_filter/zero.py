"""Keys without content: what a head does by its bias alone."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import KeyFilter
from attnprobe.probes.registry import register


@register("zero-keys", paper="FPA, ablation: no content")
@dataclass(frozen=True)
class ZeroKeys(KeyFilter):
    """k~ = 0: the scores are the bias alone."""

    pointwise = True

    def parameters(self, dims):
        return {}

    def __call__(self, p, k):
        return k * 0

"""Keys without content, for an ablation: the bias alone decides."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import KeyFilter
from attnprobe.probes.registry import register


@register("zero-keys", paper="FPA, the ablation 'no content'")
@dataclass(frozen=True)
class ZeroKeys(KeyFilter):
    """Every key is 0: scores are the bias alone."""

    pointwise = True

    def parameters(self, dims):
        return {}

    def __call__(self, p, k):
        return k * 0

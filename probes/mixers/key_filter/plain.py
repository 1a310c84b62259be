"""Keys as they are."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import KeyFilter
from attnprobe.probes.registry import register


@register("none")
@dataclass(frozen=True)
class Plain(KeyFilter):
    """No key filter."""

    pointwise = True

    def parameters(self, dims):
        return {}

    def __call__(self, p, k):
        return k

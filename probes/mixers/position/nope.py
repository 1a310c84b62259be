"""No positions."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Position
from attnprobe.probes.registry import register


@register("nope", paper="no position encoding")
@dataclass(frozen=True)
class Nope(Position):
    """Queries and keys as they are."""

    def parameters(self, dims):
        return {}

    def __call__(self, p, q, k):
        return q, k

"""Full causal attention."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Routing
from attnprobe.probes.registry import register


@register("full", paper="Vaswani et al. 2017")
@dataclass(frozen=True)
class Full(Routing):
    """Every key up to the query's own position."""

    content_free = True

    def parameters(self, dims):
        return {}

    def masks(self, q, k, draw):
        import torch

        T, S = q.shape[-2], k.shape[-2]
        return [torch.ones(T, S, dtype=torch.bool, device=k.device).tril(S - T)]

    def combine(self, p, x, paths):
        (path,) = paths
        return path

"""Full causal attention."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import FusedRouting, OnePath
from attnprobe.probes.registry import register


@register("full", paper="Vaswani et al. 2017")
@dataclass(frozen=True)
class Full(OnePath, FusedRouting):
    """Every key up to the query's own position."""

    content_free = True
    hides = False

    @classmethod
    def of_window(cls, w):
        return cls()

    def fits(self, seq_len):
        pass

    def masks(self, q, k, draw):
        return [causal(q.shape[-2], k.shape[-2], k.device)]

    def windows(self, k, draw):
        """Of one mask, nothing: the kernel is causal."""
        return [((), {})]


def causal(T, S, device):
    """Which of S keys stand at or before each of the last T positions: (T, S) boolean."""
    import torch

    return torch.ones(T, S, dtype=torch.bool, device=device).tril(S - T)

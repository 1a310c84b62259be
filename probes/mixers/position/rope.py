"""Rotary positions: a query-key score depends on content and on the distance between the two."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Position
from attnprobe.probes.registry import register

BASE = 10000.0  # Su et al. 2021


@functools.lru_cache(maxsize=64)
def angles(S, D, dtype, device):
    """Cosine and sine of t 10000^{-2i/D} for t < S and i < floor(D/2): two tensors (S, floor(D/2))."""
    import torch

    rate = BASE ** (-2 * torch.arange(D // 2, dtype=torch.float64) / D)
    angle = torch.arange(S, dtype=torch.float64)[:, None] * rate
    return angle.cos().to(device, dtype), angle.sin().to(device, dtype)


def rotate(x, S):
    """Rotate coordinates (i, i + floor(D/2)) of x by t 10000^{-2i/D}; an odd last coordinate is left.

    x (..., T, D): the last T of S positions. Su et al. 2021.
    """
    import torch

    T, D = x.shape[-2:]
    cos, sin = (table[S - T :] for table in angles(S, D, x.dtype, x.device))  # (T, D/2)
    a, b, rest = x.split((D // 2, D // 2, D % 2), -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos, rest], -1)


@register("rope", paper="Su et al. 2021, RoFormer")
@dataclass(frozen=True)
class Rope(Position):
    """Rotary position embedding, base 10000."""

    def parameters(self, dims):
        return {}

    def __call__(self, p, q, k):
        S = k.shape[-2]
        return rotate(q, S), rotate(k, S)

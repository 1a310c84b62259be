"""Sliding-window attention: the last w keys."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import FusedRouting, OnePath
from attnprobe.probes.mixers.routing.full import causal
from attnprobe.probes.registry import register


@register("swa", paper="Beltagy, Peters, Cohan 2020, Longformer (its window, causal)")
@dataclass(frozen=True)
class Swa(OnePath, FusedRouting):
    """The w keys up to the query's own position, its own included."""

    w: int = 16

    content_free = True

    def __post_init__(self):
        at_least(self.name, self.w, 1)

    @classmethod
    def of_window(cls, w):
        return cls(w)

    def fits(self, seq_len):
        within(self.name, self.w, seq_len)

    def masks(self, q, k, draw):
        return [back(self.w, q.shape[-2], k.shape[-2], k.device)]

    def windows(self, k, draw):
        return [sliding(self.w)]


def back(w, T, S, device):
    """The last w keys of each of the last T positions: 0 <= t - s < w, (T, S)."""
    seen = causal(T, S, device)
    return seen & ~seen.tril(S - T - w)


def sliding(w):
    """What a fused kernel takes of `back`: no order, and how many positions before and after its own a query sees."""
    return (), {"perm": None, "window": (w - 1, 0)}


def at_least(name, w, least):
    """Raise ValueError where a window is too narrow for a routing."""
    if w < least:
        raise ValueError(f"{name}: w must be at least {least} ({'a key for each path' if least > 1 else 'the token itself'}), not {w}")


def within(name, w, seq_len):
    """Raise ValueError where a window does not fit a sequence."""
    if w > seq_len:
        raise ValueError(f"{name}: w must be at most {seq_len}, the length of the sequence, not {w}")

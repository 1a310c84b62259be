"""Stochastic attention: a window over shuffled positions, cut to the keys that are not later in the sequence."""

from attnprobe.kernels.stochastic.reference import allowed, attention, gated, halves, window_of

__all__ = ["allowed", "attention", "gated", "halves", "window_of"]

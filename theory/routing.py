"""Routing is a window over an order of the tokens: what a token sees in one layer, and, bit by bit, in many.

An order gives token t the slot slots[t]; token t sees s iff slots[t] - slots[s] lies in [-hi, lo], on a ring modulo n, and, if causal,
s <= t. A window of w has lo = floor((w-1)/2) and hi = w-1-lo, and counts t itself. Stochastic attention (sa) draws a fresh order a layer,
sliding-window attention (swa) keeps the tokens' own; sa+swa gives each half of w. A causal swa looks back only: lo = w-1, hi = 0, no ring.
"""

from dataclasses import dataclass

import numpy as np

ROUTINGS = ("sa", "swa", "sa+swa")
WORDS = 16  # of 64 sources each at a time: at n = 2^14 the bit sets of a block fit a cache of 2 MB


@dataclass(frozen=True)
class Window:
    """Which differences of slots are seen: lo back, hi ahead."""

    lo: int
    hi: int
    shuffled: bool = False
    causal: bool = False
    ring: bool = True

    def mask(self, slots):
        """Return (n, n) booleans: [t, s] iff token t sees token s."""
        n, p = len(slots), slots[:, None] - slots[None, :]
        inside = (p + self.hi) % n <= self.lo + self.hi if self.ring else (p >= -self.hi) & (p <= self.lo)
        return np.tril(inside) if self.causal else inside

    def slots(self, n, rng):
        """Return (n,) slots: a fresh order of n tokens, or the tokens' own."""
        return rng.permutation(n) if self.shuffled else np.arange(n)


def windows(routing, w, causal=False, ring=True):
    """Return the Windows of one layer. ring: whether a window goes on from the last slot to the first; a model in training cuts it."""
    if routing not in ROUTINGS:
        raise ValueError(f"routing must be one of {', '.join(ROUTINGS)}, got {routing!r:.60}")
    if routing == "sa+swa":
        if w < 2:
            raise ValueError(f"window must be at least 2 for sa+swa, half for each, got {w}")
        return windows("sa", w // 2, causal, ring) + windows("swa", w - w // 2, causal, ring)
    if w < 1:
        raise ValueError(f"window must be at least 1, the token itself, got {w}")
    if causal and routing == "swa":
        return (Window(w - 1, 0, ring=False),)
    return (Window((w - 1) // 2, w - 1 - (w - 1) // 2, shuffled=routing == "sa", causal=causal, ring=ring),)


def draw(parts, n, layers, rng):
    """Return `layers` layers, each a list of (Window, slots), one a part; windows wider than n are cut to n."""
    if n < max(part.lo + part.hi + 1 for part in parts):
        raise ValueError(f"n must be at least the window, {max(part.lo + part.hi + 1 for part in parts)}, got {n}")
    return [[(part, part.slots(n, rng)) for part in parts] for _ in range(layers)]


def spread(n, count, rng):
    """Return `count` of n tokens, evenly spaced, ascending: sources that stand for all."""
    return np.arange(count) * n // count + int(rng.integers(n // count))


def fields(n, layers, sources):
    """Yield, layer by layer, (n, ceil(len(sources)/64)) uint64: bit j of row t is set iff t has seen sources[j], by that layer."""
    seen = np.zeros((n, -(-len(sources) // 64)), np.uint64)
    bits = np.arange(len(sources))
    seen[sources, bits // 64] = np.uint64(1) << (bits % 64).astype(np.uint64)
    for layer in layers:
        after = np.zeros_like(seen)
        for window, slots in layer:
            after |= _look_back(seen, window, slots) if window.causal else _look(seen, window, slots)
        seen = after
        yield seen


def coverage(n, layers, sources=None):
    """Return (len(layers), n) int64: how many of `sources` (distinct tokens; all if None) token t has seen after each layer, exactly."""
    sources = np.arange(n) if sources is None else sources
    counts = np.zeros((len(layers), n), np.int64)
    for first in range(0, len(sources), 64 * WORDS):
        for level, seen in enumerate(fields(n, layers, sources[first : first + 64 * WORDS])):
            counts[level] += np.bitwise_count(seen).sum(1, dtype=np.int64)
    return counts


def record(n, layers):
    """Return plain data to redo the fields of ring or causal windows: windows [lo, hi, causal], slots and pairs seen layer by layer."""
    parts = [[part.lo, part.hi, int(part.causal or not part.ring)] for part, _ in layers[0]]
    slots = [[order.tolist() for _, order in layer] for layer in layers]
    return {"n": n, "windows": parts, "slots": slots, "reached": coverage(n, layers).sum(1).tolist()}


def _look(seen, window, slots):
    """Return what each token sees through a window that is not causal: a running union along the slots, by doubling."""
    _, union = _along(seen, window, slots)
    width, reach = window.lo + window.hi + 1, 1
    while 2 * reach <= width:
        union = union[:-reach] | union[reach:]
        reach *= 2
    if reach < width:
        union = union[: len(union) - (width - reach)] | union[width - reach :]
    return union[slots]


def _look_back(seen, window, slots):
    """Return what each token sees through a causal window: the union over the window's places, later tokens masked."""
    n = len(slots)
    order, placed = _along(seen, window, slots)
    here = order[window.lo : window.lo + n]
    union = placed[window.lo : window.lo + n].copy()
    for start in range(window.lo + window.hi + 1):
        earlier = (order[start : start + n] < here).astype(np.uint64) * np.uint64(2**64 - 1)
        union |= placed[start : start + n] & earlier[:, None]
    return union[slots]


def _along(seen, window, slots):
    """Return (tokens, their rows of `seen`) along the slots, from lo places early to hi places late; beyond a cut line rows are empty."""
    n = len(slots)
    order = np.empty(n, np.int64)
    order[slots] = np.arange(n)
    order = np.concatenate([order[n - window.lo :], order, order[: window.hi]])
    rows = seen[order]
    if not window.ring:
        rows[: window.lo] = rows[n + window.lo :] = 0
    return order, rows

"""Integer heads to try a claim about all heads on: generic ones, and those on which general position fails."""

import numpy as np

SPREAD = 2654435769  # odd, 2^32 over the golden ratio (Knuth, volume 3): multiples modulo a power of 2 are all different, and spread


def moment_curve(r, d):
    """Return (keys, offsets) of Python integers, r keys (s, s^2, ..., s^d), offsets s^(d+1), the last offset larger than any vertex.

    Every d+1 rows of [k | 1] and every d+2 of [k | 1 | o] with s < r are Vandermonde, so independent: general position.
    """
    keys = [[s**j for j in range(1, d + 1)] for s in range(1, r + 1)]
    offsets = [s ** (d + 1) for s in range(1, r)] + [(2 * r) ** (2 * (d + 3) ** 2)]  # above Hadamard's bound on a vertex, times a key
    return keys, offsets


def generic(rng, r, d):
    """Return (keys, offsets) as lists: integers in +-10^6, the last offset 10^40, in general position almost surely."""
    keys = rng.integers(-(10**6), 10**6, (r, d), endpoint=True).tolist()
    return keys, [*rng.integers(-(10**6), 10**6, r - 1, endpoint=True).tolist(), 10**40]


def degenerate(rng, r, d):
    """Yield (name, keys, offsets): small integer heads with zero, repeated, collinear or few-valued keys, and offsets with ties."""
    small = rng.integers(-3, 3, (r, d), endpoint=True)
    offsets = rng.integers(-3, 3, r, endpoint=True)
    line = np.outer(np.arange(r), rng.integers(-2, 2, d, endpoint=True))
    slope = rng.integers(-2, 2, d, endpoint=True)
    yield "small", small, offsets
    yield "large last offset", small, np.append(offsets[:-1], 10**6)
    yield "low last offset", small, np.append(offsets[:-1], -(10**6))
    yield "zero keys", 0 * small, offsets
    yield "repeated keys", small[np.arange(r) // 2], offsets
    yield "collinear keys", line, offsets
    yield "cube", small % 2, offsets
    yield "equal offsets", small, 0 * offsets
    yield "offsets linear in the keys", small, small @ slope + 1
    yield "unit keys", np.eye(r, d, dtype=int), np.append(np.zeros(r - 1, int), 4)


def spread(r, count=32):
    """Return the least of `count` and 2^(r-1) different words of r-1 bits, sorted integers, with no pattern among their bits."""
    size = 1 << (r - 1)
    return np.array(sorted(i * SPREAD % size for i in range(min(count, size))))


def shown(words, keys, offsets, queries, thresholds):
    """Return the evidence that a head realises these words: its integers, and the sum over words n = 1.. and keys s of 2^n s (l_s - theta).

    words: (N,) integers, bit i-1 set iff key i is to be dead. keys (r, D); offsets (N, r), a word's own; queries (N, D); thresholds (N,).
    """
    keys, offsets, queries, thresholds = (np.asarray(x, np.int64) for x in (keys, offsets, queries, thresholds))
    margins = queries @ keys.T + offsets - thresholds[:, None]
    total = int(2 ** np.arange(1, len(words) + 1) @ margins @ np.arange(1, len(keys) + 1))
    given = {"words": words, "keys": keys, "offsets": offsets, "queries": queries, "thresholds": thresholds}
    return {name: np.asarray(value).tolist() for name, value in given.items()} | {"sum": total}

"""Key s is alive at t iff no later field u in (s, t] is below its level psi_s: the definition, and the ladder that it is tried on.

Fields phi and levels psi are integers, one a position; a walk W with no offsets has phi = psi = W.
"""

import numpy as np


def alive_set(phi, psi, t):
    """Return the tuple of positions s <= t that are alive at t, by the definition taken word for word.

    phi, psi: sequences of at least t+1 integers. Key t is alive: nothing comes after it.
    """
    return tuple(s for s in range(t + 1) if all(phi[u] >= psi[s] for u in range(s + 1, t + 1)))


def depths(phi, psi):
    """Return (N, T, T) integers: at [n, t, s] min(0, min_{s<u<=t} phi_u - psi_s), so 0 iff s is alive at t; 0 where s >= t.

    phi, psi: (N, T) integers. Times beta this is the bias b_ts of forgetting by path.
    """
    phi, psi = np.asarray(phi), np.asarray(psi)
    count, length = phi.shape
    depth = np.zeros((count, length, length), phi.dtype)
    for s in range(length - 1):
        lowest = np.minimum.accumulate(phi[:, s + 1 :], axis=1)
        depth[:, s + 1 :, s] = np.minimum(0, lowest - psi[:, s, None])
    return depth


def alive_at_end(levels):
    """Return (T, N) booleans: whether position s of walk n is alive at the walk's end, by suffix minima.

    levels: (T, N) integers, N walks as columns with phi = psi = levels.
    """
    alive = np.empty(levels.shape, bool)
    lowest = np.full(levels.shape[1:], np.iinfo(levels.dtype).max, levels.dtype)
    for s in range(len(levels) - 1, -1, -1):
        np.greater_equal(lowest, levels[s], out=alive[s])
        np.minimum(lowest, levels[s], out=lowest)
    return alive


def ladder(word):
    """Return (steps, levels, positions) of the balanced ladder L(r) for a word of r-1 bits, bit i-1 set iff block i dips.

    Rung i is one step +1 and writes key i at level i; block i, after rung i < r, is (-1, +1) for a dip and (+1, -1) for none.
    All words have the same 3(r-1)+1 positions, the same key positions and the same multiset of steps.

    >>> ladder((1, 0))
    ([1, -1, 1, 1, 1, -1, 1], [1, 0, 1, 2, 3, 2, 3], [0, 3, 6])
    """
    steps = [1]
    for dips in word:
        steps += [-1, 1, 1] if dips else [1, -1, 1]
    return steps, np.cumsum(steps).tolist(), list(range(0, len(steps), 3))


def ladder_levels(words, r):
    """Return (3(r-1)+1, N) int8: the walk of L(r), as in `ladder`, for every word of `words`, N integers of r-1 bits."""
    levels = np.empty((3 * (r - 1) + 1, len(words)), np.int8)
    levels[0] = 1
    for i in range(1, r):
        dips = ((words >> (i - 1)) & 1).astype(np.int8)
        start = levels[3 * (i - 1)]
        np.add(start, 1 - 2 * dips, out=levels[3 * i - 2])
        levels[3 * i - 1] = start
        np.add(start, 1, out=levels[3 * i])
    return levels


def ladder_alive(levels):
    """Return (N,) int64 bit sets: bit i-1 is set iff key i of the ladder whose walks are `levels` (3(r-1)+1, N) is alive at the end."""
    alive = alive_at_end(levels)[::3]
    sets = np.zeros(levels.shape[1], np.int64)
    for i, row in enumerate(alive):
        sets |= row.astype(np.int64) << i
    return sets

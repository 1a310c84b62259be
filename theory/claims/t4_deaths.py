"""T4: free offsets let every key die at a time of its own, but after the last write only nested sets are left."""

from itertools import product

import numpy as np

from attnprobe.theory.alive import depths
from attnprobe.theory.claim import Case, Span, claim

CHUNK = 1 << 13


@claim("T4-deaths", kind="exhaustive", source="this project", T=Span(8, 1, 9, deep=9))
def every_death_vector(T):
    """With free offsets every vector of integer death times death(s) > s is realised at once.

    phi_u = -u and psi_s = -death(s) + 1/2: the least field of (s, t] is -t, and -t >= psi_s iff t <= death(s) - 1/2 iff t < death(s). Keys
    are at 0..T-1; death(s) = T stands for any time after the last.

    Checked: all T! vectors, at every t, with phi and psi doubled to integers.
    """
    t = np.arange(T)
    deaths = product(*(range(s + 1, T + 1) for s in range(T)))
    while len(chunk := np.array([death for _, death in zip(range(CHUNK), deaths, strict=False)], np.int8)):
        alive = depths(np.broadcast_to(-2 * t, chunk.shape).astype(np.int8), 1 - 2 * chunk) == 0
        wrong = (alive != (t[:, None] < chunk[:, None, :])) & (t[:, None] >= t)
        bad = wrong.any((1, 2))
        yield Case(not bad.any(), {"deaths": chunk[np.argmax(bad)].tolist()}, len(chunk))
    levels = [[1 - 2 * death for death in range(s + 1, T + 1)] for s in range(T)]
    yield Case(True, size=0, evidence={"fields": (-2 * t).tolist(), "levels": levels})


@claim("T4-nested", kind="exhaustive", source="this project", levels="0..r-1", fields="0..r-1", r=Span(4, 1, 4))
def few_sets_after_the_last_write(r):
    """After the last of r keys is written, at most r+1 alive sets remain, nested, the empty one included; r+1 are attained.

    What is written is fixed, and so is the set B of keys alive at the last write. Later fields matter by their least value m alone: the
    alive set is {s in B: psi_s <= m}, which shrinks as m falls, and changes at most |B| <= r times. So the 2^(r-1) sets of the ladder need
    dips between the writes. Attained by levels 1..r under rising fields.

    Checked: all r keys with fields and levels in 0..r-1, each followed by every pair of fields in -1..r-1; a case is one such head.
    """
    grid = np.array(list(product(range(r), repeat=r)), np.int8).reshape(-1, r)
    futures = np.array(list(product(range(-1, r), repeat=2)), np.int8)
    most = 0
    for fields in grid:
        phi = np.concatenate([np.broadcast_to(fields, (len(futures), r)), futures], axis=1)
        phi = np.broadcast_to(phi, (len(grid), *phi.shape)).reshape(-1, r + 2)
        psi = np.concatenate([np.repeat(grid, len(futures), axis=0), np.full((len(phi), 2), -2, np.int8)], axis=1)
        alive = depths(phi, psi)[:, r:, :r] == 0
        sets = (alive << np.arange(r)).sum(-1).reshape(len(grid), -1)
        sets.sort(axis=1)
        smaller, larger = sets[:, :-1], sets[:, 1:]
        nested = ((smaller & ~larger) == 0).all(1)
        count = (smaller != larger).sum(1) + 1
        most = max(most, int(count.max()))
        bad = ~nested | (count > r + 1)
        yield Case(not bad.any(), {"phi": fields.tolist(), "psi": grid[np.argmax(bad)].tolist()}, len(grid))
    yield Case(most == r + 1, {"r": r, "most": most}, evidence={"most": most})

"""T6: how many of the 2^(r-1) alive sets a head of d dimensions realises at most, and that generic heads realise that many."""

import numpy as np

from attnprobe.theory.claim import Case, Span, claim
from attnprobe.theory.heads import degenerate, generic, moment_curve
from attnprobe.theory.programs import greatest_margin
from attnprobe.theory.rank import ceiling, dependency
from attnprobe.theory.realisation import realise

SETTING = "one offset vector for all alive sets; the last key is always alive"
GENERIC = f"{SETTING}; keys in general position, the last offset large"
# (r, with offsets, without) at d = 4
FIGURES = ((6, 32, 31), (10, 382, 256), (14, 2380, 1093), (18, 9402, 3214))


@claim("T6-attained", kind="exact", source="Cover 1965", assumption=SETTING, sizes="2..r", d="1..size", r=Span(12, 2, 15, deep=15))
def ceiling_is_attained(r):
    """The moment-curve head realises sum_{i<=d+1} C(r-1,i) sets with offsets, sum_{i<=d} C(r-1,i) without.

    Alive sets are the sign patterns of q.k_s + o_s - theta, the regions of r hyperplanes in (q, theta) on the positive side of the last.
    The last being far away, its positive side meets every region of the other r-1: at most sum_{i<=d+1} C(r-1,i), with equality in
    general position. Without offsets the hyperplanes meet at 0: half of at most 2 sum_{i<=d} C(r-1,i) regions (Cover). Keys (s, s^2, ...,
    s^d) with offsets s^(d+1) are in general position (Vandermonde). A case is one (size up to r, d), counted exactly from circuits.
    """
    for size in range(2, r + 1):
        for d in range(1, size + 1):
            keys, offsets = moment_curve(size, d)
            for given in (offsets, None):
                count, most = realise(keys, given).count, ceiling(size, d, given is not None)
                row = {"r": size, "d": d, "offsets": int(given is not None), "count": count}
                yield Case(count == most, row | {"ceiling": most}, evidence=row)


@claim("T6-generic", kind="sampled", source="Cover 1965", assumption=GENERIC, r="6, 10, 14, 18", d=4, heads=3)
def generic_heads():
    """At d = 4 a generic head realises 32, 382, 2380, 9402 sets of r = 6, 10, 14, 18 rungs; without offsets 31, 256, 1093, 3214.

    The count of T6-attained holds for any keys in general position, which random keys are almost surely. A case is one random integer
    head.
    """
    rng = np.random.default_rng(6)
    for r, with_offsets, without in FIGURES:
        for _ in range(3):
            keys, offsets = generic(rng, r, 4)
            counts = [realise(keys, offsets).count, realise(keys).count]
            holds = counts == [with_offsets, without]
            yield Case(holds, {"r": r, "keys": keys, "offsets": offsets, "counts": counts}, evidence={"r": r, "counts": counts})


@claim("T6-ceiling", kind="sampled", source="Cover 1965", assumption=SETTING, d="1..r", r=Span(9, 2, 14, deep=12))
def no_head_is_above(r):
    """No head of d dimensions realises more sets than the ceiling, degenerate heads and any last offset included.

    The regions of an arrangement that is not in general position are fewer, and a half space that is not far away misses some. A case is
    one head: zero, repeated, collinear and few-valued keys, ties in the offsets. The certificate shows one missing set of each.
    """
    rng = np.random.default_rng(7)
    for d in range(1, r + 1):
        for name, keys, offsets in degenerate(rng, r, d):
            for given in (offsets, None):
                found, most = realise(keys, given), ceiling(r, d, given is not None)
                missing = found.first_impossible
                evidence = None if missing is None else dependency(missing, keys, given)
                yield Case(found.count <= most, {"head": name, "keys": keys.tolist(), "count": found.count, "ceiling": most}, 1, evidence)


@claim("T6-programs", kind="sampled", source="this project", assumption=SETTING, d="1..3", r=Span(5, 2, 7, deep=7))
def linear_programs_agree(r):
    """Circuits and linear programs (HiGHS) agree, set by set, on whether a head realises it.

    The second method shares no code with the first: it maximises the margin between alive and dead logits over q and theta. Degenerate
    heads of small integers, where the greatest margin is 0 or far from it. A case is one head and one set. The certificate shows one
    missing set of each head.
    """
    rng = np.random.default_rng(8)
    for d in (1, 2, 3):
        for name, keys, offsets in degenerate(rng, r, d):
            for given in (offsets, None):
                found = realise(keys, given)
                table, missing = found.table, found.first_impossible
                yield Case(True, size=0, evidence=None if missing is None else dependency(missing, keys, given))
                for word in range(1 << (r - 1)):
                    margin = greatest_margin(keys, given, word)
                    holds = bool(table[word]) == (margin > 1e-6)
                    yield Case(holds, {"head": name, "keys": keys.tolist(), "word": word, "margin": margin, "circuits": bool(table[word])})

"""T1: one head of constant size realises every alive set of the balanced ladder."""

from fractions import Fraction

import numpy as np

from attnprobe.theory.alive import alive_set, depths, ladder, ladder_alive, ladder_levels
from attnprobe.theory.claim import Case, Span, claim

LADDER = "the word is written as the balanced ladder L(r), our own token code: one dip or no dip between two rungs"
CHUNK = 1 << 16  # words at a time: the walks of a chunk fit the cache


@claim("T1-ladder", kind="exhaustive", source="FPA paper", assumption=LADDER, r=Span(20, 2, 26, deep=26))
def all_sets(r):
    """One FPA head realises all 2^(r-1) alive sets of the ladder, with levels 0..r.

    With g = h = 0, phi = psi = W. Block i, between rung i and rung i+1, has minimum i-1 iff it dips, else i; whatever comes after block i
    is at level i or above. So key i < r, written at level i, is alive at the end iff block i is not a dip; key r always is. Levels are
    integers in 0..r: ceil(log2(r+1)) bits a scalar. Every word of r-1 bits is walked; alive sets are suffix minima of its levels.
    """
    everything = (1 << r) - 1
    for first in range(0, 1 << (r - 1), CHUNK):
        words = np.arange(first, min(first + CHUNK, 1 << (r - 1)))
        levels = ladder_levels(words, r)
        wrong = ladder_alive(levels) != (everything ^ words)
        within = levels.min() >= 0 and levels.max() <= r
        yield Case(bool(within and not wrong.any()), {"r": r, "word": int(words[np.argmax(wrong)])}, len(words))
    yield Case(True, size=0, evidence={"rung": [1], "dip": [-1, 1], "no dip": [1, -1]})


@claim("T1-literal", kind="exhaustive", source="FPA paper", assumption=LADDER, sizes="1..r", r=Span(10, 2, 14, deep=14))
def literal(r):
    """Key i is alive at the ladder's end iff block i is no dip, by the definition word for word.

    The same statement as T1-ladder at every size up to r, with the alive set taken from its definition instead of suffix minima, and with
    the walk built step by step: the two must agree with the word. All words of one size have one multiset of steps.
    """
    for size in range(1, r + 1):
        sets = set()
        for word in range(1 << (size - 1)):
            dips = [word >> i & 1 for i in range(size - 1)]
            steps, levels, positions = ladder(dips)
            alive = alive_set(levels, levels, len(levels) - 1)
            keys = [s in alive for s in positions]
            holds = keys == [*(not dip for dip in dips), True] and steps.count(-1) == size - 1 and len(steps) == 3 * size - 2
            sets.add(tuple(keys))
            yield Case(holds, {"r": size, "word": word, "steps": steps, "alive": list(alive)})
        yield Case(len(sets) == 2 ** (size - 1), {"r": size, "sets": len(sets)}, 0, {"r": size, "sets": len(sets)})


@claim("T1-mass", kind="exhaustive", source="FPA paper", assumption=LADDER, eps="1/2, 1/10, 1/1000, 10^-9", r=Span(10, 2, 14, deep=14))
def dead_mass(r):
    """With equal scores, beta = ln((r-1)/eps) holds the weight on the ladder's dead keys under eps.

    A dead key has bias beta * min(0, min phi - psi) <= -beta, as levels are integers, so its factor is at most x = e^-beta = eps/(r-1); an
    alive key has bias 0 and factor 1, and key r is alive. With n <= r-1 dead keys the dead weight is at most n x / (1 + n x) < n x <= eps.
    Checked in Fractions, with x in place of e^-beta, over all words.
    """
    words = np.arange(1 << (r - 1))
    levels = ladder_levels(words, r).T
    depth = depths(levels, levels)[:, -1, ::3].tolist()
    for eps in (Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**9)):
        x = eps / (r - 1)
        power = [x**n for n in range(r + 2)]
        largest = Fraction(0)
        for word, row in enumerate(depth):
            dead = sum(power[-b] for b in row if b < 0)
            alive = sum(b == 0 for b in row)
            weight = dead / (alive + dead)
            largest = max(largest, weight)
            yield Case(weight < eps, {"r": r, "word": word, "eps": str(eps), "dead weight": str(weight)})
        yield Case(True, size=0, evidence={"eps": str(eps), "largest": str(largest)})

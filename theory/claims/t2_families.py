"""T2: how many families of alive sets A_0, ..., A_T the walks of T steps have; a walk has T+1 positions, each a key."""

from itertools import pairwise, product

import numpy as np

from attnprobe.theory.claim import Case, Span, claim
from attnprobe.theory.walks import catalan, distinct, families, motzkin_prefixes, walks

OFFSETS = "g = h = 0: fields and levels are the walk itself"
# (T, greatest step K, families with steps up to K): one short of the Catalan number, at T = K + 2
SHORT = ((4, 2, 41), (5, 3, 131))


@claim("T2-integers", kind="exhaustive", source="this project", assumption=OFFSETS, steps="up to max(1, T-1)", T=Span(5, 1, 6, deep=6))
def catalan_families(T):
    """Walks with integer steps have C_{T+1} families of alive sets (Catalan): 2, 5, 14, 42, 132 for T = 1..5.

    Levels of alive keys do not fall with position (T3-stack), so a step takes some keys, perhaps none, off the top of a stack and puts its
    own key on: a family is its stack sizes 1 = h_0, h_1, ..., h_T with 1 <= h_{t+1} <= h_t + 1, and these number C_{T+1}. All of them
    occur: a new value between two levels of the stack takes off just what is above.

    Checked: every walk of size 1..T with steps up to max(1, size-1) is walked, its alive sets are counted, and the count is C_{size+1}.
    """
    for size in range(1, T + 1):
        W = walks(size, range(-max(1, size - 1), max(1, size - 1) + 1))
        found, formula = distinct(families(W)), catalan(size + 1)
        yield Case(found == formula, {"T": size, "families": found, "Catalan": formula}, len(W), {"T": size, "families": found})


@claim("T2-bounded", kind="exact", source="this project", assumption=OFFSETS, T="4, 5", K="2, 3")
def bounded_steps_fall_short():
    """Steps up to K miss one family at T = K+2: 41 of 42 at T = 4, K = 2, and 131 of 132 at T = 5, K = 3.

    A family fixes, for each key s, the time e at which it dies: W_u >= W_s for s < u < e and W_e <= W_s - 1. With |W_{t+1} - W_t| <= K
    these are difference constraints, solvable in integers iff their graph has no negative cycle.

    Checked: twice. All walks are walked; and for each of the C_{T+1} stack sequences the constraints are solved. At K = T-1 none is missed.
    """
    for T, K, published in SHORT:
        W = walks(T, range(-K, K + 1))
        walked = distinct(families(W))
        solved = [sum(reachable(sizes, bound) for sizes in stacks(T)) for bound in (K, K + 1)]
        holds = [walked, *solved] == [published, published, catalan(T + 1)]
        yield Case(holds, {"T": T, "K": K, "walked": walked, "solved": solved}, len(W), {"T": T, "K": K, "families": walked})


@claim("T2-ternary", kind="exhaustive", source="this project", assumption=OFFSETS, steps="-1, 0, 1", T=Span(11, 1, 12, deep=12))
def motzkin_families(T):
    """Walks of T steps from {-1, 0, 1} have 2, 5, 13, 35, 96, ..., 49721 (T = 11) families: prefixes of Motzkin paths.

    A +1 that is never undone may be 0 instead, without a change to any alive set; what is left is a walk that ends at its minimum, and read
    backwards it is a walk of T steps that never goes below its start. Two such walks have different families: where they first differ,
    at step t+1, either one falls and kills key t, or one stays and the other rises, and the rise is undone later, at which key t+1 dies
    before key t in one, with it in the other.

    Checked: all 3^size walks of size 1..T (177147 at T = 11), and the count of Motzkin prefixes by their recursion.
    """
    for size in range(1, T + 1):
        W = walks(size)
        found, formula = distinct(families(W)), motzkin_prefixes(size)
        yield Case(found == formula, {"T": size, "families": found, "prefixes": formula}, len(W), {"T": size, "families": found})


@claim("T2-signs", kind="exhaustive", source="this project", assumption=OFFSETS, steps="-1, 1", T=Span(12, 1, 15, deep=15))
def sign_families(T):
    """Walks of T steps from {-1, +1} have 2^T families: the alive sets tell the whole walk.

    Key t is dead at t+1 iff step t+1 is -1. Checked: all 2^size walks of size 1..T.
    """
    for size in range(1, T + 1):
        W = walks(size, (-1, 1))
        found = distinct(families(W))
        yield Case(found == 2**size, {"T": size, "families": found}, len(W), {"T": size, "families": found})


@claim("T2-final", kind="exhaustive", source="this project", assumption=OFFSETS, steps="-1, 0, 1 | -1, 1", T=Span(9, 1, 12, deep=11))
def final_sets(T):
    """The last set A_T can be any of the 2^T that contain T with steps {-1, 0, 1}; with {-1, +1} 2, 4, 7, 13, 23, 42, 75, 136, ... of them.

    With a 0: put alive keys at level 0 and dead keys at level 1 (shifted so that W_0 = 0). Without: between two alive keys the walk returns
    to the older one's level or rises by one, and dead keys between them are above, so a run of dead keys between alive ones has odd length
    or none; keys before the first alive one are free. So the sets number f(T) = sum_{j<=T} g(j), with g(0) = 1 and g(n) = g(n-1) +
    g(n-2) + g(n-4) + g(n-6) + ...

    Checked: all walks of size 1..T of both alphabets, counted, against 2^size and f(size).
    """
    for size in range(1, T + 1):
        counts = []
        for steps in ((-1, 0, 1), (-1, 1)):
            W = walks(size, steps)
            lowest = np.minimum.accumulate(W[:, ::-1], axis=1)[:, ::-1]
            counts.append(distinct(np.packbits(lowest == W, axis=1)))
        holds = counts == [2**size, odd_runs(size)]
        yield Case(holds, {"T": size, "sets": counts}, 3**size + 2**size, {"T": size, "with 0": counts[0], "without": counts[1]})


def stacks(T):
    """Yield every sequence of stack sizes h_0 = 1, h_1, ..., h_T with 1 <= h_{t+1} <= h_t + 1."""
    for sizes in product(*(range(1, t + 2) for t in range(T + 1))):
        if all(after <= before + 1 for before, after in pairwise(sizes)):
            yield sizes


def reachable(sizes, K):
    """Return whether some integer walk with steps up to K has these stack sizes: shortest paths in its difference constraints."""
    edges = [(t, t + 1, K) for t in range(len(sizes) - 1)] + [(t + 1, t, K) for t in range(len(sizes) - 1)]  # W_b - W_a <= weight
    stack = []
    for t, size in enumerate(sizes):
        edges += [(s, t, -1) for s in stack[size - 1 :]]
        stack = stack[: size - 1]
        edges += [(t, s, 0) for s in stack]
        stack.append(t)
    distance = [0] * len(sizes)
    for _ in range(len(sizes)):
        for a, b, weight in edges:
            distance[b] = min(distance[b], distance[a] + weight)
    return all(distance[b] <= distance[a] + weight for a, b, weight in edges)


def odd_runs(T):
    """Return f(T) of `final_sets`: words of T letters, alive or dead, in which a run of dead before an alive is odd or absent."""
    g = [1]
    for n in range(1, T + 1):
        g.append(g[n - 1] + sum(g[n - 1 - k] for k in range(1, n, 2)))
    return sum(g)

"""T18: causal stochastic attention alone is slow to see everything, since a token sees its neighbour by a direct edge only."""

import itertools
import math
from fractions import Fraction

import numpy as np

from attnprobe.theory import recursion, routing
from attnprobe.theory.claim import Case, Span, claim
from attnprobe.theory.draws import agreement, streams

RING = "windows of w slots on a ring, counted before the causal test s <= t; a fresh uniform order a layer"
N, W = 16384, 64
FULL, SLIDING, ASYMPTOTIC = 2699, 261, 2484


@claim("T18-edge", kind="exhaustive", source="this project", assumption=RING, rings="2..n", n=Span(6, 2, 8))
def chance_of_a_direct_edge(n):
    """Limit: a token sees its predecessor by a direct edge only, with chance (w-1)/(n-1) a layer.

    The window holds w-1 of the n-1 slots that the predecessor is equally likely to have. Under s <= t a way from i-1 to i can only stay,
    step and stay, so after L layers it is missed with chance (1 - (w-1)/(n-1))^L, layers being independent.

    Checked: all n! orders, all w, every pair of neighbours, through the masks. The certificate's check counts the slots of the window.
    """
    chances = []
    for size in range(2, n + 1):
        orders = [np.array(order) for order in itertools.permutations(range(size))]
        for w in range(1, size + 1):
            (window,) = routing.windows("sa", w, causal=True)
            seen = sum(np.diagonal(window.mask(slots), -1).astype(int) for slots in orders)
            chance = Fraction(int(seen[0]), len(orders))
            chances += [str(chance)] if size == n else []
            holds = chance == Fraction(w - 1, size - 1) and bool((seen == seen[0]).all())
            shown = {"n": size, "w": w, "seen": seen.tolist()}
            yield Case(holds, shown, len(orders) * (size - 1), {"chances": chances} if (size, w) == (n, n) else None)


@claim("T18-layers", kind="exact", source="this project", assumption=RING, n=N, w=W)
def layers_to_full_coverage():
    """Limit: at n = 16384, w = 64 causal SA needs 2699 layers until every pair is expected to be seen, a sliding window 261.

    2699 is the least L with (n-1) (1-p)^L <= 1/2, p = (w-1)/(n-1): fewer than half a neighbour pair is expected to be missing. It grows as
    (n/w) ln n = 2484, against ceil((n-1)/(w-1)) = 261.

    Limits: full coverage only. Half of all pairs come at 3 layers, 90 % at 6, 99 % at 24 (T18-pairs).

    Checked: in integers, 2 (n-1) (n-w)^L <= (n-1)^L. In floating point, the recursion over all distances, stepped to there, expects half a
    pair or less to be missing at 2699 layers and more at 2698, and its neighbours' chance is (1-p)^L. The certificate's check redoes the
    integers.
    """
    layers = recursion.neighbour_layers(N, W)
    sliding, asymptotic = -(-(N - 1) // (W - 1)), round(N / W * math.log(N))
    holds = (layers, sliding, asymptotic) == (FULL, SLIDING, ASYMPTOTIC)
    yield Case(holds, {"layers": layers, "sliding": sliding}, evidence={"n": N, "w": W, "layers": layers, "sliding": sliding})
    states = list(itertools.islice(recursion.causal_reach(N, W), FULL - 2, FULL))
    missing = [float(((1 - u) * (N - np.arange(N))).sum()) for u in states]
    yield Case(missing[0] > 0.5 >= missing[1], {"missing": missing})
    neighbours = 1 - float(states[1][1]), (1 - (W - 1) / (N - 1)) ** FULL
    yield Case(math.isclose(*neighbours, rel_tol=1e-6), {"missed": list(neighbours)})


@claim("T18-neighbours", kind="sampled", source="this project", assumption=RING, n=N, w=W, draws=8)
def neighbours_meet_late():
    """Limit: simulated, the last neighbour pair meets after 2669 layers on average (median 2614), as Gumbel's law says.

    Meetings of different pairs are nearly independent, so P(all met by L) = exp(-(n-1) (1-p)^L): median (ln(n-1) - ln ln 2) / -ln(1-p) =
    2614, mean (ln(n-1) + .5772) / -ln(1-p) + 1/2 = 2669. The mean number missing, (n-1) (1-p)^L, is exact.

    Checked: 8 draws of the slots of all neighbours, layer by layer; missing pairs after 500, 1000, 2000 layers, and the last layer, within
    4 standard errors. The certificate carries no evidence: a reader redoes the simulation from its seed, 18.
    """
    median, mean = recursion.last_neighbour(N, W)
    yield Case((round(median), round(mean)) == (2614, 2669), {"median": median, "mean": mean})
    runs = [missing_neighbours(N, W, rng) for rng in streams(18)]
    for L in (500, 1000, 2000):
        expected = (N - 1) * (1 - (W - 1) / (N - 1)) ** L
        holds, found, error = agreement([run[L] for run in runs], expected, 0.0)
        yield Case(holds, {"layer": L, "missing": found, "expected": expected, "standard error": error}, len(runs))
    holds, found, error = agreement([len(run) - 1 for run in runs], mean, 0.0)
    yield Case(holds, {"last": found, "expected": mean, "standard error": error}, len(runs))


@claim("T18-full", kind="sampled", source="this project", assumption=RING, n=512, w=32, draws=8)
def the_last_neighbour_is_the_last_pair():
    """Limit: causal SA sees everything as soon as all neighbours have met, or a little later: at n = 512, w = 32 after 109.5 layers.

    A neighbour pair needs a direct edge, a pair further apart has other ways besides; by the recursion, sum_L (1 - exp(-expected missing))
    is 109.5 over all pairs and 109.4 over neighbours.

    Checked: bit sets until all is seen, 8 draws, never before the last neighbour pair of the same orders, the mean within 4 standard errors
    of the recursion. The certificate carries a causal draw at n = 40 that its check redoes.
    """
    n, w, last = 512, 32, []
    for first, again in zip(streams(18, n), streams(18, n), strict=True):
        met = len(missing_neighbours(n, w, first)) - 1
        seen = routing.coverage(n, routing.draw(routing.windows("sa", w, causal=True), n, met + 50, again)).sum(1)
        last.append(int((seen < n * (n + 1) // 2).sum()) + 1)
        yield Case(met <= last[-1] < met + 50, {"last neighbour": met, "full": last[-1]}, n * (n + 1) // 2)
    expected = recursion.mean_full(n, w)
    holds, mean, error = agreement(last, expected, 0.0)
    small = routing.record(40, routing.draw(routing.windows("sa", 5, causal=True), 40, 4, np.random.default_rng(18)))
    yield Case(holds and round(expected, 1) == 109.5, {"full": mean, "expected": expected, "standard error": error}, evidence=small)


def missing_neighbours(n, w, rng):
    """Return [n-1, ...]: how many neighbour pairs have not met after 0, 1, ... layers of causal SA, down to 0."""
    (window,) = routing.windows("sa", w, causal=True)
    left = np.arange(1, n)
    counts = [len(left)]
    while len(left):
        slots = window.slots(n, rng)
        left = left[(slots[left] - slots[left - 1] + window.hi) % n > window.lo + window.hi]
        counts.append(len(left))
    return counts

"""How many tokens stochastic attention reaches after some layers, by recursion in place of simulation."""

import itertools
from fractions import Fraction
from math import ceil, comb, exp, expm1, lgamma, log

import numpy as np

EULER = 0.5772156649  # the mean of Gumbel's law


def union_mean(n, w, M):
    """Return the exact mean size of the union of the w-windows around a uniform M-subset of a ring of n: n (1 - C(n-w, M) / C(n, M))."""
    return n * (1 - Fraction(comb(n - w, M), comb(n, M)))


def union_sizes(n, w, M):
    """Return {size: number of M-subsets of a ring of n whose w-windows have a union of that size}, M >= 1.

    Going round the ring, an M-subset is a composition of n into M spacings, and each is met n times in M rotations; a spacing of g leaves
    g - w slots uncovered. With u uncovered, k spacings exceed w, by amounts that compose u, and the others compose the rest from 1..w.
    """
    sizes = {}
    for u in range(n - w + 1):
        ways = 0
        for k in range(min(M, u) + 1):
            amounts = comb(u - 1, k - 1) if k else int(u == 0)
            ways += comb(M, k) * amounts * _compositions(n - u - k * w, M - k, w)
        if ways:
            sizes[n - u] = ways * n // M
    return sizes


def reached(n, w, layers):
    """Return the mean number of tokens that have seen a source after 1..layers layers of sa without causality, to first order.

    It puts the mean into the mean: exact for one and two layers, and after that as exact as the reached number is sharp.
    """
    sizes, M = [], 1.0
    for _ in range(layers):
        missed = 0.0 if M + w > n else exp(_log_comb(n - w, M) - _log_comb(n, M))
        M = n * (1 - missed)
        sizes.append(M)
    return sizes


def shares(routing, n, w, layers, causal):
    """Return, layer by layer, the computed share of the pairs (token, source) seen; None for sa+swa, for which we know no recursion.

    swa is exact, sa to first order, and causal sa as `causal_reach` says; pairs are all n^2, or the j <= i if causal; the order is a ring.
    """
    if routing == "sa+swa":
        return None
    if routing == "swa":
        widths = [min(n, L * (w - 1) + 1) for L in range(1, layers + 1)]
        return [(m * (m + 1) / 2 + (n - m) * m) / (n * (n + 1) / 2) if causal else m / n for m in widths]
    if causal:
        return [pair_coverage(u) for u in itertools.islice(causal_reach(n, w), layers)]
    return [M / n for M in reached(n, w, layers)]


def first_moment(n, w):
    """Return ceil(log_w(2 n ln n)): about the layers after which fewer than one pair is expected to be missing."""
    return ceil(log(2 * n * log(n)) / log(w))


def causal_reach(n, w):
    """Yield, layer by layer, (n,) u: the chance that a token has seen the one D places before it, under causal sa.

    u'(D) = 1 - (1 - u(D)) prod_{e<D} (1 - q u(e)), q = (w-1)/(n-1) the chance of a direct edge, u(0) = 1. It takes what the tokens in
    between have seen to be independent, which overstates u a little beyond two layers; for D = 1 it is exact.
    """
    q = (w - 1) / (n - 1)
    u = np.zeros(n)
    u[0] = 1
    while True:
        with np.errstate(divide="ignore"):  # log 0 where a window of all n sees what has been seen for certain
            without = np.concatenate([[0], np.cumsum(np.log1p(-q * u))[:-1]])
        u = 1 - (1 - u) * np.exp(without)
        u[0] = 1
        yield u


def pair_coverage(u):
    """Return the mean of u(i - j) over all pairs j <= i."""
    weights = len(u) - np.arange(len(u))
    return float((u * weights).sum() / weights.sum())


def token_coverage(u):
    """Return the mean over tokens i of the mean of u(i - j) over j <= i."""
    return float((np.cumsum(u) / np.arange(1, len(u) + 1)).mean())


def neighbour_layers(n, w):
    """Return the least L with (n-1) (1-q)^L <= 1/2, in integers: layers of causal sa until no neighbour pair is expected to be missing.

    1 - q = (n-w)/(n-1), so 2 (n-1) (n-w)^L <= (n-1)^L.
    """
    L = max(0, int(log(2 * (n - 1)) / log((n - 1) / (n - w))) - 2)
    while 2 * (n - 1) * (n - w) ** L > (n - 1) ** L:
        L += 1
    return L


def last_neighbour(n, w):
    """Return (median, mean) layers after which all n-1 neighbour pairs have met, taken to be independent, which nearly all are.

    Then P(all by L) = exp(-(n-1) (1-q)^L), Gumbel's law: the median puts it to 1/2; the mean adds Euler's constant to the log, and 1/2 for
    layers being whole.
    """
    rate = -log((n - w) / (n - 1))
    return (log(n - 1) - log(log(2))) / rate, (log(n - 1) + EULER) / rate + 0.5


def mean_full(n, w):
    """Return the mean number of layers of causal sa to full coverage: sum_L P(not full at L), P = 1 - exp(-expected missing pairs)."""
    total = 1.0
    for u in causal_reach(n, w):
        missing = float(((1 - u) * (n - np.arange(n))).sum())
        if missing < 1e-9:
            return total
        total -= expm1(-missing)


def _log_comb(n, k):
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _compositions(total, parts, most):
    """Return the number of sequences of `parts` integers in 1..most with sum `total`, by inclusion and exclusion."""
    if parts == 0:
        return int(total == 0)
    over = itertools.takewhile(lambda k: total - k * most >= parts, range(parts + 1))
    return sum((-1) ** k * comb(parts, k) * comb(total - k * most - 1, parts - 1) for k in over)

"""What a layer that sees which values there are, and not whose, can recall: the most frequent value, exactly."""

from fractions import Fraction
from math import comb


def majority_ceiling(pairs: int, values: int) -> Fraction:
    """E[max count] / pairs of `pairs` values drawn with replacement from `values`: the best share of right answers. A Fraction.

    Without a position and a key filter, weights and output depend on the context as a multiset of keys and values, in which
    the asked key's value is each of the `pairs` with equal chance; an answer v is then right with chance count(v) / pairs.

    The counts are enumerated value by value: E = sum_m P(max > m), P(max <= m) = ways to fill with at most m each / values^pairs.

    >>> round(float(majority_ceiling(8, 4)), 5)
    0.44226
    """
    within = sum(fillings(pairs, values, most) for most in range(pairs))
    return Fraction(pairs * values**pairs - within, pairs * values**pairs)


def fillings(pairs, values, most):
    """How many of the values^pairs sequences hold no value more than `most` times."""
    ways = [1] + [0] * pairs  # ways[n]: to choose n of the positions and fill them with the values so far
    for _ in range(values):
        ways = [sum(ways[n - c] * comb(pairs - n + c, c) for c in range(min(n, most) + 1)) for n in range(pairs + 1)]
    return ways[pairs]

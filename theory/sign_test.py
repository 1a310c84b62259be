"""The paired, one-sided, exact sign test (McNemar): the chance of as many wins among the seeds on which two arms differ."""

from fractions import Fraction
from math import comb


def p_value(wins: int, losses: int) -> Fraction:
    """Return P(Bin(wins + losses, 1/2) >= wins), 1 where no seed is discordant.

    >>> p_value(3, 0), p_value(4, 1)
    (Fraction(1, 8), Fraction(3, 16))
    """
    n = wins + losses
    return Fraction(sum(comb(n, k) for k in range(wins, n + 1)), 2**n)


def possible(n, reference, arm):
    """Return [(wins, losses)] that `reference` and `arm` solved seeds of the same n can mean, from most seeds in common to fewest."""
    shared = range(min(reference, arm), max(0, reference + arm - n) - 1, -1)
    return [(reference - both, arm - both) for both in shared]


def least_wins(level):
    """Return the least number of wins without a loss whose p is at most `level`."""
    return next(wins for wins in range(1000) if p_value(wins, 0) <= level)

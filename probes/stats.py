"""Exact statistics of solved counts: intervals, the paired one-sided sign test, Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence


def clopper_pearson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a rate of which k of n were seen: (low, high), each in [0, 1]. Clopper & Pearson 1934.

    >>> [round(x, 4) for x in clopper_pearson(15, 15)]
    [0.782, 1.0]
    """
    if not (0 <= k <= n and n >= 1):
        raise ValueError(f"an interval needs 0 <= k <= n and n >= 1, not k = {k}, n = {n}")
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return low, high


def sign_test(wins: int, losses: int) -> float:
    """One-sided exact p of `wins` or more among wins + losses discordant pairs, each a fair coin; 1 if there are none.

    This is McNemar's exact test, one-sided.

    >>> sign_test(11, 0) == 2**-11
    True
    """
    n = wins + losses
    return sum(math.comb(n, i) for i in range(wins, n + 1)) / 2**n


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment of p values, in the order given: each at most 1, monotone in rank. Holm 1979.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, running = [0.0] * len(ps), 0.0
    for rank, i in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        running = max(running, min(1.0, (len(ps) - rank) * ps[i]))
        adjusted[i] = running
    return adjusted


def discordant(reference: Mapping[int, bool], arm: Mapping[int, bool]) -> tuple[list[int], list[int]]:
    """Seeds that only the reference solves, and seeds that only the arm solves; both map seed -> solved, over the same seeds."""
    if reference.keys() != arm.keys():
        raise ValueError("a paired test needs the same seeds on both sides")
    wins = [seed for seed in reference if reference[seed] and not arm[seed]]
    losses = [seed for seed in reference if arm[seed] and not reference[seed]]
    return wins, losses


def median(values: Iterable[float]) -> float:
    """The middle value, the mean of the two middle ones where their number is even."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def mean_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float | None, float | None]:
    """(mean, low, high) of a mean over seeds, by Student's t; (mean, None, None) of a single value.

    >>> [round(x, 3) for x in mean_interval([0.2, 0.3, 0.4])]
    [0.3, 0.052, 0.548]
    """
    n, mean = len(values), math.fsum(values) / len(values)
    if n < 2:
        return mean, None, None
    from scipy.special import stdtrit

    error = math.sqrt(math.fsum((x - mean) ** 2 for x in values) / (n - 1) / n)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return mean, mean - half, mean + half

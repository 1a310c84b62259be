"""Exact statistics against definitions, tables and brute force."""

import itertools
from fractions import Fraction

import pytest
from scipy import stats as scipy_stats

from attnprobe.probes.stats import clopper_pearson, discordant, holm, median, sign_test


@pytest.mark.parametrize("n", [1, 5, 15])
def test_the_interval_is_where_each_binomial_tail_is_half_of_five_percent(n):
    for k in range(n + 1):
        low, high = clopper_pearson(k, n)
        assert low == 0 if k == 0 else abs(scipy_stats.binom.sf(k - 1, n, low) - 0.025) < 1e-9
        assert high == 1 if k == n else abs(scipy_stats.binom.cdf(k, n, high) - 0.025) < 1e-9


def test_an_interval_of_nothing_is_refused():
    for k, n in [(0, 0), (3, 2), (-1, 4)]:
        with pytest.raises(ValueError, match="0 <= k <= n"):
            clopper_pearson(k, n)


def test_the_sign_test_counts_coin_flips():
    """p = P(Bin(wins + losses, 1/2) >= wins), by enumerating every outcome of the flips."""
    for wins, losses in [(0, 0), (3, 1), (5, 0), (2, 6)]:
        flips = list(itertools.product((0, 1), repeat=wins + losses))
        p = Fraction(sum(sum(outcome) >= wins for outcome in flips), len(flips))
        assert sign_test(wins, losses) == float(p)


def test_the_sources_p_values():
    """11 discordant pairs: 2^-11 = .000488; 13: .000122; 27: 7.45e-9; none: 1."""
    assert sign_test(11, 0) == 2**-11
    assert sign_test(13, 0) == 2**-13
    assert f"{sign_test(27, 0):.3g}" == "7.45e-09"
    assert sign_test(0, 0) == 1


def test_holm_by_hand():
    """p = .01, .04, .03, .005, sorted .005 .01 .03 .04 times 4 3 2 1 = .02 .03 .06 .04, made monotone: .02 .03 .06 .06."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_discordant_seeds_are_listed_on_both_sides():
    reference, arm = {1: True, 2: True, 3: False, 4: False}, {1: True, 2: False, 3: True, 4: False}
    assert discordant(reference, arm) == ([2], [3])
    with pytest.raises(ValueError, match="same seeds"):
        discordant(reference, {1: True})


def test_the_median_of_an_even_number_is_the_mean_of_the_middle_two():
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 3, 2]) == 2.5

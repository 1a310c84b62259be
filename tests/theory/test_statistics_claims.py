"""The sign test: against scipy, against the pairings that counts allow, and refuted when a definition is broken."""

import doctest
from fractions import Fraction

import pytest
from scipy.stats import binomtest

from attnprobe.theory import sign_test
from attnprobe.theory.sign_test import least_wins, p_value, possible

BREAKS = [
    ("stats-sign-test", "claims.stats_sources.p_value", lambda wins, losses: min(Fraction(1), 2 * p_value(wins, losses))),
    ("stats-sign-test", "claims.stats_sources.p_value", lambda wins, losses: p_value(wins + 1, losses)),
    ("stats-sign-test", "claims.stats_sources.PUBLISHED", ((11, "0.00049"), (13, "0.000123"))),
    ("stats-counts", "claims.stats_sources.possible", lambda n, a, b: possible(n, a, b)[:1]),
    ("stats-counts", "claims.stats_sources.possible", lambda n, a, b: [(a, b)]),
    ("stats-power", "claims.stats_sources.least_wins", lambda level: least_wins(level) + 1),
    ("stats-power", "claims.stats_sources.possible", lambda n, a, b: [(a, 0)]),
    ("stats-sources", "claims.stats_sources.p_value", lambda wins, losses: p_value(wins - 1, losses)),
    ("stats-sources", "claims.stats_sources.possible", lambda n, a, b: [(a, 0)]),
    ("stats-sources", "claims.stats_sources.memory_factor", lambda before, after: Fraction("66.5")),
]


@pytest.mark.parametrize(("name", "target", "broken"), BREAKS, ids=lambda x: x if isinstance(x, str) else "")
def test_a_claim_about_statistics_is_refuted_when_a_definition_is_broken(refute, name, target, broken):
    refute(name, target, broken)


def test_the_sign_test_is_scipy_s_one_sided_binomial_test():
    for wins in range(16):
        for losses in range(16 - wins):
            expected = binomtest(wins, wins + losses, alternative="greater").pvalue if wins + losses else 1
            assert float(p_value(wins, losses)) == pytest.approx(expected, rel=1e-12)


def test_counts_allow_what_their_overlap_allows_by_hand():
    """14 and 11 of 15 share 11 (3 wins, no loss) or 10 (4 and 1); 12 and 0 share none; 2 and 2 of 4 share 2, 1 or 0."""
    assert possible(15, 14, 11) == [(3, 0), (4, 1)]
    assert possible(15, 12, 0) == [(12, 0)]
    assert possible(4, 2, 2) == [(0, 0), (1, 1), (2, 2)]


def test_a_level_that_is_met_exactly_is_met():
    """2^-3 = 1/8: three wins reach it; just below it takes four."""
    assert (least_wins(Fraction(1, 8)), least_wins(Fraction(1, 9))) == (3, 4)


def test_no_discordant_seed_is_no_evidence():
    assert p_value(0, 0) == 1


def test_the_example_in_the_sign_test_s_docstring_runs():
    assert doctest.testmod(sign_test)[:2] == (0, 1)

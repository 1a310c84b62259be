"""Score shifts and the key filter: against numpy, and refuted when a definition is broken."""

from fractions import Fraction

import numpy as np
import pytest

from attnprobe.theory import taps
from attnprobe.theory.claims import t15_shift, t16_key_filter

unit, filtered, power_norm, threshold = taps.unit, taps.filtered, t15_shift.power_norm, t16_key_filter.threshold
BREAKS = [
    ("T15-softmax", "claims.t15_shift.softmax", lambda scores, exp: list(scores)),
    ("T15-softmax", "claims.t15_shift.softmax", lambda scores, exp: [exp(0 * x) / len(scores) for x in scores]),
    ("T15-dead", "claims.t15_shift.power_norm", lambda scores, tau: power_norm(scores, tau - 1)),
    ("T15-dead", "claims.t15_shift.power_norm", lambda scores, tau: power_norm([abs(x) for x in scores], tau)),
    ("T15-threshold", "claims.t15_shift.undone", lambda tau, m, a: tau),
    ("T15-threshold", "claims.t15_shift.undone", lambda tau, m, a: m + tau - m),
    ("T16-taps", "taps.unit", lambda i: unit(i + 1)),
    ("T16-taps", "taps.TAPS", 6),
    ("T16-taps", "taps.x_bounds", lambda: (Fraction(88, 100), Fraction(89, 100))),
    ("T16-match", "claims.t16_key_filter.threshold", lambda j: tuple(bound / 2 for bound in threshold(j))),
    ("T16-match", "taps.filtered", lambda scores: filtered([0, *scores])[:-1]),
    ("T16-match", "taps.filtered", lambda scores: [(score, score) for score in scores]),
    ("T16-slots", "taps.filtered", lambda scores: filtered(scores)[::-1]),
    ("T16-slots", "taps.unit", lambda i: unit(0)),
    ("T16-maximum", "claims.t16_key_filter.LONGEST", (2.5946, 2.5946 * 0.5018)),
    ("T16-maximum", "taps.unit", lambda i: (1.0 if i == 0 else 0.0,) * 2),
]


@pytest.mark.parametrize(("name", "target", "broken"), BREAKS, ids=lambda x: x if isinstance(x, str) else "")
def test_a_claim_about_shifts_is_refuted_when_a_definition_is_broken(refute, name, target, broken):
    refute(name, target, broken)


def test_taps_enclose_those_of_floating_point():
    h = np.exp(-(np.arange(7.0) ** 2) / 8)
    for i in range(7):
        low, high = taps.unit(i)
        assert low < high < low + Fraction(1, 10**29)
        assert float(low) == pytest.approx(h[i] / h.sum(), rel=1e-14)
        assert float(taps.dc(i)[0]) == pytest.approx(h[: i + 1].sum() / h.sum(), rel=1e-14)
    assert float(taps.variance_gain()[0]) == pytest.approx(((h / h.sum()) ** 2).sum(), rel=1e-14)
    assert float(taps.mean_delay()[0]) == pytest.approx((np.arange(7) * h).sum() / h.sum(), rel=1e-14)
    assert taps.dc(6) == taps.dc(100) == (1, 1)


def test_filtered_rows_enclose_a_convolution():
    scores = [Fraction(x) for x in (3, -1, 0, 7, -2, 5, 1, 1, -4, 2)]
    h = np.exp(-(np.arange(7.0) ** 2) / 8)
    expected = np.convolve([float(x) for x in scores], h)[:10]
    assert [float(low) for low, _ in taps.filtered(scores)] == pytest.approx(expected)
    assert all(low <= high < low + Fraction(1, 10**25) for low, high in taps.filtered(scores))


def test_an_enclosure_rounds_to_a_figure_only_if_all_of_it_does():
    assert taps.rounds_to((Fraction("0.1234"), Fraction("0.1236")), "0.123") is False
    assert taps.rounds_to((Fraction("0.1225"), Fraction("0.1235")), "0.123") is True
    assert taps.rounds_to((Fraction("0.1224"), Fraction("0.1225")), "0.123") is False
    assert taps.rounds_to((Fraction(20), Fraction(21)), "20") is False


def test_a_power_norm_by_hand():
    """Scores 0, 1, 3 over tau = 1: relu gives 0, 0, 2, so all weight on the last; over tau = -1, p = 2: 1, 4, 16 of 21."""
    assert t15_shift.power_norm((0, 1, 3), 1) == [0, 0, 1]
    assert t15_shift.power_norm((0, 1, 3), -1, p=2) == [Fraction(1, 21), Fraction(4, 21), Fraction(16, 21)]
    assert t15_shift.power_norm((0, 1, 3), 3) is None


def test_the_dead_match_s_threshold_is_where_floating_point_finds_it():
    h = np.exp(-(np.arange(7.0) ** 2) / 8)
    for j in (1, 3, 6, 9):
        m = -float(t16_key_filter.threshold(j)[0])
        rows = [np.convolve([m * by] * j + [1.0] + [m * by] * 8, h / h.sum())[: j + 9].max() for by in (1 + 1e-9, 1 - 1e-9)]
        assert rows[0] < 0 < rows[1]

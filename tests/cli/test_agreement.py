"""The rule by which a figure and ours agree, against cases worked by hand."""

from dataclasses import replace

import pytest

from attnprobe.cli.agreement import DIFFERS, MATCHES, SAME_DIRECTION, verdict
from attnprobe.probes.papers.figure import Figure
from attnprobe.probes.stats import clopper_pearson

COUNT = Figure("fpa", "t", "ladder", "fpa", 4, 11, 15, "w")
SHARE = Figure("pn-fir-tau", "t", "recall", "fir", 64, 0.445, None, "w", metric="present")
COMPUTED = Figure("fpa", "t", "theory", "p", None, 0.00049, None, "w")
ALL, NONE = (0.782, 1.0), (0.0, 0.218)  # of 15 of 15, 0 of 15


@pytest.mark.parametrize(
    ("stated", "n", "solved", "of", "expected"),
    [
        (12, 15, 15, 15, MATCHES),  # .8 >= .782, the interval's low end
        (11, 15, 15, 15, SAME_DIRECTION),  # .733 < .782, and both above one half
        (7, 15, 15, 15, DIFFERS),  # .467: below one half
        (0, 15, 0, 15, MATCHES),
        (4, 15, 0, 15, SAME_DIRECTION),  # .267 > .218, and both below one half
        (15, 15, 14, 15, SAME_DIRECTION),  # 1 > .998
        (15, 15, 4, 5, SAME_DIRECTION),  # 1 > .995
        (15, 15, 2, 5, DIFFERS),
        (15, 15, 5, 10, DIFFERS),  # one half is on neither side
        ("14-15", 15, 14, 15, MATCHES),  # .933 and 1 against .681 to .998
        ("14-15", 15, 10, 15, SAME_DIRECTION),  # .882 < .933
        ("14-15", 15, 7, 15, DIFFERS),
        ("fails", None, 0, 15, MATCHES),
        ("fails", None, 2, 15, SAME_DIRECTION),  # .017 > 0
        ("fails", None, 15, 15, DIFFERS),
    ],
)
def test_a_count_that_is_compared_with_nothing_is_held_against_its_interval_then_against_one_half(stated, n, solved, of, expected):
    figure = replace(COUNT, value=stated, n=n)
    assert verdict(figure, solved / of, clopper_pearson(solved, of), None, None) == expected


@pytest.mark.parametrize(
    ("value", "interval", "ahead", "p", "expected"),
    [
        (0, NONE, True, 3e-5, MATCHES),
        (0, NONE, True, 0.5, MATCHES),  # the value is the source's and its winner ahead: no test is asked for
        (0, NONE, False, 1.0, DIFFERS),  # the source's winner solves no more
        (4, NONE, True, 3e-5, SAME_DIRECTION),
        (4, NONE, True, 0.05, DIFFERS),  # p < .05 is strict
        (4, NONE, True, 0.0499, SAME_DIRECTION),
        (11, ALL, False, 1.0, DIFFERS),  # no way by one half where there is a winner
        (4, NONE, False, 0.001, DIFFERS),
    ],
)
def test_a_count_with_a_winner_needs_it_ahead(value, interval, ahead, p, expected):
    assert verdict(replace(COUNT, value=value, winner="x"), sum(interval) / 2, interval, ahead, p) == expected


@pytest.mark.parametrize(
    ("stated", "value", "expected"),
    [
        (0.445, 0.40, MATCHES),  # 10 % less
        (0.445, 0.355, DIFFERS),  # 20.2 % less
        (0.002, 0.0119, MATCHES),  # within .01
        (0.002, 0.0121, DIFFERS),
        (".272-.344", 0.3, MATCHES),
        (".272-.344", 0.412, MATCHES),  # 19.8 % above the nearer end
        (".272-.344", 0.414, DIFFERS),
        (".272-.344", 0.219, MATCHES),  # 19.5 % below the other
        (".272-.344", 0.216, DIFFERS),
    ],
)
def test_a_share_agrees_within_a_fifth_or_a_hundredth_and_has_no_direction_alone(stated, value, expected):
    assert verdict(replace(SHARE, value=stated), value, None, None, None) == expected


def test_a_share_with_a_winner_keeps_the_direction_by_the_paired_test():
    compared = replace(SHARE, winner="x")
    assert verdict(compared, 0.44, None, True, 1.0) == MATCHES
    assert verdict(compared, 0.44, None, False, 1.0) == DIFFERS
    assert verdict(compared, 0.9, None, True, 0.01) == SAME_DIRECTION
    assert verdict(compared, 0.9, None, True, 0.06) == DIFFERS


def test_a_computed_quantity_has_no_hundredth():
    assert verdict(COMPUTED, 0.000488, None, None, None) == MATCHES
    assert verdict(COMPUTED, 0.000122, None, None, None) == DIFFERS

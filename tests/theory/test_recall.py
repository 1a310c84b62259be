"""The most that a layer can recall that sees values without their keys, against plain enumeration and sampling by hand."""

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from attnprobe.theory.recall import majority_ceiling


@pytest.mark.parametrize(("pairs", "values"), [(1, 4), (2, 2), (5, 3), (6, 4), (8, 4)])
def test_the_ceiling_is_the_mean_of_the_largest_count_over_all_sequences(pairs, values):
    total = sum(max(Counter(word).values()) for word in product(range(values), repeat=pairs))
    assert majority_ceiling(pairs, values) == Fraction(total, pairs * values**pairs)


def test_by_hand():
    """Two pairs, two values: 00 and 11 have a count of 2, 01 and 10 of 1; the mean 3/2 over 2 pairs is 3/4. One value: 1."""
    assert majority_ceiling(2, 2) == Fraction(3, 4)
    assert majority_ceiling(7, 1) == 1
    assert majority_ceiling(8, 4) == Fraction(3623, 8192)

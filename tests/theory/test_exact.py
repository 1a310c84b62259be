"""Heads are read exactly or refused in one line; elimination against products."""

from fractions import Fraction

import numpy as np
import pytest

from attnprobe.theory.exact import eliminate, null_vectors, read_head, scaled


def test_floats_are_read_as_the_rationals_that_they_are():
    keys, offsets = read_head(np.array([[0.1, -2.0]]), [np.float32(0.1)])
    assert keys == [[Fraction(3602879701896397, 2**55), -2]]
    assert offsets == [Fraction(13421773, 2**27)]


def test_strings_integers_and_fractions_are_read_alike():
    assert read_head([["-3/6"], [Fraction(-1, 2)], [np.int64(4)], ["4"]])[0] == [[Fraction(-1, 2)], [Fraction(-1, 2)], [4], [4]]


@pytest.mark.parametrize(
    ("keys", "offsets", "message"),
    [
        ([], None, "at least one row, got none"),
        ([[]], None, "key 1 must have at least one number"),
        ([[1], [2, 3]], None, "key 1 has 1 numbers, key 2 has 2"),
        ([[1], 2], None, "key 2 must be a list, got 2"),
        ("12", None, "keys must be a list"),
        ([[float("nan")]], None, "key 1 must be finite, got nan"),
        ([[1.0], [-np.inf]], None, "key 2 must be finite, got -inf"),
        ([["1.5"]], None, "key 1 must hold numbers"),
        ([["1e9999999"]], None, "key 1 must hold numbers"),
        ([["1/0"]], None, "denominator that is not 0"),
        ([[True]], None, "key 1 must hold numbers"),
        ([[None]], None, "key 1 must hold numbers"),
        ([[1], [2]], [1], "offsets must be one a key, 2, got 1"),
        ([[1]], ["x"], "offset 1 must hold numbers"),
    ],
)
def test_bad_heads_are_refused_with_the_place_and_the_value(keys, offsets, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_head(keys, offsets)
    assert "\n" not in str(caught.value)


def test_scaling_gives_coprime_integers_of_the_same_signs():
    """1/2, -3/4, 0 times 4 is 2, -3, 0."""
    assert scaled([Fraction(1, 2), Fraction(-3, 4), Fraction(0)]) == [2, -3, 0]


def test_null_vectors_are_a_basis_of_what_the_rows_send_to_zero():
    rng = np.random.default_rng(4)
    for height, width, rank in [(3, 5, 3), (4, 6, 2), (5, 4, 3), (2, 2, 2), (1, 3, 0)]:
        rows = (rng.integers(-5, 6, (height, rank)) @ rng.integers(-5, 6, (rank, width))).tolist()
        true_rank = int(np.linalg.matrix_rank(np.array(rows)))
        basis = null_vectors(rows)
        assert len(basis) == width - true_rank == width - len(eliminate(rows)[1])
        assert all(sum(a * x for a, x in zip(row, vector, strict=True)) == 0 for row in rows for vector in basis)
        assert not basis or np.linalg.matrix_rank(np.array(basis, float)) == len(basis)

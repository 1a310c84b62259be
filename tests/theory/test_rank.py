"""Ceilings against the published figures and against brute force; impossibility certificates by hand and as an equivalence."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from attnprobe.theory.heads import degenerate, generic
from attnprobe.theory.rank import Impossible, bound, ceiling, impossible, refutes
from attnprobe.theory.realisation import realise


@pytest.mark.parametrize(
    ("r", "with_offsets", "without"), [(6, 32, 31), (10, 382, 256), (14, 2380, 1093), (18, 9402, 3214)], ids=lambda x: str(x)
)
def test_ceilings_at_four_dimensions_are_the_published_ones(r, with_offsets, without):
    assert ceiling(r, 4, offsets=True) == with_offsets
    assert ceiling(r, 4, offsets=False) == without


def test_a_ceiling_by_hand():
    """r = 5, d = 1: with offsets C(4,0) + C(4,1) + C(4,2) = 1 + 4 + 6 = 11; without 1 + 4 = 5."""
    assert (ceiling(5, 1, True), ceiling(5, 1, False)) == (11, 5)


@pytest.mark.parametrize("offsets", [True, False])
def test_the_ceiling_is_all_sets_exactly_from_the_bound_on(offsets):
    for r in range(1, 21):
        full = [d for d in range(r + 3) if ceiling(r, d, offsets) == 2 ** (r - 1)]
        assert full == list(range(bound(r, offsets), r + 3))


def test_sizes_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="r must be at least 1"):
        ceiling(0, 4, True)
    with pytest.raises(ValueError, match="head_dim must be at least 0"):
        ceiling(4, -1, True)


def test_an_impossible_set_by_hand_without_offsets():
    """Keys 1, 2, 0 on a line: k_1 is the midpoint of k_2 and k_3, so -2 k_1 + k_2 + k_3 = 0 with weights of sum 0: keys 2, 3 alive
    and 1 dead would put the midpoint's logit below both ends'.
    """
    assert impossible([[1], [2], [0]]) == Impossible((-2, 1, 1), (2, 3))


def test_offsets_turn_the_certificate_around():
    """Keys 0, 1, 2, last far: 1 -2 1 sums to 0 and kills the keys. Offsets 0, 1, 0: sum lambda o = -2 <= 0, so keys 1, 3 alive and 2
    dead is impossible. Offsets 0, -1, 0: the sign turns, key 2 alive and 1, 3 dead is.
    """
    keys = [[0], [1], [2], [7]]
    assert impossible(keys, [0, 1, 0, 100]) == Impossible((1, -2, 1, 0), (1, 3, 4))
    assert impossible(keys, [0, -1, 0, 100]) == Impossible((-1, 2, -1, 0), (2, 4))


def test_there_is_an_impossible_set_exactly_if_a_head_does_not_realise_all():
    rng = np.random.default_rng(2)
    seen = set()
    for r, d in [(1, 1), (2, 1), (3, 1), (3, 2), (4, 2), (5, 3), (5, 4), (6, 2), (6, 7)]:
        for _ in range(3):
            for _, keys, offsets in [*degenerate(rng, r, d), ("generic", *generic(rng, r, d))]:
                for given in (offsets, None):
                    found = impossible(keys, given)
                    assert (found is None) == (realise(keys, given).count == 2 ** (r - 1))
                    assert found is None or refutes(found, keys, given)
                    seen.add(found is None)
    assert seen == {True, False}


@pytest.mark.parametrize("offsets", [True, False])
@pytest.mark.parametrize("r", [4, 9, 18])
def test_every_head_below_the_bound_has_a_certificate_that_checks(r, offsets):
    rng = np.random.default_rng(3)
    for d in range(1, bound(r, offsets)):
        keys, shift = rng.standard_normal((r, d)), rng.standard_normal(r)
        given = shift if offsets else None
        assert refutes(impossible(keys, given), keys, given)


def test_a_certificate_that_breaks_any_condition_is_not_accepted():
    """keys 0, 1, 2, 7 and offsets 0, 1, 0, 100 with (1, -2, 1, 0), alive 1, 3, 4, as above, is one. Then: zero weights; sum not 0
    (keys 0 and 1 alone: 0*2 + ...); keys not cancelled; the offsets' sum positive; a positive weight on a dead key; the last key
    dead.
    """
    keys, offsets = [[0], [1], [2], [7]], [0, 1, 0, 100]
    good = Impossible((1, -2, 1, 0), (1, 3, 4))
    assert refutes(good, keys, offsets)
    assert not refutes(replace(good, weights=(0, 0, 0, 0)), keys, offsets)
    assert not refutes(replace(good, weights=(1, 0, 0, 0)), keys, offsets)
    assert not refutes(replace(good, weights=(1, -1, 0, 0)), keys, offsets)
    assert not refutes(Impossible((-1, 2, -1, 0), (2, 4)), keys, offsets)
    assert not refutes(replace(good, alive=(3, 4)), keys, offsets)
    assert not refutes(replace(good, alive=(1, 2, 3, 4)), keys, offsets)
    assert not refutes(replace(good, alive=(1, 3)), keys, offsets)


def test_a_certificate_spares_the_last_key_where_it_can():
    """Keys 0, 1, 2, 7 without offsets: two independent dependencies; the one that spares key 4 is 1 -2 1 0, in either sign."""
    assert impossible([[0], [1], [2], [7]]).weights in ((1, -2, 1, 0), (-1, 2, -1, 0))


def test_weights_are_coprime_where_the_minors_are_not():
    """Keys 1, 3, 5: the 2 x 2 minors of [k | 1] are -2, -4, -2, so 1 -2 1 after division by 2."""
    assert impossible([[1], [3], [5], [0]]).weights in ((1, -2, 1, 0), (-1, 2, -1, 0))


def test_weights_are_coprime_integers_even_for_fractional_keys():
    found = impossible([[Fraction(1, 3)], ["2/3"], [0.0]])
    assert found == Impossible((-2, 1, 1), (2, 3))

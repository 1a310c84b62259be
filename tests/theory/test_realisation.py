"""Realisable sets against three independent methods: closed forms, linear programs, and a sweep over all queries in one dimension."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from attnprobe.theory.heads import degenerate, generic, moment_curve
from attnprobe.theory.rank import ceiling, refutes
from attnprobe.theory.realisation import realise


def words(table):
    return np.flatnonzero(table).tolist()


def by_sweep(keys, offsets):
    """The words that a head of one dimension realises: logits change order only where two cross, so one query between each two
    crossings, and each threshold, is all there is. keys, offsets: r rationals.
    """
    r = len(keys)
    crossings = {(offsets[b] - offsets[a]) / (keys[a] - keys[b]) for a in range(r) for b in range(a) if keys[a] != keys[b]}
    cuts = sorted(crossings) or [Fraction(0)]
    queries = [cuts[0] - 1, *((a + b) / 2 for a, b in itertools.pairwise(cuts)), cuts[-1] + 1]
    found = set()
    for q in queries:
        logits = [q * k + o for k, o in zip(keys, offsets, strict=True)]
        for theta in {x for x in logits if x <= logits[-1]}:
            found.add(sum(1 << s for s in range(r - 1) if logits[s] < theta))
    return sorted(found)


def by_programs(keys, offsets):
    """The words for which q, theta and a scale c >= 0 of the offsets give logits >= theta + 1 on alive keys, <= theta - 1 on dead
    ones.
    """
    r, d = keys.shape
    shift = np.zeros(r) if offsets is None else np.asarray(offsets, float)
    found = []
    for word in range(1 << (r - 1)):
        side = np.array([-1.0 if word >> s & 1 else 1.0 for s in range(r)])
        rows = -side[:, None] * np.column_stack([keys, -np.ones(r), shift])
        bounds = [(None, None)] * (d + 1) + [(0, None)]
        if linprog(np.zeros(d + 2), A_ub=rows, b_ub=-np.ones(r), bounds=bounds, method="highs").status == 0:
            found.append(word)
    return found


def test_keys_that_repeat_live_and_die_together():
    """Keys 1, 1, 0: logits q, q, 0. q > 0 leaves both alive with theta < 0 (word 00); q < 0 leaves both dead with theta between
    (11).
    """
    assert words(realise([[1], [1], [0]]).table) == [0b00, 0b11]


def test_zero_keys_leave_the_order_of_the_offsets():
    """Logits are the offsets 1, -1, 0: theta below -1 keeps all (00), between -1 and 0 kills key 2 alone (10); above 0 the last
    would be dead.
    """
    assert words(realise([[0], [0], [0]], [1, -1, 0]).table) == [0b00, 0b10]


def test_a_tie_with_the_last_key_can_not_be_cut():
    """Zero keys, offsets 0, 0: both logits 0 whatever the query; only 'both alive' is left. One offset lower by 2^-60 frees the
    other set.
    """
    assert words(realise([[0], [0]], [0.0, 0.0]).table) == [0]
    assert words(realise([[0], [0]], [-(2.0**-60), 0.0]).table) == [0, 1]


def test_one_unit_in_the_last_place_is_enough_to_tell_keys_apart():
    """Keys 1, 1 + 2^-52, 2: on a line every cut {prefix | suffix} with key 3 alive: none, 1, and 1, 2 dead. The middle key is no
    longer a copy.
    """
    assert words(realise([[1.0], [1.0 + 2.0**-52], [2.0]]).table) == [0b00, 0b01, 0b11]
    assert words(realise([[1.0], [1.0], [2.0]]).table) == [0b00, 0b11]


def test_a_single_key_is_always_alive():
    head = realise([[0]], [3])
    assert (head.count, head.realised(0), head.first_impossible) == (1, True, None)


@pytest.mark.parametrize("r", [1, 2, 3, 5, 6, 7, 8, 9])
def test_the_moment_curve_attains_the_ceiling(r):
    for d in range(1, r + 2):
        keys, offsets = moment_curve(r, d)
        assert realise(keys, offsets).count == ceiling(r, d, True)
        assert realise(keys).count == ceiling(r, d, False)


@pytest.mark.parametrize(("r", "with_offsets", "without"), [(6, 32, 31), (10, 382, 256), (14, 2380, 1093), (18, 9402, 3214)])
def test_gaussian_heads_of_four_dimensions_realise_the_published_counts(r, with_offsets, without):
    rng = np.random.default_rng(r)
    keys, offsets = rng.standard_normal((r, 4)), rng.standard_normal(r)
    offsets[-1] = 1e9
    assert realise(keys, offsets).count == with_offsets
    assert realise(keys).count == without


def test_every_word_agrees_with_a_sweep_over_all_queries_in_one_dimension():
    rng = np.random.default_rng(1)
    for r in (2, 3, 5, 7, 9):
        for _, keys, offsets in [*degenerate(rng, r, 1), ("generic", *generic(rng, r, 1))]:
            flat, shift = [Fraction(int(k[0])) for k in keys], [Fraction(int(o)) for o in offsets]
            assert words(realise(keys, offsets).table) == by_sweep(flat, shift)
            assert words(realise(keys).table) == by_sweep(flat, [Fraction(0)] * r)


@pytest.mark.parametrize(("r", "d"), [(4, 2), (5, 2), (6, 3), (5, 6)])
def test_every_word_agrees_with_linear_programs(r, d):
    for _, keys, offsets in degenerate(np.random.default_rng(r), r, d):
        assert words(realise(keys, offsets).table) == by_programs(keys, offsets)
        assert words(realise(keys).table) == by_programs(keys, None)


def test_no_head_is_above_its_ceiling_and_the_last_offset_matters():
    rng = np.random.default_rng(2)
    below = 0
    for r, d in [(5, 1), (7, 2), (8, 3), (9, 4), (9, 12)]:
        for _, keys, offsets in [*degenerate(rng, r, d), ("normal", rng.standard_normal((r, d)), rng.standard_normal(r))]:
            count = realise(keys, offsets).count
            assert count <= ceiling(r, d, True)
            assert realise(keys).count <= ceiling(r, d, False)
            below += count < ceiling(r, d, True)
    assert below > 10


def test_the_first_impossible_set_is_the_lowest_word_and_its_certificate_checks():
    rng = np.random.default_rng(3)
    for r, d in [(3, 1), (6, 2), (8, 3), (9, 5)]:
        for _, keys, offsets in degenerate(rng, r, d):
            for given in (offsets, None):
                head = realise(keys, given)
                if head.count == 2 ** (r - 1):
                    assert head.first_impossible is None
                    continue
                word = words(~head.table)[0]
                alive = tuple(s + 1 for s in range(r) if not word >> s & 1)
                assert head.first_impossible.alive == alive
                assert refutes(head.first_impossible, keys, given)


def test_what_changes_no_order_of_logits_changes_no_set():
    """Moving all keys by one vector adds one number to all logits; an invertible map of the keys is undone in the query; adding a
    linear function of the keys to the offsets is too; a positive scale of the offsets and a query of that scale is one of all
    logits.
    """
    rng = np.random.default_rng(4)
    keys, offsets = rng.integers(-2, 3, (9, 3)), rng.integers(-9, 10, 9)
    table = realise(keys, offsets).table
    turn = np.array([[2, 1, 0], [0, 1, 3], [1, 0, 1]])  # determinant 5
    for other, shift in [
        (keys + np.array([5, -7, 11]), offsets),
        (keys @ turn, offsets),
        (keys * np.array([2.0**-200, 1, 2.0**300]), offsets),
        (keys, offsets + keys @ [3, -1, 2] + 8),
        (keys, offsets * 2.0**-90),
        (np.column_stack([keys, keys @ [1, 2, 3], np.full(9, 4)]), offsets),
    ]:
        assert (realise(other, shift).table == table).all()
    assert not table.all()


def test_permuting_the_free_keys_permutes_the_bits():
    rng = np.random.default_rng(5)
    keys, offsets = rng.standard_normal((8, 2)), rng.standard_normal(8)
    order = rng.permutation(7)
    table = realise(keys, offsets).table
    moved = realise(keys[[*order, 7]], offsets[[*order, 7]]).table
    for word in range(128):
        assert moved[sum((word >> order[i] & 1) << i for i in range(7))] == table[word]


def test_floats_strings_and_fractions_give_one_table():
    rng = np.random.default_rng(6)
    keys, offsets = rng.standard_normal((7, 2)), rng.standard_normal(7)
    exact = [[str(Fraction(x)) for x in row] for row in keys.tolist()]
    assert (realise(exact, [Fraction(x) for x in offsets.tolist()]).table == realise(keys, offsets).table).all()


def test_large_heads_of_every_width_are_answered_exactly():
    """r = 18 with keys of scales 2^-30 to 2^30: general position, so without offsets Cover's count; at d >= 17 all sets."""
    rng = np.random.default_rng(7)
    for d in (3, 9, 15, 17, 20):
        keys = np.ldexp(rng.standard_normal((18, d)), rng.integers(-30, 30, (18, d)))
        assert realise(keys).count == ceiling(18, d, False)


def test_a_word_out_of_range_and_too_many_rungs_are_refused():
    with pytest.raises(ValueError, match=r"word must be in 0\.\.3 for r = 3, got 4"):
        realise([[1], [2], [0]]).realised(4)
    with pytest.raises(ValueError, match="keys must be at most 20 rows"):
        realise(np.zeros((21, 1)))

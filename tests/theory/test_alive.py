"""Alive sets: the vectorised forms against the definition, and the ladder by hand."""

import itertools

import numpy as np
import pytest

from attnprobe.theory.alive import alive_at_end, alive_set, depths, ladder, ladder_alive, ladder_levels


def test_a_key_dies_when_a_later_field_falls_below_its_level():
    """Fields 0 2 1 2 0, levels the same. At t = 2: key 1 (level 2) saw field 1 < 2, dead; key 0 (level 0) saw 2, 1, alive. At t = 4:
    field 0 is below levels 1 and 2, so keys 1, 2, 3 are dead; key 0 has level 0, alive on equality.
    """
    walk = [0, 2, 1, 2, 0]
    assert alive_set(walk, walk, 2) == (0, 2)
    assert alive_set(walk, walk, 3) == (0, 2, 3)
    assert alive_set(walk, walk, 4) == (0, 4)


def test_level_and_field_are_told_apart():
    """phi = 5 1, psi = 2 9: key 0 has level 2 and later field 1, so it is dead at depth 1 - 2 = -1; its own field 5 and psi_1 = 9 do
    not count.
    """
    assert alive_set([5, 1], [2, 9], 1) == (1,)
    assert depths([[5, 1]], [[2, 9]])[0].tolist() == [[0, 0], [-1, 0]]


def test_depths_are_zero_exactly_on_the_alive_keys_of_free_fields_and_levels():
    rng = np.random.default_rng(0)
    phi, psi = rng.integers(-3, 4, (2, 40, 7))
    depth = depths(phi, psi)
    for n, t in itertools.product(range(40), range(7)):
        alive = alive_set(phi[n].tolist(), psi[n].tolist(), t)
        assert tuple(np.flatnonzero(depth[n, t, : t + 1] == 0)) == alive
        assert not depth[n, t, t + 1 :].any()


def test_suffix_minima_agree_with_the_definition_on_random_walks():
    levels = np.cumsum(np.random.default_rng(1).integers(-1, 2, (12, 50)), axis=0).astype(np.int8)
    alive = alive_at_end(levels)
    for n in range(50):
        walk = levels[:, n].tolist()
        assert tuple(np.flatnonzero(alive[:, n])) == alive_set(walk, walk, 11)


def test_the_ladder_of_one_dip_by_hand():
    """Word (dip, no dip): +1 | -1 +1 | +1 | +1 -1 | +1, levels 1 0 1 2 3 2 3, keys at 0, 3, 6. Key 1 (level 1) saw 0, dead; key 2
    (level 2) saw 3, 2, 3, alive; key 3 is last.
    """
    steps, levels, positions = ladder((1, 0))
    assert steps == [1, -1, 1, 1, 1, -1, 1]
    assert levels == [1, 0, 1, 2, 3, 2, 3]
    assert positions == [0, 3, 6]
    assert [s for s in positions if s in alive_set(levels, levels, 6)] == [3, 6]


@pytest.mark.parametrize("r", [2, 3, 7])
def test_every_word_has_the_same_steps_and_key_positions_and_the_vectorised_walk_is_the_same(r):
    words = np.arange(1 << (r - 1))
    table = ladder_levels(words, r)
    seen = set()
    for word in words:
        steps, levels, positions = ladder([word >> i & 1 for i in range(r - 1)])
        assert table[:, word].tolist() == levels
        seen.add((tuple(sorted(steps)), tuple(positions)))
    assert len(seen) == 1


def test_bit_sets_of_the_ladder_are_the_words_complement_with_the_last_key():
    """r = 4, word 0b001: block 1 dips, key 1 is dead, keys 2, 3, 4 alive: 0b1110."""
    assert ladder_alive(ladder_levels(np.array([0b001, 0b000, 0b111]), 4)).tolist() == [0b1110, 0b1111, 0b1000]

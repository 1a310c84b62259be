"""Counts of walks and halfspaces by hand and against brute force, chains of strengths, and the evidence of heads."""

import doctest
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from attnprobe.theory import halfspaces, heads, programs, rank, walks
from attnprobe.theory.alive import alive_set
from attnprobe.theory.claims import t2_families, t7_strengths, t8_bits


def test_walks_are_all_words_of_the_steps_from_zero():
    assert walks.walks(2, (-1, 1)).tolist() == [[0, -1, -2], [0, -1, 0], [0, 1, 0], [0, 1, 2]]
    assert walks.walks(3).shape == (27, 4)


def test_the_families_of_two_steps_by_hand():
    """Alive sets at t = 1, 2 of the nine walks: a fall kills what is above the new level. +-: {01}, {02}; ++, +0, 0+, 00: {01}, {012};
    0-: {01}, {2}; -0, -+: {1}, {12}; --: {1}, {2}. Five families, and 5 is C_3 and the number of Motzkin prefixes of length 2.
    """
    W = walks.walks(2)
    by_definition = {tuple(alive_set(w, w, t) for t in range(3)) for w in W.tolist()}
    assert len(by_definition) == walks.distinct(walks.families(W)) == walks.catalan(3) == walks.motzkin_prefixes(2) == 5


def test_families_by_bits_are_families_by_definition():
    for T, steps in ((4, (-1, 0, 1)), (4, (-2, -1, 0, 1, 2)), (6, (-1, 1))):
        W = walks.walks(T, steps)
        assert walks.distinct(walks.families(W)) == len({tuple(alive_set(w, w, t) for t in range(T + 1)) for w in W.tolist()})


def test_published_counts():
    assert [walks.catalan(n) for n in range(7)] == [1, 1, 2, 5, 14, 42, 132]
    assert [walks.motzkin_prefixes(n) for n in range(12)] == [1, 2, 5, 13, 35, 96, 267, 750, 2123, 6046, 17303, 49721]
    assert [t2_families.odd_runs(T) for T in range(1, 9)] == [2, 4, 7, 13, 23, 42, 75, 136]
    assert [len(list(t2_families.stacks(T))) for T in range(1, 6)] == [2, 5, 14, 42, 132]


def test_the_family_that_steps_up_to_two_miss_at_four_steps():
    """Of the 42, one is missed: sizes 1 2 3 2 1. Keys 0, 1, 2 at levels 0, a, b; key 3 kills key 2 alone, key 4 all that are left."""
    missed = [sizes for sizes in t2_families.stacks(4) if not t2_families.reachable(sizes, 2)]
    assert len(missed) == 1
    walked = set()
    for w in walks.walks(4, (-2, -1, 0, 1, 2)).tolist():
        walked.add(tuple(len(alive_set(w, w, t)) for t in range(5)))
    assert missed[0] not in walked
    assert len(walked) == 41


@pytest.mark.parametrize(("n", "count"), [(1, 2), (2, 14), (3, 58), (4, 174), (8, 2566)])
def test_planar_halfspaces_are_the_known_numbers(n, count):
    """Twice 1, 7, 29, 87, ..., 1283 (OEIS A114043)."""
    assert halfspaces.count_planar(n) == count


@pytest.mark.parametrize(("d", "p", "count"), [(1, 2, 8), (2, 1, 14), (3, 1, 104), (2, 2, 174), (4, 1, 1882)])
def test_halfspaces_are_as_many_listed_as_counted(d, p, count):
    """14, 104 and 1882: threshold functions of 2, 3, 4 variables. Each complement is one too."""
    listed = halfspaces.halfspaces(d, p)
    everything = (1 << 2 ** (d * p)) - 1
    assert len(listed) == halfspaces.count_circuits(d, p) == count
    assert {everything ^ half for half in listed} == listed


def test_littlestone_dimensions_by_hand():
    """One function: 0. All subsets of n points: n. Singletons of n points, with or without the empty set: 1. Prefixes of 4 points: 2."""
    assert halfspaces.littlestone({5}, 3) == 0
    assert halfspaces.littlestone(set(range(8)), 3) == 3
    assert halfspaces.littlestone({1, 2, 4, 8}, 4) == halfspaces.littlestone({0, 1, 2, 4, 8}, 4) == 1
    assert halfspaces.littlestone({0, 1, 3, 7, 15}, 4) == 2


def test_littlestone_dimensions_against_the_definition_on_random_families():
    def dimension(family, points):
        splits = [({f for f in family if f >> i & 1}, {f for f in family if not f >> i & 1}) for i in range(points)]
        return max((1 + min(dimension(a, points), dimension(b, points)) for a, b in splits if a and b), default=0)

    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 9, 14):
        family = set(rng.integers(0, 32, size).tolist())
        assert halfspaces.littlestone(family, 5) == dimension(family, 5)


def test_the_longest_chain_against_brute_force():
    def linked(D, p, q):
        return abs(D[p]) <= sum(abs(x) for x in D[p + 1 : q])

    rng = np.random.default_rng(1)
    for _ in range(60):
        D = rng.integers(-3, 4, 6).tolist()
        sets = [c for size in range(1, 7) for c in itertools.combinations(range(6), size)]
        most = max(len(c) for c in sets if all(linked(D, p, q) for p, q in itertools.pairwise(c)))
        found = t7_strengths.chain(D)
        assert len(found) == most
        assert all(linked(D, p, q) for p, q in itertools.pairwise(found))


def test_a_word_that_equal_strengths_do_not_realise_by_hand():
    """r = 4, d = 0 (one zero key coordinate), offsets 0 0 0 9, strength 1: chain 1, 3, so lambda = 1, 0, -1 up to sign. The word in which
    keys 2 and 3 dip and key 1 does not: offsets -2, -2, -1, 9, so key 1, alive, is below key 3, dead.
    """
    dips, found = t7_strengths.impossible_word([[0], [0], [0], [0]], [0, 0, 0, 9], [1, 1, 1])
    assert t7_strengths.under([0, 0, 0, 9], [1, 1, 1], [False, True, True]) == [-2, -2, -1, 9]
    left = t7_strengths.under([0, 0, 0, 9], [1, 1, 1], dips)
    assert rank.refutes(found, [[0], [0], [0], [0]], left)
    assert [s for s, dip in enumerate([*dips, False], 1) if not dip] == list(found.alive)
    assert t7_strengths.impossible_word([[0], [1], [2], [0]], [0, 0, 0, 9], [1, 1, 1]) is None


def test_a_query_of_two_coordinates_by_hand():
    """r = 6, p = 2: rung 2 is the oldest alive one; after it 3 is dead, 4 alive, 5 dead: bits 1 0 | 1 and a 0, so 1 + 2 twice."""
    assert t8_bits.ask((1, 0, 1, 0, 1), 2) == (3, 3)
    assert t8_bits.ask((1, 1, 1), 2) == (1,)
    assert t8_bits.key(2, (1, 1), 6, 2) is None
    assert t8_bits.key(5, (0, 0, 0, 0, 0), 6, 2) is None


def test_spread_words_are_different_and_no_two_of_their_bits_go_together():
    assert heads.spread(3).tolist() == [0, 1, 2, 3]
    words = heads.spread(18)
    assert len(set(words.tolist())) == 32
    bits = (words[:, None] >> np.arange(17)) & 1
    pairs = itertools.combinations(range(17), 2)
    assert all(len({(x, y) for x, y in zip(bits[:, a], bits[:, b], strict=True)}) == 4 for a, b in pairs)


def test_the_evidence_of_a_dependency_is_what_lambda_touches():
    """Keys 0, 1, 2, 7 with 1 -2 1 0, offsets 0, 1, 0, 100: the last key is left out, the sum over offsets is -2."""
    found = rank.Impossible((1, -2, 1, 0), (1, 3, 4))
    entry = rank.dependency(found, [[0], [1], [2], [7]], [0, 1, 0, 100])
    assert entry == {"keys": [["0"], ["1"], ["2"]], "lambda": ["1", "-2", "1"], "offsets": ["0", "1", "0"], "sum": "-2"}
    assert rank.dependency(rank.Impossible((-1, 2, -1, 0), (2, 4)), [[0], [1], [2], [7]])["lambda"] == ["1", "-2", "1"]


def test_a_linear_program_by_hand_and_one_that_the_solver_gives_up(monkeypatch):
    """Keys 1, 2, 0 on a line, key 1 dead: key 1 is the midpoint of the others, so the margin is 0; key 2 dead: any, so 1."""
    assert programs.greatest_margin([[1], [2], [0]], None, 0b01) == pytest.approx(0, abs=1e-9)
    assert programs.greatest_margin([[1], [2], [0]], None, 0b10) == pytest.approx(1)
    monkeypatch.setattr("scipy.optimize.linprog", lambda *args, **options: SimpleNamespace(status=4, message="numbers"))
    with pytest.raises(ArithmeticError, match="HiGHS: numbers"):
        programs.greatest_margin([[1], [2], [0]], None, 0)


def test_the_examples_of_these_files_run():
    assert [doctest.testmod(module)[:2] for module in (halfspaces, t7_strengths)] == [(0, 1), (0, 1)]

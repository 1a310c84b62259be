"""Windows, receptive fields and their recursions: against Python loops over sets, by hand, and against each other."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from attnprobe.theory import recursion, routing
from attnprobe.theory.draws import agreement, streams

SETTINGS = [
    (kind, w, causal, ring) for kind in routing.ROUTINGS for w in (2, 3, 5, 8) for causal in (False, True) for ring in (True, False)
]


def sees(slots, t, s, kind, w, causal, ring):
    """The contract's definition, word for word: p = sigma(t) - sigma(s) in [-hi, lo], lo = floor((w-1)/2), hi = w - 1 - lo, s <= t."""
    n = len(slots)
    if causal and kind == "swa":
        return 0 <= t - s < w
    lo = (w - 1) // 2
    hi = w - 1 - lo
    p = slots[t] - slots[s]
    inside = -hi <= p <= lo or (ring and (-hi <= p - n <= lo or -hi <= p + n <= lo))
    return inside and (s <= t or not causal)


def halves(kind, w):
    return [("sa", w // 2), ("swa", w - w // 2)] if kind == "sa+swa" else [(kind, w)]


@pytest.mark.parametrize(("kind", "w", "causal", "ring"), SETTINGS)
def test_masks_are_the_contract_s_definition(kind, w, causal, ring):
    rng = np.random.default_rng(0)
    for n in (8, 11):
        for window, (one, width) in zip(routing.windows(kind, w, causal, ring), halves(kind, w), strict=True):
            slots = window.slots(n, rng)
            expected = [[sees(slots, t, s, one, width, causal, ring) for s in range(n)] for t in range(n)]
            assert window.mask(slots).tolist() == expected
            assert sorted(slots.tolist()) == list(range(n))
            assert window.shuffled == (one == "sa") == (slots.tolist() != list(range(n)))


@pytest.mark.parametrize(("kind", "w", "causal", "ring"), SETTINGS)
def test_receptive_fields_are_those_of_a_loop_over_sets(kind, w, causal, ring):
    n = 19
    layers = routing.draw(routing.windows(kind, w, causal, ring), n, 4, np.random.default_rng(w))
    seen = [{t} for t in range(n)]
    for layer, bits in zip(layers, routing.fields(n, layers, np.arange(n)), strict=True):
        masks = [window.mask(slots) for window, slots in layer]
        seen = [set().union(*(seen[s] for mask in masks for s in range(n) if mask[t, s])) for t in range(n)]
        assert [{j for j in range(n) if int(bits[t, 0]) >> j & 1} for t in range(n)] == seen


@pytest.mark.parametrize("causal", [False, True])
def test_coverage_counts_the_sources_given_in_any_number_of_blocks(monkeypatch, causal):
    layers = routing.draw(routing.windows("sa", 6, causal), 150, 3, np.random.default_rng(1))
    whole = routing.coverage(150, layers)
    sources = np.arange(3, 150, 2)
    part = routing.coverage(150, layers, sources)
    monkeypatch.setattr(routing, "WORDS", 1)
    assert (routing.coverage(150, layers) == whole).all()
    assert (routing.coverage(150, layers, sources) == part).all()
    rest = routing.coverage(150, layers, np.setdiff1d(np.arange(150), sources))
    assert (part + rest == whole).all()


def test_a_window_by_hand():
    """w = 4: lo = 1, hi = 2. n = 6 in its own order: token 0 sees slots -1..2, so 5, 0, 1, 2 on the ring and 0, 1, 2 on the line."""
    ring, line = (routing.windows("swa", 4, ring=ring)[0] for ring in (True, False))
    assert (ring.lo, ring.hi) == (1, 2)
    assert np.flatnonzero(ring.mask(np.arange(6))[0]).tolist() == [0, 1, 2, 5]
    assert np.flatnonzero(line.mask(np.arange(6))[0]).tolist() == [0, 1, 2]
    (back,) = routing.windows("swa", 4, causal=True)
    assert np.flatnonzero(back.mask(np.arange(6))[4]).tolist() == [1, 2, 3, 4]


def test_a_layer_draws_a_fresh_order_and_a_seed_draws_the_same():
    first, again = (routing.draw(routing.windows("sa", 3), 20, 2, np.random.default_rng(5)) for _ in range(2))
    assert (first[0][0][1] == again[0][0][1]).all()
    assert (first[0][0][1] != first[1][0][1]).any()


def test_sources_are_spread_evenly_and_are_different_tokens():
    for n, count in ((100, 7), (128, 128), (1000, 64)):
        sources = routing.spread(n, count, np.random.default_rng(0))
        assert len(set(sources.tolist())) == count
        assert sources.min() >= 0
        assert sources.max() < n
        assert np.ptp(np.diff(sources)) <= 1
    assert {int(routing.spread(9, 3, np.random.default_rng(seed))[0]) for seed in range(30)} == {0, 1, 2}


def test_windows_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match=r"routing must be one of sa, swa, sa\+swa, got 'full'"):
        routing.windows("full", 4)
    with pytest.raises(ValueError, match=r"window must be at least 1, the token itself, got 0"):
        routing.windows("sa", 0)
    with pytest.raises(ValueError, match=r"window must be at least 2 for sa\+swa, half for each, got 1"):
        routing.windows("sa+swa", 1)
    with pytest.raises(ValueError, match="n must be at least the window, 9, got 8"):
        routing.draw(routing.windows("sa", 9), 8, 1, np.random.default_rng(0))


@pytest.mark.parametrize(("kind", "causal"), [("sa", False), ("sa", True), ("sa+swa", True)])
def test_a_record_is_enough_to_redo_the_fields(kind, causal):
    """Python integers for bit sets, the window taken round the ring slot by slot."""
    n = 30
    layers = routing.draw(routing.windows(kind, 6, causal), n, 3, np.random.default_rng(3))
    given = routing.record(n, layers)
    seen = [1 << t for t in range(n)]
    for orders, reached in zip(given["slots"], given["reached"], strict=True):
        after = [0] * n
        for (lo, hi, back), slots in zip(given["windows"], orders, strict=True):
            for t, s in itertools.product(range(n), repeat=2):
                if (slots[s] - slots[t] + lo) % n <= lo + hi and (s <= t or not back):
                    after[t] |= seen[s]
        seen = after
        assert sum(bits.bit_count() for bits in seen) == reached


def test_unions_of_windows_are_counted_as_brute_force_counts_them():
    n, w = 9, 3
    for M in range(1, n + 1):
        sizes = [len({(p + d) % n for p in chosen for d in range(w)}) for chosen in itertools.combinations(range(n), M)]
        assert recursion.union_sizes(n, w, M) == {u: sizes.count(u) for u in set(sizes)}
        assert recursion.union_mean(n, w, M) == Fraction(sum(sizes), len(sizes))


def test_the_recursion_of_means_starts_exactly():
    """After one layer w, after two n (1 - C(n-w, w) / C(n, w))."""
    sizes = recursion.reached(100, 7, 4)
    assert sizes[0] == pytest.approx(7)
    assert sizes[1] == pytest.approx(float(recursion.union_mean(100, 7, 7)))
    assert sizes[-1] == pytest.approx(100)
    assert recursion.reached(5, 5, 2) == [5.0, 5.0]
    assert recursion.reached(50, 1, 2) == pytest.approx([1, 1])


def test_causal_reach_is_its_product_taken_word_for_word():
    n, w = 12, 4
    q, u = (w - 1) / (n - 1), [1.0] + [0.0] * (n - 1)
    for found in itertools.islice(recursion.causal_reach(n, w), 4):
        u = [1.0] + [1 - (1 - u[D]) * math.prod(1 - q * u[e] for e in range(D)) for D in range(1, n)]
        assert found == pytest.approx(u)
    assert next(recursion.causal_reach(4, 4)).tolist() == [1, 1, 1, 1]


def test_coverage_of_pairs_and_of_tokens_by_hand():
    """u = 1, 1/2, 0 at n = 3: pairs 3 of distance 0, 2 of 1, 1 of 2: 4 of 6; tokens 1, 3/4, 1/2."""
    u = np.array([1, 0.5, 0])
    assert recursion.pair_coverage(u) == pytest.approx(4 / 6)
    assert recursion.token_coverage(u) == pytest.approx(2.25 / 3)


@pytest.mark.parametrize(("n", "w"), [(16, 3), (100, 99), (300, 2), (16384, 64)])
def test_neighbour_layers_is_the_least_that_expects_half_a_pair(n, w):
    missed = 1 - Fraction(w - 1, n - 1)
    L = recursion.neighbour_layers(n, w)
    assert (n - 1) * missed**L <= Fraction(1, 2) < (n - 1) * missed ** (L - 1)


def test_the_last_neighbour_s_law_has_its_median_and_mean():
    """Gumbel's: by the mean of many draws of the largest of n-1 geometric waits."""
    n, w = 200, 20
    median, mean = recursion.last_neighbour(n, w)
    waits = np.random.default_rng(0).geometric((w - 1) / (n - 1), (20000, n - 1)).max(1)
    assert np.median(waits) == pytest.approx(median, abs=1)
    assert waits.mean() == pytest.approx(mean, abs=0.5)


def test_the_mean_layer_of_full_coverage_is_a_little_after_the_last_neighbour():
    """n = 2: the one pair is seen with chance q = (w-1)/(n-1) = 1 at layer 1. n = 512, w = 32: 109.46 against 108.87 + 1/2."""
    assert recursion.mean_full(2, 2) == 1
    _, mean = recursion.last_neighbour(512, 32)
    assert mean < recursion.mean_full(512, 32) < mean + 0.2


def test_the_first_moment_estimate_by_hand():
    """2 n ln n at n = 4096 is 68140: log_41 is 2.996, so 3; at n = 1024 14196, log_24 is 3.008, so 4."""
    assert (recursion.first_moment(4096, 41), recursion.first_moment(1024, 24)) == (3, 4)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("w", [1, 2, 5, 7])
def test_a_sliding_window_s_share_is_exact(w, causal):
    n = 23
    pairs = n * (n + 1) / 2 if causal else n * n
    layers = routing.draw(routing.windows("swa", w, causal), n, 8, np.random.default_rng(0))
    expected = routing.coverage(n, layers).sum(1) / pairs
    assert recursion.shares("swa", n, w, 8, causal) == pytest.approx(expected.tolist())


def test_shares_come_from_the_recursion_of_their_routing():
    assert recursion.shares("sa+swa", 100, 8, 3, True) is None
    assert recursion.shares("sa", 100, 8, 3, False) == [M / 100 for M in recursion.reached(100, 8, 3)]
    states = itertools.islice(recursion.causal_reach(100, 8), 3)
    assert recursion.shares("sa", 100, 8, 3, True) == [recursion.pair_coverage(u) for u in states]


def test_draws_agree_within_four_standard_errors_and_the_slack():
    """1, 3 alternating: mean 2, variance 8/7, standard error sqrt(1/7) = .378, so 4 of them are 1.512."""
    samples = [1, 3] * 4
    for expected, slack, agrees in ((3.51, 0, True), (3.52, 0, False), (3.52, 0.01, True), (0.48, 0, False)):
        holds, mean, error = agreement(samples, expected, slack)
        assert holds is agrees
        assert (mean, error) == (2.0, pytest.approx(math.sqrt(1 / 7)))


def test_streams_are_eight_different_ones_by_their_path():
    numbers = {path: [rng.integers(1 << 60) for rng in streams(*path)] for path in ((1, 2), (1, 3))}
    assert len(set(numbers[1, 2]) | set(numbers[1, 3])) == 16
    assert numbers[1, 2] == [rng.integers(1 << 60) for rng in streams(1, 2)]

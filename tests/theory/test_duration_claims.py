"""Aggregates, conjunctions, sums of dips and special cases: against brute force, and refuted when a definition is broken."""

import itertools
from fractions import Fraction

import networkx
import numpy as np
import pytest

from attnprobe.theory import aggregates, conjunctions
from attnprobe.theory.alive import depths
from attnprobe.theory.claim import catalogue, load, verify
from attnprobe.theory.claims import special_cases, t12_aggregates, t13_min, t14_duration

right = special_cases.bias


def largest(delta, g, h, s, t, least=min):
    return -right(*([-x for x in values] for values in (delta, g, h)), s, t, least)


def without_its_neighbour(delta, g, h, s, t, least=min):
    return right(delta, g, h, s, t, least) if t - s > 1 else 0


def lower_levels(delta, g, h, s, t, least=min):
    return right(delta, g, [x - 1 for x in h], s, t, least)


BREAKS = [
    ("T12-minmax", "claims.t12_aggregates.endpoints", lambda x: (min(x), min(x))),
    ("T12-minmax", "claims.t12_aggregates.endpoints", lambda x: (min(x), x[-1])),
    ("T12-minmax", "claims.t12_aggregates.AXIOMS", ("monotony", "repetition")),
    ("T12-minmax", "claims.t12_aggregates.AXIOMS", ("symmetry", "monotony")),
    ("T12-min", "claims.t12_aggregates.endpoints", lambda x: (max(x), max(x))),
    ("T12-count", "claims.t12_aggregates.plane_partitions", lambda n, m: aggregates.plane_partitions(n, m + 1)),
    ("T12-needed", "claims.t12_aggregates.NEEDED", {"symmetry": (max, (0, 1), (1, 0))}),
    ("T12-needed", "claims.t12_aggregates.NEEDED", {"symmetry": (lambda x: x[-1], (0, 1), (0, 1))}),
    ("T13-min", "claims.t13_min.lowest", lambda n: [[max(0, x + y - n + 1) for y in range(n)] for x in range(n)]),
    ("T13-min", "conjunctions.idempotent", lambda table: True),
    ("T13-count", "claims.t13_min.lowest", lambda n: [[max(x, y) for y in range(n)] for x in range(n)]),
    ("T13-count", "conjunctions.associative", lambda table: True),
    ("T13-count", "conjunctions.commutative_count", lambda n: 2**n),
    ("T14-residual", "claims.t14_duration.best_weight", lambda durations: Fraction(len(durations), sum(durations))),
    ("T14-residual", "claims.t14_duration.fitted", lambda w, m: abs(w * m - 1)),
    ("T14-symbols", "claims.t14_duration.fitted", lambda w, m: (w * m * m - 1) ** 2),
    ("T14-softmin", "claims.t14_duration.soft", lambda q, x: q ** max(x)),
    ("special-integers", "claims.special_cases.bias", largest),
    ("special-integers", "claims.special_cases.bias", without_its_neighbour),
    ("special-integers", "claims.special_cases.bias", lower_levels),
    ("special-symbols", "claims.special_cases.bias", without_its_neighbour),
]


@pytest.mark.parametrize(("name", "target", "broken"), BREAKS, ids=lambda x: x if isinstance(x, str) else "")
def test_a_claim_about_duration_is_refuted_when_a_definition_is_broken(refute, name, target, broken):
    refute(name, target, broken)


@pytest.mark.parametrize("axioms", [aggregates.AXIOMS, ("monotony", "top"), ("repetition",), ()])
def test_components_are_those_of_the_axioms_taken_word_for_word(axioms):
    """networkx on every pair of sequences that an axiom relates, not only on the single steps that generate them."""
    nodes = aggregates.paths(3, 3)
    related = {
        "symmetry": lambda x, y: sorted(x) == sorted(y),
        "monotony": lambda x, y: len(x) == len(y) and all(a <= b for a, b in zip(x, y, strict=True)),
        "repetition": lambda x, y: [k for k, _ in itertools.groupby(x)] == [k for k, _ in itertools.groupby(y)],
        "top": lambda x, y: bool(set(x + y) - {2}) and [v for v in x if v < 2] == [v for v in y if v < 2] and bool(set(x) - {2}),
    }
    graph = networkx.DiGraph((x, y) for x, y in itertools.product(nodes, repeat=2) for axiom in axioms if related[axiom](x, y))
    graph.add_nodes_from(nodes)
    ours = {}
    for x, label in zip(nodes, aggregates.components(nodes, 3, axioms), strict=True):
        ours.setdefault(label, set()).add(x)
    theirs = list(networkx.strongly_connected_components(graph))
    if "top" in axioms:
        tops = {(2,) * k for k in (1, 2, 3)}
        theirs = [part for part in theirs if not part & tops] + [tops]
    assert sorted(map(sorted, ours.values())) == sorted(map(sorted, theirs))


def test_aggregates_are_counted_as_brute_force_counts_them():
    """n = 2, m = 2 and 3, length <= 2: all m^6 functions of the 6 sequences, tested on every pair."""
    nodes = aggregates.paths(2, 2)
    for m in (2, 3):
        count = 0
        for values in itertools.product(range(m), repeat=6):
            f = dict(zip(nodes, values, strict=True))
            equal = f[0, 1] == f[1, 0] and f[(0,)] == f[0, 0] and f[(1,)] == f[1, 1]
            count += equal and f[0, 0] <= f[0, 1] <= f[1, 1]
        assert aggregates.aggregates(2, m, 2) == count == aggregates.plane_partitions(2, m)


def test_conjunctions_are_those_that_brute_force_finds():
    """All 3^9 tables on 3 elements, and all 4^9 that already have the neutral top on 4."""
    for n in (3, 4):
        top = n - 1
        found = []
        for inner in itertools.product(range(n), repeat=top * top):
            table = [[*inner[top * x : top * x + top], x] for x in range(top)] + [list(range(n))]
            array = np.array(table)
            if (np.diff(array, axis=0) >= 0).all() and (np.diff(array, axis=1) >= 0).all():
                found.append(table)
        assert found == list(conjunctions.tables(n))
        whole = [table for table in found if np.array_equal(table, np.transpose(table)) and conjunctions.associative(table)]
        assert whole == list(conjunctions.t_norms(n))


def test_a_partial_table_is_associative_as_far_as_it_goes():
    """0 * 0 = 1, 1 * 0 = 0 and 0 * 1 = 1: (0*0)*0 = 1*0 = 0, but 0*(0*0) = 0*1 = 1. With 0 * 1 open nothing contradicts."""
    assert not conjunctions.associative([[1, 1], [0, 1]])
    assert conjunctions.associative([[1, None], [0, 1]])


def test_counts_grow_as_published():
    found = verify(load(catalogue()["T13-count"]), n=7)
    assert found.evidence[0]["counts"] == [1, 1, 2, 6, 22, 94, 451]
    assert found.cases == 577
    assert verify(load(catalogue()["T13-min"]), n=5).evidence[0]["counts"] == [1, 1, 2, 11, 170]
    assert [conjunctions.commutative_count(n) for n in range(1, 8)] == [1, 1, 2, 7, 42, 429, 7436]


def test_sequences_and_classes_are_counted():
    """1, 2, 3, 4 elements have 5, 62, 363, 1364 sequences of length <= 5 (4 + 16 + 64 + 256 + 1024), and 1, 3, 6, 10 pairs min <= max."""
    found = verify(load(catalogue()["T12-minmax"]), n=4)
    assert found.evidence == ({"classes": [1, 3, 6, 10]},)
    assert found.cases == 5 + 62 + 363 + 1364
    assert verify(load(catalogue()["T12-min"]), n=4).evidence[0]["classes"] == [1, 2, 3, 4]


def test_the_best_weight_and_the_residual_are_least_squares():
    for durations in ((1, 2), (1, 3, 4), (5,)):
        pairs = list(itertools.product((1, 2, 4), durations))
        x, y = np.array([[d * m] for d, m in pairs], float), np.array([float(d) for d, _ in pairs])
        (w,), residual, _, _ = np.linalg.lstsq(x, y)
        assert w == pytest.approx(float(t14_duration.best_weight(durations)))
        assert float(((x[:, 0] * w - y) ** 2).sum()) == pytest.approx(float(t14_duration.closed_residual((1, 2, 4), durations)), abs=1e-12)
        assert residual.size == 1


def test_durations_of_one_and_two_leave_a_fifth():
    assert t14_duration.best_weight((1, 2)) == Fraction(3, 5)
    assert t14_duration.closed_residual((1, 2, 3), (1, 2)) == Fraction(14, 5)


def test_the_bias_of_the_special_cases_is_the_depth_of_forgetting_by_path():
    rng = np.random.default_rng(0)
    for _ in range(20):
        delta, g, h = rng.integers(-3, 4, (3, 6))
        W = np.cumsum(delta)
        depth = depths((W + g)[None], (W + h)[None])[0]
        assert all(special_cases.bias(delta, g, h, s, t) == depth[t, s] for t in range(6) for s in range(t + 1))


def test_special_cases_count_the_published_identities():
    """3 identities, 4^5 sequences, 15 pairs."""
    assert verify(load(catalogue()["special-integers"])).cases == 3 * 4**5 * 15 == 46080


def test_min_is_the_lowest_table():
    assert t13_min.lowest(3) == [[0, 0, 0], [0, 1, 1], [0, 1, 2]]
    assert t12_aggregates.endpoints((2, 0, 1)) == (0, 2)

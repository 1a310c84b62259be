"""Graph metrics against networkx, and closed forms against measured ones."""

import math

import networkx
import numpy as np
import pytest

from attnprobe.theory import small_world


def graphs():
    rng = np.random.default_rng(0)
    yield small_world.ring_lattice(30, 6, rng.permutation(30))
    yield small_world.union(small_world.ring_lattice(40, 4), small_world.ring_lattice(40, 2, rng.permutation(40)))
    yield small_world.random_regular(30, 4, rng)
    yield small_world.random_edges(25, 60, rng)


@pytest.mark.parametrize("number", range(4))
def test_metrics_are_networkx_s(number):
    made = list(graphs())[number]
    theirs = networkx.from_scipy_sparse_array(made)
    assert networkx.is_connected(theirs)
    assert small_world.clustering(made) == pytest.approx(networkx.average_clustering(theirs))
    assert small_world.mean_path(made) == pytest.approx(networkx.average_shortest_path_length(theirs))
    assert small_world.mean_degree(made) == pytest.approx(2 * theirs.number_of_edges() / made.shape[0])
    assert (made != made.T).nnz == 0
    assert not made.diagonal().any()
    assert set(made.data.tolist()) == {1}


def test_paths_from_some_nodes_are_their_mean_distance_and_leave_out_what_they_do_not_reach():
    """Two triangles and a lone node 3: from nodes 0 and 4 two neighbours each, at distance 1; from the lone node none."""
    made = small_world.graph(7, np.array([[0, 1], [1, 2], [2, 0], [4, 5], [5, 6], [6, 4], [3, 3], [0, 1]]))
    assert small_world.mean_path(made, np.array([0, 3, 4])) == 1
    assert small_world.clustering(made) == pytest.approx(6 / 7)
    assert small_world.mean_degree(made) == pytest.approx(12 / 7)


def test_paths_from_more_than_one_block_of_nodes_are_counted_together():
    """A line of n nodes has mean distance (n+1)/3; from its first 300 nodes, node i's is (i (i+1) + (n-1-i) (n-i)) / 2 / (n-1)."""
    n = 600
    line = small_world.graph(n, np.column_stack([np.arange(n - 1), np.arange(1, n)]))
    i = np.arange(300)
    assert small_world.mean_path(line) == pytest.approx((n + 1) / 3)
    assert small_world.mean_path(line, i) == pytest.approx(((i * (i + 1) + (n - 1 - i) * (n - i)) / 2 / (n - 1)).mean())


@pytest.mark.parametrize(("n", "k"), [(20, 4), (21, 6), (64, 8), (65, 10)])
def test_a_lattice_s_closed_forms_are_what_networkx_measures(n, k):
    theirs = networkx.watts_strogatz_graph(n, k, 0)
    assert small_world.lattice_clustering(k) == pytest.approx(networkx.average_clustering(theirs))
    assert small_world.lattice_path(n, k) == pytest.approx(networkx.average_shortest_path_length(theirs))
    assert networkx.is_isomorphic(networkx.from_scipy_sparse_array(small_world.ring_lattice(n, k)), theirs)


def test_random_edges_are_m_different_pairs_equally_likely():
    """n = 4, m = 2: each of the 6 pairs is in 1/3 of the draws: 1000 of 3000, standard deviation 26."""
    rng, counts = np.random.default_rng(1), np.zeros((4, 4))
    for _ in range(3000):
        made = small_world.random_edges(4, 2, rng)
        assert made.nnz == 4
        counts += made.toarray()
    assert np.abs(counts[np.triu_indices(4, 1)] - 1000).max() < 5 * 26


def test_a_random_regular_graph_has_its_degree_but_for_edges_that_coincide():
    degrees = np.diff(small_world.random_regular(2000, 6, np.random.default_rng(0)).indptr)
    assert degrees.max() == 6
    assert degrees.mean() > 5.98


def test_sigma_by_hand():
    """Clustering 10 times and path twice the random graph's: 5."""
    assert small_world.sigma(0.5, 6, 0.05, 3) == pytest.approx(5)


def test_a_measurement_s_figures_belong_to_one_union_and_its_random_graphs():
    """The same generator, in the same order, makes the same graphs; all 256 nodes are sources."""
    n, k = 256, 16
    found = small_world.measure(n, k, n, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    made = small_world.union(small_world.ring_lattice(n, 8), small_world.ring_lattice(n, 8, rng.permutation(n)))
    rng.choice(n, n, replace=False)
    regular, edges = small_world.random_regular(n, k, rng), small_world.random_edges(n, made.nnz // 2, rng)
    C, L, L_regular, L_edges = small_world.clustering(made), *map(small_world.mean_path, (made, regular, edges))
    assert found == pytest.approx(
        {
            "mean degree": made.nnz / n,
            "clustering": C,
            "mean path": L,
            "random regular mean path": L_regular,
            "sigma, random regular": C / (15 / 256) / (L / L_regular),
            "sigma, G(n, m)": C / (made.nnz / n / 256) / (L / L_edges),
            "sigma, ln n / ln k": C / (16 / 256) / (L / (math.log(256) / math.log(16))),
        }
    )

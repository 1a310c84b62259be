"""Small worlds: clustering far above a random graph's at a mean path as short, in the graphs that attention windows draw.

A graph is a symmetric scipy CSR matrix of zeros and ones without a diagonal. sigma = (C / C_rand) / (L / L_rand), C the mean clustering, L
the mean path; it depends on the random graph that it is held against, which has to be named.
"""

import math

import numpy as np

# Lin et al. 2024, Network statistics of the whole-brain connectome of Drosophila: 127,978 neurons, 2,613,129 connections.
CONNECTOME = {"n": 127978, "mean path": 4.4}


def graph(n, ends):
    """Return the graph on n nodes of edges `ends`, (E, 2) integers; edges given twice count once, loops not at all."""
    from scipy.sparse import csr_array

    ends = ends[ends[:, 0] != ends[:, 1]]
    both = np.concatenate([ends, ends[:, ::-1]])
    made = csr_array((np.ones(len(both), np.int32), (both[:, 0], both[:, 1])), shape=(n, n))
    made.sum_duplicates()
    made.data[:] = 1
    return made


def ring_lattice(n, k, order=None):
    """Return the graph that joins each node of a ring to its k nearest, k even; `order`: the nodes along the ring (their own if None)."""
    return graph(n, _chords(np.arange(n) if order is None else order, k))


def union(first, second):
    """Return the graph with the edges of both."""
    both = first + second
    both.data[:] = 1
    return both


def random_regular(n, k, rng):
    """Return the union of k/2 random Hamiltonian cycles, a random graph of degree k but for the few edges that coincide."""
    return graph(n, np.concatenate([_chords(rng.permutation(n), 2) for _ in range(k // 2)]))


def random_edges(n, m, rng):
    """Return G(n, m): m different edges, all sets of them equally likely; pair (i, j), j < i, is number i (i-1) / 2 + j."""
    first = np.arange(n) * (np.arange(n) - 1) // 2
    numbers = rng.choice(n * (n - 1) // 2, m, replace=False)
    i = np.searchsorted(first, numbers, side="right") - 1
    return graph(n, np.column_stack([i, numbers - first[i]]))


def mean_degree(made):
    """Return the mean number of neighbours."""
    return made.nnz / made.shape[0]


def clustering(made):
    """Return the mean over nodes of the share of pairs of neighbours that are joined, 0 where there is no pair."""
    degree = np.asarray(made.sum(1)).ravel()
    closed = np.asarray(made.multiply(made @ made).sum(1)).ravel()
    return float((closed / np.maximum(degree * (degree - 1), 1)).mean())


def mean_path(made, sources=None):
    """Return the mean distance from `sources` (all if None) to the nodes that they reach, by search in 64 sources a word."""
    n = made.shape[0]
    sources = np.arange(n) if sources is None else sources
    total = pairs = 0
    for first in range(0, len(sources), 256):
        block = sources[first : first + 256]
        bits = np.arange(len(block))
        seen = np.zeros((n, -(-len(block) // 64)), np.uint64)
        seen[block, bits // 64] = np.uint64(1) << (bits % 64).astype(np.uint64)
        known, distance = len(block), 0
        while True:
            seen = seen | _neighbours(made, seen)
            distance += 1
            now = int(np.bitwise_count(seen).sum(dtype=np.int64))
            if now == known:
                break
            total, pairs, known = total + distance * (now - known), pairs + now - known, now
    return total / pairs


def sigma(C, L, C_rand, L_rand):
    """Return (C / C_rand) / (L / L_rand)."""
    return (C / C_rand) / (L / L_rand)


def measure(n, k, sources, rng):
    """Return {name: value}: the union's degree, clustering and path, a random regular path, and sigma against three random graphs."""
    made = union(ring_lattice(n, k // 2), ring_lattice(n, k // 2, rng.permutation(n)))
    nodes = np.sort(rng.choice(n, sources, replace=False))
    degree, C, L = mean_degree(made), clustering(made), mean_path(made, nodes)
    regular = mean_path(random_regular(n, k, rng), nodes)
    edges = mean_path(random_edges(n, made.nnz // 2, rng), nodes)
    return {
        "mean degree": degree,
        "clustering": C,
        "mean path": L,
        "random regular mean path": regular,
        "sigma, random regular": sigma(C, L, (k - 1) / n, regular),
        "sigma, G(n, m)": sigma(C, L, degree / n, edges),
        "sigma, ln n / ln k": sigma(C, L, k / n, math.log(n) / math.log(k)),
    }


def lattice_clustering(k):
    """Return a ring lattice's clustering, 3 (k-2) / (4 (k-1)), for n > 3k/2."""
    return 3 * (k - 2) / (4 * (k - 1))


def lattice_path(n, k):
    """Return a ring lattice's mean path: ceil(2 j / k) averaged over the n-1 other nodes, j = 1..n//2 slots away either way."""
    away = np.minimum(np.arange(1, n), n - np.arange(1, n))
    return float((-(-2 * away // k)).mean())


def _chords(order, k):
    """Return (n k/2, 2): the edges of a ring of nodes, in this order, to the k/2 next of each."""
    return np.concatenate([np.column_stack([order, np.roll(order, -step)]) for step in range(1, k // 2 + 1)])


def _neighbours(made, seen):
    """Return the union of the neighbours' rows of `seen`; zero for a node without neighbours."""
    found = np.zeros_like(seen)
    some = np.flatnonzero(np.diff(made.indptr))
    found[some] = np.bitwise_or.reduceat(seen[made.indices], made.indptr[some], axis=0)
    return found

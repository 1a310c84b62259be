"""T17, T18, T19: refuted when a window, a recursion or a graph is broken."""

import itertools

import numpy as np
import pytest

from attnprobe.theory import recursion, routing, small_world
from attnprobe.theory.claims import t18_causal

windows, ring_lattice, missing = routing.windows, small_world.ring_lattice, t18_causal.missing_neighbours
union_mean, reached, causal_reach, layers = recursion.union_mean, recursion.reached, recursion.causal_reach, recursion.neighbour_layers


def wider(kind, w, causal=False, ring=True):
    return windows(kind, w + 1, causal, ring)


def not_causal(kind, w, causal=False, ring=True):
    return windows(kind, w, False, ring)


def without_sliding(kind, w, causal=False, ring=True):
    return windows(kind.removesuffix("+swa"), w, causal, ring)


BREAKS = [
    ("T17-union", "recursion.union_mean", lambda n, w, M: union_mean(n, max(1, w - 1), M)),
    ("T17-union", "recursion.union_sizes", lambda n, w, M: {min(n, w * M): 1}),
    ("T17-reach", "routing.windows", wider),
    ("T17-reach", "recursion.reached", lambda n, w, layers: reached(n, w - 1, layers)),
    ("T17-reach", "recursion.reached", lambda n, w, layers: [min(n, w**L) for L in range(1, layers + 1)]),
    ("T17-floor", "routing.windows", wider),
    ("T17-estimate", "recursion.first_moment", lambda n, w: 3),
    ("T18-edge", "routing.windows", wider),
    ("T18-layers", "recursion.neighbour_layers", lambda n, w: layers(n, w) - 1),
    ("T18-layers", "recursion.causal_reach", lambda n, w: causal_reach(n, w + 1)),
    ("T18-neighbours", "claims.t18_causal.missing_neighbours", lambda n, w, rng: missing(n, w + 20, rng)),
    ("T18-neighbours", "recursion.EULER", 0),
    ("T18-full", "claims.t18_causal.missing_neighbours", lambda n, w, rng: missing(n, w - 3, rng)),
    ("T18-full", "recursion.causal_reach", lambda n, w: causal_reach(n, w + 16)),
    ("T18-full", "routing.windows", not_causal),
    ("T18-pairs", "routing.windows", wider),
    ("T18-pairs", "routing.windows", not_causal),
    ("T18-pairs", "recursion.causal_reach", lambda n, w: causal_reach(n, w + 1)),
    ("T18-gated", "routing.windows", without_sliding),
    ("T18-gated", "routing.windows", not_causal),
    ("T19-lattice", "small_world.lattice_clustering", lambda k: 0.75),
    ("T19-lattice", "small_world.ring_lattice", lambda n, k, order=None: ring_lattice(n, k, None if order is None else order[::-2])),
    ("T19-union", "small_world.clustering", lambda made: 0.35),
    ("T19-union", "routing.windows", wider),
    ("T19-fly", "small_world.ring_lattice", lambda n, k, order=None: ring_lattice(n, k - 2, order)),
]


@pytest.mark.parametrize(("name", "target", "broken"), BREAKS, ids=lambda x: x if isinstance(x, str) else "")
def test_a_claim_about_routing_is_refuted_when_a_definition_is_broken(refute, name, target, broken):
    refute(name, target, broken)


def test_a_missing_neighbour_is_one_that_no_mask_has_joined():
    """The same slots, drawn in the same order, through the masks."""
    (window,) = windows("sa", 6, causal=True)
    counts = missing(40, 6, np.random.default_rng(2))
    rng, met, seen = np.random.default_rng(2), np.zeros(39, bool), [39]
    for _ in counts[1:]:
        met |= np.diagonal(window.mask(window.slots(40, rng)), -1)
        seen.append(int((~met).sum()))
    assert seen == counts
    assert all(later <= earlier for earlier, later in itertools.pairwise(counts))

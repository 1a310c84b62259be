"""What theory computes beside the sources' figures, and their own slips, each with what shows it."""

from fractions import Fraction

FLY = {"n": 1 << 17, "ring": 14, "permuted": 12, "sources": 64, "seed": 19}  # degree 26, as the fly's connectome


def quantity(name):
    """The value of a quantity that a Figure of the task COMPUTED names. Raises KeyError."""
    return float(QUANTITIES[name]())


def sign_test(wins):
    from attnprobe.theory.sign_test import p_value

    return p_value(wins, 0)


def head_dim():
    from attnprobe.theory.rank import bound

    return bound(10, True)


def majority():
    from attnprobe.theory.recall import majority_ceiling

    return majority_ceiling(8, 4)


def memory():
    from attnprobe.theory.claims.stats_sources import memory_factor

    return memory_factor("1886.9", "109.3")


def sliding():
    """Pairs seen in the tokens' own order on a ring, the token itself included, counted bit by bit."""
    import numpy as np

    from attnprobe.theory import routing

    n, w, layers = 4096, 64, 10
    drawn = routing.draw(routing.windows("swa", w), n, layers, np.random.default_rng(0))
    return routing.coverage(n, drawn, np.arange(1))[-1].sum()


def pair():
    n, w = 4096, 64
    return Fraction(w - 1, n - 1)


def causal():
    from attnprobe.theory.recursion import neighbour_layers

    return neighbour_layers(1 << 14, 64)


def mean_path():
    import numpy as np

    from attnprobe.theory import small_world

    rng, n = np.random.default_rng(FLY["seed"]), FLY["n"]
    permuted = small_world.ring_lattice(n, FLY["permuted"], rng.permutation(n))
    made = small_world.union(small_world.ring_lattice(n, FLY["ring"]), permuted)
    return small_world.mean_path(made, np.sort(rng.choice(n, FLY["sources"], replace=False)))


QUANTITIES = {
    "p: 11 wins, no loss": lambda: sign_test(11),
    "p: 12 wins, no loss": lambda: sign_test(12),
    "p: 13 wins, no loss": lambda: sign_test(13),
    "p: 27 wins, no loss": lambda: sign_test(27),
    "head dimension for all sets, r = 10": head_dim,
    "share right without a filter": majority,
    "memory, 1886.9 MB to 109.3 MB": memory,
    "receptive field of a sliding window": sliding,
    "chance of a pair in a layer": pair,
    "layers to full coverage, causal": causal,
    "mean path, window and shortcuts": mean_path,
}


def slips(sources):
    """What the papers of `sources` get wrong or leave out, as (source, sentence with what is computed, claims that check it)."""
    from attnprobe.theory.rank import ceiling
    from attnprobe.theory.sign_test import p_value, possible

    wins = {k: p_value(k, 0) for k in (11, 12, 13)}
    stack = sorted({p_value(*pair) for pair in possible(15, 14, 11)})
    sets = ceiling(6, 4, False)
    found = (
        (
            "fpa",
            "12 comparisons are printed with p = .00049; they have 11, 12 and 13 wins without a loss, p = "
            f"{', '.join(f'{float(p):.2g}' for p in wins.values())}: .00049 is the largest of them",
            "stats-sources",
        ),
        ("fpa", f"push and pop, 14 against 11 of 15: p is {' or '.join(map(str, stack))}, no evidence that 14 is more", "stats-sources"),
        (
            "fpa",
            f"a head without offsets (NoPE, RoPE) at d = 4, r = 6 can realise {sets} of {2**5} sets, not all: a success rule must say its "
            "tolerance, ours is mean KL <= .1",
            "T6-attained",
        ),
        ("pn-fir-tau", f"1886.9 MB to 109.3 MB is {float(memory()):.1f} times less, not 66.5", "stats-sources"),
        (
            "stochastic",
            f"full coverage after O(log_w n) layers is of windows without causality; causal, n = 16384, w = 64: {causal()} layers",
            "T18-layers",
        ),
    )
    return [slip for slip in found if slip[0] in sources]

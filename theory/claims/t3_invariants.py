"""T3: what forgetting by path does on every short walk."""

import numpy as np

from attnprobe.theory.alive import depths
from attnprobe.theory.claim import Case, Span, claim
from attnprobe.theory.walks import motzkin_prefixes, walks


@claim("T3-monotone", kind="exhaustive", source="this project", steps="-1, 0, 1", T=Span(8, 1, 10, deep=10))
def bias_never_rises(T):
    """The bias of a key never rises: b_{t+1,s} <= b_{t,s}, so a dead key stays dead.

    b_ts = min(0, min_{s<u<=t} phi_u - psi_s), and the minimum at t+1 runs over one field more. Every walk with phi = psi = W, every pair
    s <= t < T.
    """
    W = walks(T)
    depth = depths(W, W)
    for t in range(T):
        rises = (depth[:, t + 1, : t + 1] > depth[:, t, : t + 1]).any(1)
        yield Case(not rises.any(), {"walk": W[np.argmax(rises)].tolist(), "t": t}, len(W) * (t + 1))
    yield Case(True, size=0, evidence={"sum of biases": int(depth.sum(dtype=np.int64))})


@claim(
    "T3-stack", kind="exhaustive", source="this project", assumption="g = h = 0: fields and levels are the walk itself",
    steps="-1, 0, 1", T=Span(8, 1, 10, deep=10),
)  # fmt: skip
def alive_levels_are_a_stack(T):
    """The levels of the alive keys do not fall with position: the alive set is a stack.

    If s < s' are alive at t, then s' is among the u in (s, t], so W_{s'} = phi_{s'} >= psi_s = W_s. Every walk and every t = 0..T, keys
    0..t.
    """
    W = walks(T)
    alive = depths(W, W) == 0
    for t in range(T + 1):
        highest = np.maximum.accumulate(np.where(alive[:, t, : t + 1], W[:, : t + 1], -T), axis=1)
        falls = (alive[:, t, : t + 1] & (W[:, : t + 1] < highest)).any(1)
        keys = int(alive[:, t, : t + 1].sum())
        yield Case(not falls.any(), {"walk": W[np.argmax(falls)].tolist(), "t": t}, len(W), {"t": t, "alive keys": keys})


@claim("T3-no-suffix", kind="exhaustive", source="this project", steps="-1, 0, 1", T=Span(8, 1, 10, deep=10))
def alive_sets_are_no_suffixes(T):
    """Alive sets need not be suffixes: of the (walk, t) pairs, 17203 of 52488 at T = 8.

    The alive set at t is the suffix a..t iff the walk does not fall from a to t (2^(t-a) ways) and W_a is below all before it: then the
    last minimum of 0..a-1 is dead, and with it all earlier keys, and otherwise it is alive. Read backwards, such a walk of a steps stays
    above its start: prefixes of Motzkin paths, N(a) = 1, 1, 2, 5, 13, 35, ... Hence the pairs that are suffixes number, at t, sum_a N(a)
    2^(t-a); each (walk of t steps, t) stands for 3^(T-t) pairs. One case a t: listed against counted.
    """
    W = walks(T)
    alive = depths(W, W) == 0
    prefixes = [1, *(motzkin_prefixes(a - 1) for a in range(1, T + 1))]
    for t in range(1, T + 1):
        rows = alive[:, t, : t + 1]
        listed = int((rows[:, :-1] & ~rows[:, 1:]).any(1).sum())
        counted = (3**t - sum(prefixes[a] * 2 ** (t - a) for a in range(t + 1))) * 3 ** (T - t)
        yield Case(listed == counted, {"t": t, "listed": listed, "counted": counted}, len(W), {"t": t, "listed": listed})

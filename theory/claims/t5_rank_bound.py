"""T5: content alone needs r-2 dimensions with fixed offsets a key, r-1 without, to realise all alive sets of r rungs."""

from itertools import product

import numpy as np

from attnprobe.theory.claim import Case, Span, claim
from attnprobe.theory.heads import degenerate, generic, moment_curve, shown, spread
from attnprobe.theory.rank import bound, dependency, impossible, refutes
from attnprobe.theory.realisation import realise

SETTING = "one offset vector for all alive sets; the last key is always alive; realised = every alive logit strictly above every dead one"
CHUNK = 1 << 15


@claim(
    "T5-bound", kind="sampled", source="FPA paper; r-1: this project", assumption=SETTING,
    d="1..r-3 with offsets, 1..r-2 without", r=Span(12, 4, 20, deep=20),
)  # fmt: skip
def too_few_dimensions(r):
    """No head of dimension d < r-2 (d < r-1 without offsets) realises all sets of r rungs.

    With offsets, on the first r-1 keys: d <= r-3 leaves lambda != 0 with sum lambda = 0 and sum lambda_s k_s = 0; choose its sign with
    sum lambda_s o_s <= 0. For A = {lambda > 0} + {r} realised by q, theta between dead and alive logits l_s = q.k_s + o_s: 0 < sum
    lambda_s (l_s - theta) = sum lambda_s o_s <= 0. Without offsets, d <= r-2: lambda on all r keys, with lambda_r >= 0, and 0 < sum
    lambda_s (l_s - theta) = 0. The proof is for every head; a case is one integer head, generic or degenerate, whose lambda is found and
    checked in exact arithmetic. The certificate has lambda for two heads of every d.
    """
    rng = np.random.default_rng(5)
    for d in range(1, bound(r, offsets=False)):
        heads = [("moment curve", *moment_curve(r, d)), *(("generic", *generic(rng, r, d)) for _ in range(3)), *degenerate(rng, r, d)]
        for n, (name, keys, offsets) in enumerate(heads):
            for given in (offsets, None) if d < bound(r, offsets=True) else (None,):
                found = impossible(keys, given)
                holds = found is not None and refutes(found, keys, given)
                yield Case(holds, _head(name, keys, given), evidence=dependency(found, keys, given) if holds and n < 2 else None)


@claim("T5-grid", kind="exhaustive", source="this project", assumption=SETTING, r=4, d="1 with offsets, 2 without")
def every_small_head_misses_a_set():
    """Every small integer head of r = 4 rungs below the bound misses at least one of the 8 sets.

    The proof is T5-bound's; here its conclusion is seen on all heads of a grid: d = 1 with offsets (bound 2) and d = 2 without (bound 3). A
    common shift of the keys, or of the offsets, changes nothing, so k_1 = 0 and o_1 = 0; the others take all values of the grid, -2..2 for
    keys at d = 1, -1..1 for keys at d = 2 and for offsets.

    Checked: every head's sets are counted, from circuits, and its missing set has a dependency that is checked in exact arithmetic. The
    certificate has how many heads realise how many sets.
    """
    for d, values, shifts in ((1, range(-2, 3), range(-1, 2)), (2, range(-1, 2), None)):
        counts = {}
        for numbers in product(values, repeat=3 * d):
            keys = [[0] * d, *(numbers[d * s : d * s + d] for s in range(3))]
            for offsets in product((0,), shifts, shifts, shifts) if shifts else (None,):
                found, count = impossible(keys, offsets), realise(keys, offsets).count
                counts[count] = counts.get(count, 0) + 1
                yield Case(count < 8 and found is not None and refutes(found, keys, offsets), _head("grid", keys, offsets))
        yield Case(True, size=0, evidence={"d": d, "sets": [counts.get(n, 0) for n in range(9)]})


@claim("T5-tight", kind="exhaustive", source="this project", assumption=SETTING, r=Span(18, 3, 20, deep=20))
def enough_dimensions(r):
    """Some head of dimension r-2 with offsets, and one of r-1 without, realises all 2^(r-1) sets.

    With offsets: k = e_1..e_{r-2}, 0, 0 and o = (0, ..., 0, 4). Key r-1 has logit 0, so theta = -1 if it is alive and +1 if dead, and q_s
    = theta + 1 for alive s, theta - 1 for dead s; key r has logit 4. Without: k = e_1..e_{r-1}, 0, and theta = -1. Every set is tried
    with its query, integers throughout. The certificate has the queries of 32 words.
    """
    for offsets in (True, False):
        keys, shift = unit_head(r, offsets)
        for first in range(0, 1 << (r - 1), CHUNK):
            words = np.arange(first, min(first + CHUNK, 1 << (r - 1)))
            alive, queries, _ = answers(words, r, offsets)
            logits = queries @ keys.T + shift
            least, most = np.where(alive, logits, 99).min(1), np.where(alive, -99, logits).max(1)
            yield Case(bool((least > most).all()), {"offsets": offsets, "word": int(words[np.argmin(least > most)])}, len(words))
        words = spread(r)
        yield Case(True, size=0, evidence=shown(words, keys, [shift] * len(words), *answers(words, r, offsets)[1:]))


def unit_head(r, offsets):
    """Return (keys, offsets), int8, of the head that T5-tight is about."""
    shift = np.zeros(r, np.int8)
    shift[-1] = 4 if offsets else 0
    return np.eye(r, bound(r, offsets), dtype=np.int8), shift


def answers(words, r, offsets):
    """Return (alive (N, r) booleans, queries (N, d) int8, thresholds (N,)) with which the unit head realises each word."""
    alive = np.column_stack([(words[:, None] >> np.arange(r - 1)) & 1 == 0, np.ones(len(words), bool)])
    theta = np.where(alive[:, r - 2], -1, 1) if offsets else np.full(len(words), -1)
    return alive, (theta[:, None] + np.where(alive[:, : bound(r, offsets)], 1, -1)).astype(np.int8), theta


def _head(name, keys, offsets):
    return {"head": name, "keys": np.asarray(keys, object).tolist(), "offsets": offsets if offsets is None else [int(o) for o in offsets]}

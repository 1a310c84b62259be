"""T5: content alone needs r-2 dimensions with fixed offsets a key, r-1 without, to realise all alive sets of r rungs."""

import numpy as np

from attnprobe.theory.claim import Case, Span, claim
from attnprobe.theory.heads import degenerate, generic, moment_curve
from attnprobe.theory.rank import bound, impossible, refutes

SETTING = "one offset vector for all alive sets; the last key is always alive; realised = every alive logit strictly above every dead one"
CHUNK = 1 << 15


@claim(
    "T5-bound", kind="sampled", source="FPA paper; r-1: this project", assumption=SETTING,
    d="1..r-3 with offsets, 1..r-2 without", r=Span(12, 4, 20),
)  # fmt: skip
def too_few_dimensions(r):
    """No head of dimension d < r-2 (d < r-1 without offsets) realises all sets of r rungs.

    With offsets, on the first r-1 keys: d <= r-3 leaves lambda != 0 with sum lambda = 0 and sum lambda_s k_s = 0; choose its sign with
    sum lambda_s o_s <= 0. For A = {lambda > 0} + {r} realised by q, theta between dead and alive logits l_s = q.k_s + o_s: 0 < sum
    lambda_s (l_s - theta) = sum lambda_s o_s <= 0. Without offsets, d <= r-2: lambda on all r keys, with lambda_r >= 0, and 0 < sum
    lambda_s (l_s - theta) = 0. The proof is for every head; a case is one integer head, generic or degenerate, whose lambda is found and
    checked in exact arithmetic.
    """
    rng = np.random.default_rng(5)
    for d in range(1, bound(r, offsets=False)):
        heads = [("moment curve", *moment_curve(r, d)), *(("generic", *generic(rng, r, d)) for _ in range(3)), *degenerate(rng, r, d)]
        for name, keys, offsets in heads:
            for given in (offsets, None) if d < bound(r, offsets=True) else (None,):
                found = impossible(keys, given)
                yield Case(found is not None and refutes(found, keys, given), _head(name, keys, given))


@claim("T5-tight", kind="exhaustive", source="this project", assumption=SETTING, r=Span(18, 3, 20))
def enough_dimensions(r):
    """Some head of dimension r-2 with offsets, and one of r-1 without, realises all 2^(r-1) sets.

    With offsets: k = e_1..e_{r-2}, 0, 0 and o = (0, ..., 0, 4). Key r-1 has logit 0, so theta = -1 if it is alive and +1 if dead, and
    q_s = theta + 1 for alive s, theta - 1 for dead s; key r has logit 4. Without: k = e_1..e_{r-1}, 0, and theta = -1. Every set is tried
    with its query, integers throughout.
    """
    for offsets in (True, False):
        d = bound(r, offsets)
        keys = np.eye(r, d, dtype=np.int8)
        for first in range(0, 1 << (r - 1), CHUNK):
            words = np.arange(first, min(first + CHUNK, 1 << (r - 1)))
            alive = np.column_stack([(words[:, None] >> np.arange(r - 1)) & 1 == 0, np.ones(len(words), bool)])
            theta = np.where(alive[:, r - 2], -1, 1) if offsets else np.full(len(words), -1)
            queries = (theta[:, None] + np.where(alive[:, :d], 1, -1)).astype(np.int8)
            logits = queries @ keys.T
            logits[:, -1] += 4 if offsets else 0
            least, most = np.where(alive, logits, 99).min(1), np.where(alive, -99, logits).max(1)
            yield Case(bool((least > most).all()), {"offsets": offsets, "word": int(words[np.argmin(least > most)])}, len(words))


def _head(name, keys, offsets):
    return {"head": name, "keys": np.asarray(keys, object).tolist(), "offsets": offsets if offsets is None else [int(o) for o in offsets]}

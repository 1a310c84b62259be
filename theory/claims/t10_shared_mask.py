"""T10: two heads that share one mask and want complementary sets are worth one head of twice the dimension."""

import numpy as np

from attnprobe.theory.claim import Case, Span, claim
from attnprobe.theory.heads import degenerate, generic, moment_curve, shown, spread
from attnprobe.theory.rank import dependency, impossible, refutes

SHARED = "both heads add one mask, any function of the word; keys and offsets are fixed; head 1 wants A, head 2 its complement, both key r"
CHUNK = 1 << 14


@claim("T10-bound", kind="sampled", source="FPA paper", assumption=SHARED, d="1..(r-3)/2", r=Span(11, 5, 16, deep=16))
def a_shared_mask_halves_at_most(r):
    """Two heads of dimension d under one shared mask cannot realise every A and its complement unless 2d >= r-2.

    With l_s = q.k_s + o_s + M_s - theta for head 1, l'_s likewise for head 2, A = {l > 0} and the complement {l' > 0}, the mask cancels
    in l_s - l'_s, which is positive on A and negative off it. These are logits of one head with keys (k_s, k'_s), offsets o_s less o'_s:
    on the first r-1 keys, 2d <= r-3 leaves lambda != 0 with sum lambda = 0, sum lambda_s (k_s, k'_s) = 0, and, by its sign, the sum of
    lambda_s (o_s - o'_s) at most 0; but for A = {lambda > 0} + {r}, 0 < sum lambda_s (l_s - l'_s), which is that sum.

    Checked: the proof is for every pair; a case is one pair of integer heads, whose lambda is found and checked in exact arithmetic.
    """
    rng = np.random.default_rng(10)
    for d in range(1, (r - 3) // 2 + 1):
        pairs = [(moment_curve(r, d), generic(rng, r, d)), (generic(rng, r, d), generic(rng, r, d))]
        few = [(keys, offsets) for _, keys, offsets in degenerate(rng, r, d)]
        for (keys, offsets), (others, shifts) in [*pairs, *zip(few, few[::-1], strict=True)]:
            joint = [[int(x) for x in (*k, *other)] for k, other in zip(keys, others, strict=True)]
            difference = [int(o) - int(shift) for o, shift in zip(offsets, shifts, strict=True)]
            found = impossible(joint, difference)
            holds = found is not None and refutes(found, joint, difference) and found.weights[-1] == 0
            evidence = dependency(found, joint, difference) if holds else None
            yield Case(holds, {"d": d, "keys": joint, "offsets": difference}, evidence=evidence)


@claim("T10-tight", kind="exhaustive", source="this project", assumption=SHARED, sizes="4..r", r=Span(16, 4, 18, deep=18))
def half_is_enough(r):
    """With d = ceil((r-2)/2) two heads under one mask realise every A and its complement, without offsets.

    Coordinate j of head 1 reads key j, of head 2 key d+j; if r is even, key r-1 reads 0 in both. With x_s = 1 on A and -1 off it, take
    theta - theta' = -x_{r-1} (or -1) and contents a_s - a'_s = theta - theta' + x_s, so that theta - a_s < theta' - a'_s iff s is in A.
    Half way between the two lies M_s: key s is above the threshold of just one head, that which wants it. theta' = -40 keeps M <= 0.

    Checked: every A at every size 4..r, in integers (logits and mask doubled). The certificate has both heads on 32 words of each size.
    """
    for size in range(4, r + 1):
        for first in range(0, 1 << (size - 1), CHUNK):
            words = np.arange(first, min(first + CHUNK, 1 << (size - 1)))
            logits, others, mask, alive = joined(words, size)
            bad = ~(separates(logits + mask, alive) & separates(others + mask, ~alive) & (mask <= 0).all(1))
            yield Case(not bad.any(), {"r": size, "word": int(words[np.argmax(bad)])}, len(words))
        words = spread(size)
        for evidence in both(words, size):
            yield Case(True, size=0, evidence=evidence)


def both(words, r):
    """Return the evidence of each head: unit keys, the mask as a word's own offsets, all doubled."""
    logits, others, mask, alive = joined(words, r)
    d, mask = (r - 1) // 2, np.pad(mask, ((0, 0), (0, 1)))
    first, second = np.eye(r, d, dtype=int), np.roll(np.eye(r, d, dtype=int), d, axis=0)
    lows = 2 * gaps(alive, r)[:, 0] - 80
    one = shown(words, first, mask, logits[:, :d], lows)
    return one, shown((1 << (r - 1)) - 1 - words, second, mask, others[:, d : 2 * d], np.full(len(words), -80))


def joined(words, r):
    """Return (contents of head 1, of head 2, mask, alive in head 1), doubled integers (N, r-1); key r, in both sets, has 0 and 0."""
    d = (r - 1) // 2
    alive = ((words[:, None] >> np.arange(r - 1)) & 1) == 0
    x, gap = np.where(alive, 1, -1), gaps(alive, r)
    one, two = np.zeros_like(x), np.zeros_like(x)
    one[:, :d], two[:, d : 2 * d] = (gap + x)[:, :d], -(gap + x)[:, d : 2 * d]
    return 2 * one, 2 * two, (gap - 40 - one) + (-40 - two), alive


def gaps(alive, r):
    """Return (N, 1): theta - theta' for the sets `alive` (N, r-1) of head 1."""
    return np.where(alive[:, -1:], -1, 1) if r % 2 == 0 else np.full((len(alive), 1), -1)


def separates(logits, alive):
    """Return (N,) booleans: whether every alive logit, and that of key r, 0, is above every dead one."""
    return np.minimum(0, np.where(alive, logits, 0).min(1)) > np.where(alive, -9999, logits).max(1)

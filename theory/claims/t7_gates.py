"""T7 (limit of T5): a forget gate that sees the dips escapes the bound; the balanced ladder takes the dips out of its sight."""

import numpy as np

from attnprobe.theory.alive import ladder
from attnprobe.theory.claim import Case, Span, claim

SEES = "the gate reads the dip itself, with a strength of its own for each rung: r bits a scalar"
CHUNK = 1 << 15


def gate_logits(words, r):
    """Return (N, r) int64: the logits of keys k_s = 2^(r-s) - 1 at query 1 under log-decay 2^(r-i) on dip i, for words of r-1 bits."""
    i = np.arange(1, r)
    dips = (words[:, None] >> (i - 1)) & 1
    decay = np.cumsum((dips << (r - i))[:, ::-1], axis=1)[:, ::-1]
    return (1 << (r - np.arange(1, r + 1))) - 1 - np.pad(decay, ((0, 0), (0, 1)))


@claim("T7-gate", kind="exhaustive", source="this project", assumption=SEES, d=1, r=Span(20, 2, 24, deep=24))
def gate_escapes(r):
    """A forget gate that sees the dips realises all 2^(r-1) sets with d = 1 and one query: T5 does not bound it.

    Keys k_s = 2^(r-s) - 1, query 1, log-decay 2^(r-i) on dip i, so l_s = 2^(r-s) - 1 - sum of 2^(r-i) over the dips i >= s. If block s
    dips, l_s <= -1. If not, the dips after s take at most 2^(r-s) - 2, and l_s >= 1; and l_r = 0. So -1/2 lies between dead and alive.

    Limits: FPA does it with scalars of ceil(log2(r+1)) bits, this gate with r bits; T7-bits bounds from below what such a gate needs.

    Checked: every word, in integers.
    """
    for first in range(0, 1 << (r - 1), CHUNK):
        words = np.arange(first, min(first + CHUNK, 1 << (r - 1)))
        dead = gate_logits(words, r)[:, :-1] < 0
        bad = (dead != ((words[:, None] >> np.arange(r - 1)) & 1)).any(1)
        yield Case(not bad.any(), {"r": r, "word": int(words[np.argmax(bad)])}, len(words))
    yield Case(True, size=0, evidence={"keys": [2 ** (r - s) - 1 for s in range(1, r + 1)], "decays": [2 ** (r - i) for i in range(1, r)]})


@claim("T7-ladder", kind="exhaustive", source="this project", r=Span(10, 2, 14, deep=14))
def the_balanced_ladder_hides_the_dips(r):
    """Under token-level gates the balanced ladder has one offset vector for all words; an unbalanced one has 2^(r-1), 512 at r = 10.

    A token-level gate decays by an amount of the token: a_i at rung i, x at +1, y at -1. In the balanced ladder a block is one +1 and one
    -1, whatever the word, so after key s there are the same tokens in every word, and the offsets are the same: T5 binds. Let no dip be
    two idle tokens instead: x = y = 1 then tells all words apart.

    Checked: every word's tokens after each key, counted, which fixes the offsets for every gate; and the unbalanced ladder's offsets.
    """
    balanced, unbalanced = set(), set()
    for word in range(1 << (r - 1)):
        dips = [word >> i & 1 for i in range(r - 1)]
        steps, _, positions = ladder(dips)
        after = [steps[p + 1 :] for p in positions]
        balanced.add(tuple((len(tail), tail.count(-1)) for tail in after))
        unbalanced.add(tuple(sum(2 * dip for dip in dips[s:]) for s in range(r)))
        yield Case(len(balanced) == 1, {"r": r, "word": word, "vectors": len(balanced)})
    vectors = [len(balanced), len(unbalanced)]
    yield Case(vectors == [1, 2 ** (r - 1)], {"r": r, "vectors": vectors}, 0, {"balanced": len(balanced), "unbalanced": len(unbalanced)})

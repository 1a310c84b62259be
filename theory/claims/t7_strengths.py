"""T7, bounded from below: how many dimensions, or bits, a gate needs that sees the dips, if keys and offsets are fixed."""

from itertools import accumulate, product

import numpy as np

from attnprobe.theory.claim import Case, Span, claim
from attnprobe.theory.exact import coordinates, null_vectors, read_head
from attnprobe.theory.heads import degenerate, generic, moment_curve, shown, spread
from attnprobe.theory.rank import Impossible, refutes

GATE = "dip i lowers keys 1..i by a strength of its own; keys and other offsets are the same for all words; the last key is always alive"
CHUNK = 1 << 14
STRENGTH = 4  # of a dip in T7-one-strength: twice the 2 between the offsets of a pair


def chain(strengths):
    """Return the longest chain: positions p_1 < ... < p_m in 0..n-1 with |D_p| <= sum of |D_i| over the i between p and the next.

    >>> chain([1, 1, 1, 1, 1]), chain([8, 4, 2, 1])  # equal strengths: every other one; each above the sum of those after it: one alone
    ([0, 2, 4], [0])
    """
    best = [[i] for i in range(len(strengths))]  # the longest chain that starts at i
    for p in range(len(strengths) - 1, -1, -1):
        between = 0
        for following in range(p + 1, len(strengths)):
            if between >= abs(strengths[p]) and len(best[following]) >= len(best[p]):
                best[p] = [p, *best[following]]
            between += abs(strengths[following])
    return max(best, key=len)


def under(offsets, strengths, dips):
    """Return the offsets that a word leaves: o_s - sum of D_i over the dips i >= s."""
    return [o - sum(D for D, dip in zip(strengths[s:], dips[s:], strict=True) if dip) for s, o in enumerate(offsets)]


def word_against(weights, strengths):
    """Return w of T7-chain's proof: dips where lambda < 0, and, where it is 0, where D_i (lambda_1 + ... + lambda_i) > 0."""
    return [w < 0 or (w == 0 and D * part > 0) for D, w, part in zip(strengths, weights, accumulate(weights), strict=False)]


def impossible_word(keys, offsets, strengths):
    """Return (dips, rank.Impossible) of a word that this head and gate do not realise; None if chain positions leave no dependency.

    keys: r rows; offsets: r; strengths: r-1, all exact numbers. lambda is a dependency of the keys at the chain's positions.
    """
    at = chain(strengths)
    vectors = null_vectors(coordinates([keys[p] for p in at]))
    if not vectors:
        return None
    weights = [0] * len(keys)
    for p, w in zip(at, vectors[0], strict=True):
        weights[p] = w
    pairs = [(word_against(signed, strengths), signed) for signed in (weights, [-w for w in weights])]
    sums = [sum(w * o for w, o in zip(signed, under(offsets, strengths, dips), strict=True)) for dips, signed in pairs]
    dips, signed = pairs[sums[0] > 0]  # one of the sums is at most 0, by the proof of T7-chain
    return dips, Impossible(tuple(signed), tuple(s for s, dip in enumerate([*dips, False], 1) if not dip))


@claim("T7-chain", kind="sampled", source="this project", assumption=GATE, d="0..m-2", r=Span(9, 4, 12, deep=12))
def chains_bound_the_dimension(r):
    """A gate of strengths D_i needs d >= m-1, m the longest chain p_1 < ... < p_m with |D_p| <= sum of |D_i| between p and the next.

    If d <= m-2, some lambda != 0 on the keys of the chain has sum lambda = 0 and sum lambda_s k_s = 0. Let c_i be the sum of lambda_1..
    lambda_i. A word w (w_i = 1: dip) moves sum lambda_s l_s to S(w) = sum lambda_s o_s - sum w_i D_i c_i. Take two words: w dips where
    lambda < 0, and, lambda being 0, where D_i c_i > 0; w' dips where lambda > 0, and, lambda being 0, where D_i c_i < 0. If w is
    realised, S(w) > 0; if w' is, S(w') < 0, by -lambda. But S(w') - S(w) = sum (w_i - w'_i) D_i c_i >= sum over the chain of |c_p| (sum
    of |D_i| between p and the next, where c is constant - |D_p|) >= 0: so one of them is not realised. (After the last p, c = 0.)

    Checked: the proof is for every head; a case is one head, generic or degenerate, under equal, random, growing and falling strengths of
    both signs, and its word that is not realised, with lambda, in exact arithmetic. The certificate has two heads of each.
    """
    rng = np.random.default_rng(9)
    gates = [[1] * (r - 1), [2**i for i in range(r - 1)], [2 ** (r - 1 - i) for i in range(r - 1)]]
    gates += rng.integers(-4, 5, (4, r - 1)).tolist()
    for strengths in gates:
        for d in range(1, len(chain(strengths)) - 1):
            for n, (_, keys, offsets) in enumerate([("", *moment_curve(r, d)), ("", *generic(rng, r, d)), *degenerate(rng, r, d)]):
                rows, shift = read_head(keys, offsets)
                found = impossible_word(rows, shift, strengths)
                holds = found is not None and refutes(found[1], rows, under(shift, strengths, found[0]))
                given = {"keys": [[str(x) for x in row] for row in rows], "offsets": [str(o) for o in shift], "strengths": strengths}
                proof = chain_proof(rows, shift, strengths, found[1].weights) if holds and n < 2 else None
                yield Case(holds, given | {"d": d}, evidence=proof)


def chain_proof(keys, offsets, strengths, weights):
    """Return the evidence of a dependency on a chain, as {chain, keys, offsets, lambda, strengths, S}.

    The keys with lambda != 0 are a chain too. Strengths are those from its first key to before its last; S is S(w), S(w') of the proof.
    """
    at = [p for p, w in enumerate(weights) if w]
    words = [word_against([sign * w for w in weights], strengths) for sign in (1, -1)]
    sides = [sum(w * o for w, o in zip(weights, under(offsets, strengths, dips), strict=True)) for dips in words]
    return {
        "chain": [p - at[0] for p in at],
        "keys": [[str(x) for x in keys[p]] for p in at],
        "offsets": [str(offsets[p]) for p in at],
        "lambda": [str(weights[p]) for p in at],
        "strengths": strengths[at[0] : at[-1]],
        "S": [str(side) for side in sides],
    }


@claim("T7-bits", kind="exhaustive", source="this project", assumption=GATE, scopes="b=1, r-1=12 | b=2, r-1=8")
def bits_bound_the_dimension():
    """A gate with b-bit strengths needs d >= floor((r-1)/(b+2)) - 1: at constant d, bits in proportion to r, where FPA needs log r.

    Strengths are integers of size under 2^b in some common unit. Any b+2 in a row have one that is at most the sum of those after it in
    the row: else the last is >= 0, the one before >= 1, then >= 2, 4, ..., and the first >= 2^b. One from each row makes a chain of
    floor((r-1)/(b+2)) (T7-chain). So b > (r-1)/(d+2) - 2.

    Checked: the longest chain of every vector of r-1 strengths in 0..2^b-1; a sign changes no chain.
    """
    for b, n in ((1, 12), (2, 8)):
        shortest = n
        for strengths in product(range(1 << b), repeat=n):
            m = len(chain(strengths))
            shortest = min(shortest, m)
            yield Case(m >= n // (b + 2), {"b": b, "strengths": list(strengths), "chain": m})
        yield Case(True, size=0, evidence={"b": b, "n": n, "shortest": shortest})


@claim("T7-one-strength", kind="exhaustive", source="this project", assumption=GATE, sizes="3..r", r=Span(14, 3, 18, deep=18))
def one_strength_is_enough_for_half(r):
    """With one dip strength for all rungs exactly d = floor(r/2) - 1 does all sets: r = 5 at d = 1, r = 7 at d = 2.

    No less does: with equal strengths every other position is a chain, so m = ceil((r-1)/2) (T7-chain). Enough: pair the keys, 2j-1 with
    2j, and give both e_j, the last pair (or the single key r-1) the zero key; offsets 2 on the first of a pair, 0 on the second, strength
    4, so that key 2j-1 is 2 above key 2j if it is alive and 2 below it if it is dead. If one of a pair is alive, the threshold goes
    between the two; else both go to the side where they belong, by q_j alone. Key r has the zero key and a large offset.

    Checked: every word of every size 3..r, with its query, in integers; the certificate has 32 words of each size.
    """
    for size in range(3, r + 1):
        keys, offsets = paired_head(size)
        for first in range(0, 1 << (size - 1), CHUNK):
            words = np.arange(first, min(first + CHUNK, 1 << (size - 1)))
            dips = (words[:, None] >> np.arange(size - 1)) & 1
            queries, thresholds = paired_answers(dips, offsets)
            logits = queries @ keys.T + lowered(offsets, dips) - thresholds[:, None]
            alive = np.pad(dips == 0, ((0, 0), (0, 1)), constant_values=True)
            bad = (np.where(alive, logits, -logits) <= 0).any(1)
            yield Case(not bad.any(), {"r": size, "word": int(words[np.argmax(bad)])}, len(words))
        words = spread(size)
        dips = (words[:, None] >> np.arange(size - 1)) & 1
        evidence = shown(words, keys, lowered(offsets, dips), *paired_answers(dips, offsets))
        yield Case(keys.shape[1] == size // 2 - 1, {"r": size, "d": keys.shape[1]}, 0, evidence)


def paired_head(r):
    """Return (keys, offsets): keys 2j-1, 2j are e_j, but 0 the last pair (or one) of r-1, and key r; offsets 2, 0, 2, 0, ..., large."""
    keys = np.eye(r, r // 2 - 1, dtype=np.int64)[[*(np.arange(r - 1) // 2), r - 1]]
    offsets = np.where(np.arange(r) % 2 == 0, 2, 0)
    offsets[-1] = 4 * STRENGTH * r
    return keys, offsets


def lowered(offsets, dips):
    """Return (N, r): offsets (r,) under the dips (N, r-1) of a word each."""
    return offsets - STRENGTH * np.pad(np.cumsum(dips[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))


def paired_answers(dips, offsets):
    """Return (queries (N, d), thresholds (N,)) with which the paired head realises the words of these dips (N, r-1)."""
    shift = pair_shifts(lowered(offsets, dips)[:, :-1], dips)
    return shift[:, : len(offsets) // 2 - 1] - shift[:, -1:], -shift[:, -1]


def pair_shifts(left, dips):
    """Return (N, pairs): what to add to both logits of a pair, (N, r-1) `left`, so that alive ones are above 0 and dead ones below."""
    if left.shape[1] % 2:
        left, dips = np.pad(left, ((0, 0), (0, 1)), mode="edge"), np.pad(dips, ((0, 0), (0, 1)), mode="edge")
    left, dips = left.reshape(len(left), -1, 2), dips.reshape(len(left), -1, 2)
    lowest_alive = np.where(dips == 0, left, left.max() + 9).min(2)
    highest_dead = np.where(dips == 1, left, left.min() - 9).max(2)
    return np.where((dips == 1).all(2), -1 - highest_dead, 1 - lowest_alive)

"""T8: keys fixed as they are written need d p >= r-2 bits of query, if a key is alive by its distance from the oldest alive one."""

from fractions import Fraction
from functools import cache
from itertools import product

from attnprobe.theory.claim import Case, Span, claim

RULE = (
    "criterion R: for a fixed s, a key is alive iff its logit is at least the oldest alive key's less s; the last key is always alive; keys"
    " may depend on what is written before them, offsets are fixed, and the query takes at most 2^(d p) values (p bits a coordinate: ours)"
)


@claim("T8-bound", kind="exhaustive", source="FPA paper", assumption=RULE, r=Span(10, 3, 12, deep=12))
def two_words_cannot_share_a_query(r):
    """Words that have rung 1 alive need a query each: 2^(r-2) queries, so d p >= r-2.

    Take two such words with one query, and their first difference, rung i. What is written up to key i is the same in both, so key 1 and
    key i have the same logits in both. Key 1 is the oldest alive key of both, the reference. So by R key i is alive in both or dead in
    both: but it is alive in one and dead in the other.

    Checked: every pair of words has such an i, after rung 1 and before the last rung, with equal prefixes.
    """
    words = [(0, *rest) for rest in product((0, 1), repeat=r - 2)]
    for a, one in enumerate(words):
        fits = True
        for other in words[:a]:
            i = next((i for i, (x, y) in enumerate(zip(one, other, strict=True)) if x != y), None)
            fits = fits and i is not None and 0 < i < r - 1 and one[:i] == other[:i]
        yield Case(fits and len(one) == r - 1, {"word": list(one)}, a)
    yield Case(True, size=0, evidence={"words": len(words)})


@claim(
    "T8-tight", kind="exhaustive", source="this project", assumption=RULE, sizes="3..r", p="divisors of size-2", r=Span(14, 3, 16, deep=16)
)
def as_many_bits_are_enough(r):
    """For every factorisation d p = r-2 some keys do all 2^(r-1) sets with 2^(d p) queries of d coordinates of p bits.

    s = 1. Key i has offset 3i. Let rung j be the oldest alive one: the rungs after it, r-1-j <= d p bits, are the query, p bits a
    coordinate, q_c = 1 + the bits of coordinate c, 1 for dead, first bit highest. Up to rung j content is 0, and the last key's too. The
    key of a later rung i knows j and the bits before its own, so the value mid at which its own bit becomes 1: coordinate c(i), content (T
    - o_i) / (mid - 1/2) with T = o_j - s. So its logit is o_i + (T - o_i) q_c / (mid - 1/2), at least T iff q_c < mid, as o_i > T: iff it
    is alive.

    Checked: every word of every size 3..r and every factorisation, in Fractions. The certificate has the number of queries.
    """
    for size in range(3, r + 1):
        for p in (p for p in range(1, size - 1) if (size - 2) % p == 0):
            queries = set()
            for word in product((0, 1), repeat=size - 1):
                query = ask(word, p)
                queries.add(query)
                logits = [3 * (i + 1) + content(key(i, word[:i], size, p), query) for i in range(size)]
                reference = logits[word.index(0) if 0 in word else size - 1]
                alive = [logit >= reference - 1 for logit in logits]
                yield Case(alive == [*(not dead for dead in word), True], {"r": size, "p": p, "word": list(word), "query": list(query)})
            count = {"r": size, "p": p, "queries": len(queries)}
            yield Case(len(queries) == 2 ** (size - 2), count, 0, count)


def ask(word, p):
    """Return the query of a word (1: dead): d coordinates in 1..2^p, the bits after the oldest alive rung, then 0."""
    after = word[word.index(0) + 1 :] if 0 in word else ()
    bits = [*after, *[0] * (len(word) - 1 - len(after))]
    return tuple(1 + int("".join(map(str, bits[c : c + p])), 2) for c in range(0, len(bits), p))


@cache  # many words share a prefix
def key(i, prefix, r, p):
    """Return key i, from 0, as (coordinate, number there), or None for the zero key; it is made from the rungs before it alone."""
    if i == r - 1 or 0 not in prefix:
        return None
    j = prefix.index(0)
    c, at = divmod(i - j - 1, p)
    middle = 1 + int("".join(map(str, [*prefix[j + 1 + c * p :], 1, *[0] * (p - 1 - at)])), 2)
    return c, Fraction(2 * (3 * (j + 1) - 1 - 3 * (i + 1)), 2 * middle - 1)


def content(key, query):
    """Return q . k of a key as `key` gives it."""
    return 0 if key is None else key[1] * query[key[0]]

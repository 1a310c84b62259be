"""T9 (limit of T8): with 'every alive logit above every dead one' keys that know their past need no query bits; p-bit keys do."""

from itertools import product

from attnprobe.theory.claim import Case, Span, claim
from attnprobe.theory.halfspaces import count_circuits, count_planar, halfspaces, littlestone

PLAIN = "realised = every alive logit strictly above every dead one; keys are real numbers that depend on what is written before them"
GRID = (
    "keys in {0..2^p-1}^d that depend on what is written before them; q and theta real and free, no offsets; the last key alive by an"
    " offset of its own"
)
SHOWN = 9  # free rungs up to which the certificate holds every key
# (d, p, halfspaces, Littlestone dimension)
FIGURES = (
    (1, 1, 4, 2), (1, 2, 8, 3), (1, 3, 16, 4), (1, 4, 32, 5), (2, 1, 14, 3), (2, 2, 174, 7), (2, 3, 2566, 11),
    (3, 1, 104, 6), (4, 1, 1882, 9),
)  # fmt: skip


@claim("T9-search", kind="exhaustive", source="this project", assumption=PLAIN, d=1, queries=1, r=Span(14, 2, 18, deep=18))
def one_query_is_enough(r):
    """One query and d = 1 do all 2^(r-1) sets by binary search in the reals: d p >= r-2 is false of this criterion.

    Key i bisects the interval that is left; if it is alive, what follows lies below it, if it is dead, above. So the last interval lies
    below all alive keys and above all dead ones; key r is far above.

    Limits: a key needs r-1 bits; T8 holds for criterion R, and T9-littlestone says what keys of p bits can do.

    Checked: every word, in integers: key i is made from the rungs before it alone. The certificate has the keys after every prefix of up
    to 8 free rungs.
    """
    for word in product((0, 1), repeat=r - 1):
        keys = [bisect(word[:i], r - 1) for i in range(r - 1)]
        alive = [key for key, dead in zip(keys, word, strict=True) if not dead]
        dead = [key for key, dead in zip(keys, word, strict=True) if dead]
        holds = max(dead, default=-1) < min(alive, default=2**r)
        yield Case(holds, {"r": r, "word": list(word), "keys": keys})
    n = min(r - 1, SHOWN)
    yield Case(True, size=0, evidence={"keys": [[bisect(prefix, n) for prefix in product((0, 1), repeat=i)] for i in range(n)]})


@claim("T9-littlestone", kind="exact", source="this project", assumption=GRID, pairs="(1,1..4), (2,1..3), (3,1), (4,1)")
def littlestone_dimensions():
    """Keys of p bits do 1 + L rungs, L the Littlestone dimension of halfspaces on {0..2^p-1}^d: (1,p): p+1, (2,1): 3, (3,1): 6, (2,2): 7.

    The keys are the points that an adversary shows, the word is the labels that it gives, and (q, theta) must fit all labels at the end:
    so all words of r-1 rungs are done iff halfspaces shatter a tree of depth r-1 (Littlestone 1988). Also (2,3): 11 and (4,1): 9. The
    dimension is at most log2 of the number of halfspaces: 4, 8, 16, 32, 14, 104, 174, 2566, 1882. All but (4,1) attain its floor; there
    no tree of depth 10 exists.

    Checked: halfspaces are listed by integer normals, and counted a second time: up to 16 points by the circuits of the grid, of 2^16
    sets; at (2,3) by the primitive vectors of the grid. The dimension is found by recursion over sets of halfspaces.
    """
    for d, p, number, dimension in FIGURES:
        listed = halfspaces(d, p)
        second = count_circuits(d, p) if d * p <= 4 else count_planar(2**p)
        found = littlestone(listed, 2 ** (d * p))
        holds = len(listed) == second == number and found == dimension
        row = {"d": d, "p": p, "halfspaces": len(listed), "dimension": found}
        yield Case(holds, row | {"second count": second}, evidence=row)


def bisect(prefix, n):
    """Return the key written after `prefix` (1: dead) when n keys share the interval 0..2^n: the middle of what is left."""
    low, high = 0, 1 << n
    for dead in prefix:
        middle = (low + high) // 2
        low, high = (middle, high) if dead else (low, middle)
    return (low + high) // 2

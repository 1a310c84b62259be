"""T11: H heads with independent sets under one shared mask need exactly floor((1 - 1/H)(r-1)) dimensions each."""

from itertools import product

from attnprobe.theory.claim import Case, Span, claim
from attnprobe.theory.programs import greatest_margin
from attnprobe.theory.realisation import realise

SHARED = "all heads add one mask, any function of the wanted sets, that covers key r too; each head wants a set of its own, key r in it"
PRIME = (1 << 61) - 1  # a rank modulo a prime is at most the rank over the rationals


@claim("T11-heads", kind="exact", source="this project", assumption=SHARED, H="1..6", r=Span(13, 3, 16, deep=16))
def sharing_saves_one_head_in_all(r):
    """H heads with independent sets under one shared mask need exactly d = floor((1 - 1/H)(r-1)): sharing saves 1/H, a half at best.

    Let n = r-1. All 2^(H n) joint choices are realised iff no lambda != 0, one number a head and key, has sum over h = 0 at every key
    (the mask), and for each head sum over s of lambda_hs = 0 (the threshold) and sum lambda_hs k_hs = 0 (the query): a sign pattern that
    such a lambda forbids is forbidden whatever the offsets, up to the sign of lambda, and rows without a dependency take every sign. The
    first two conditions leave (H-1)(n-1) dimensions, the third is H d conditions more. So (a) if H d < (H-1)(n-1) there is a lambda, for
    all keys: d >= (H-1)(n-1)/H, and the least such integer is floor((H-1) n / H). (b) Generic keys reach it: d generic conditions on each
    of H rows have rank min over J of d (H - |J|) + (dimension of the rows J) (Lovász 1977), which is |J| (n-1) for |J| < H and (H-1)(n-1)
    for all: the least is min(H d, (H-1)(n-1)), as d <= n-1.

    Limits: where the mask spares key r, only T10's 2d >= r-2 is shown.

    Checked: for every size 3..r and H, keys that are powers of H d nodes: independent rows at d, by rank modulo a prime, and dependent
    ones at d-1.
    """
    for H in range(1, 7):
        for size in range(3, r + 1):
            d = (H - 1) * (size - 1) // H
            ranks = [rank_modulo(joint_rows(H, size, width), PRIME) for width in range(max(0, d - 1), d + 1)]
            rows = H * (size - 1)
            holds = ranks[-1] == rows and all(rank < rows for rank in ranks[:-1])
            row = {"H": H, "r": size, "d": d, "ranks": ranks}
            yield Case(holds, row, evidence=row)


@claim("T11-joint", kind="exhaustive", source="this project", assumption=SHARED, H=3, r=4, d="1, 2")
def three_heads_of_four_rungs():
    """Three heads of four rungs realise 512 of 512 joint sets at d = 2, and 511 at d = 1, for one choice of keys and offsets.

    At d = 1 the rows have one dependency, with no zero in it: it forbids one sign pattern.

    Checked: every joint set, by the circuits of the joint rows and again by linear programs; d = 2 is floor((1 - 1/3) 3).
    """
    for d, expected in ((1, 511), (2, 512)):
        rows = [*joint_rows(3, 4, d), [0] * (6 + 3 * d)]
        offsets = [*((7 * i * i) % 11 for i in range(9)), 1000]
        table = realise(rows, offsets).table
        programs = [greatest_margin(rows, offsets, word) > 1e-6 for word in range(512)]
        holds = table.tolist() == programs and int(table.sum()) == expected
        yield Case(holds, {"d": d, "realised": int(table.sum()), "by programs": sum(programs)}, 512, {"d": d, "realised": int(table.sum())})


def joint_rows(H, r, d):
    """Return the H (r-1) rows of the conditions on lambda: head h at key s sees the mask M_s, its threshold, and its query, q_h . k_hs.

    Keys are powers: coordinate j of k_hs is x^s, s = 0..r-2, for a node x of head h; the H d nodes are 2, 3, 4, ...
    """
    rows = []
    for h, s in product(range(H), range(r - 1)):
        own = [node**s if h == other else 0 for other in range(H) for node in range(2 + other * d, 2 + other * d + d)]
        rows.append([*(int(s == other) for other in range(r - 1)), *(int(h == other) for other in range(H)), *own])
    return rows


def rank_modulo(rows, prime):
    """Return the rank of an integer matrix modulo a prime."""
    rows, rank = [[x % prime for x in row] for row in rows], 0
    for column in range(len(rows[0])):
        at = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if at is None:
            continue
        rows[rank], rows[at] = rows[at], rows[rank]
        pivot, inverse = rows[rank], pow(rows[rank][column], -1, prime)
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column] * inverse % prime
            if factor:
                rows[i] = [(x - factor * y) % prime for x, y in zip(rows[i], pivot, strict=True)]
        rank += 1
    return rank

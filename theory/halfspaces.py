"""Affine halfspaces of the grid {0..2^p-1}^d as bit sets of its points, how many there are, and their Littlestone dimension."""

from itertools import product
from math import gcd

# Greatest entry of a normal that is ever needed. d = 1: 1. d = 2: the order of an n x n grid along a normal changes only at normals of
# entries < n; between two neighbours of these lies their sum, of entries < 2n. d = 3, 4 at p = 1: 2 and 3 (Muroga 1971).
PLANE, CUBES = 2, {3: 2, 4: 3}


def halfspaces(d, p):
    """Return the set of {x: q.x >= theta} on {0..2^p-1}^d, as integers with bit i set iff point i, in lexical order, is in."""
    points = list(product(range(2**p), repeat=d))
    most = {1: 1, 2: PLANE * 2**p}.get(d) or CUBES[d]
    found = {0}
    for normal in product(range(-most, most + 1), repeat=d):
        levels = {}
        for i, point in enumerate(points):
            level = sum(q * x for q, x in zip(normal, point, strict=True))
            levels[level] = levels.get(level, 0) | 1 << i
        inside = 0
        for level in sorted(levels, reverse=True):
            inside |= levels[level]
            found.add(inside)
    return found


def count_circuits(d, p):
    """Return the number of halfspaces of the grid, d p <= 4, as alive sets of its points, beside a last key that is always alive."""
    from attnprobe.theory.realisation import realise

    points = list(product(range(2**p), repeat=d))
    return realise([*points, (0,) * d], [*[0] * len(points), 1]).count


def count_planar(n):
    """Return the number of halfspaces of an n x n grid: 2 (1 + sum (n-|a|)(n-|b|)) over primitive vectors (a, b) up to sign.

    A line that turns by half a turn goes through each pair of neighbours on a common line once, and each time a new pair of sides comes up.
    """
    vectors = [(a, b) for a in range(n) for b in range(1 - n, n) if gcd(a, b) == 1 and (a > 0 or b > 0)]
    return 2 * (1 + sum((n - a) * (n - abs(b)) for a, b in vectors))


def littlestone(functions, points):
    """Return the greatest k such that some tree of depth k over the points is shattered by the functions, bit sets of points (0..points-1).

    A set shatters depth k iff some point splits it into two sets that shatter depth k-1, so it has at least 2^k functions.

    >>> littlestone({0b00, 0b01, 0b10}, 2)
    1
    """
    known = {}

    def shatters(family, depth):
        if depth == 0 or len(family) < 1 << depth:
            return depth == 0 and bool(family)
        if (family, depth) not in known:
            known[family, depth] = any(shatters(small, depth - 1) and shatters(large, depth - 1) for small, large in splits(family, depth))
        return known[family, depth]

    def splits(family, depth):
        pairs = []
        for i in range(points):
            inside = frozenset(f for f in family if f >> i & 1)
            outside = family - inside
            pairs.append(sorted((inside, outside), key=len))
        return sorted((pair for pair in pairs if len(pair[0]) >= 1 << (depth - 1)), key=lambda pair: -len(pair[0]))

    family = frozenset(functions)
    depth = len(family).bit_length() - 1
    while not shatters(family, depth):
        depth -= 1
    return depth

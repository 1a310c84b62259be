"""Conjunctions on a chain 0..n-1: monotone tables x * y with the top, n-1, as neutral element; t-norms also associate and commute.

A table is a list of rows. Monotony and the neutral top give x * y <= min(x, y).
"""

import itertools
from math import factorial, prod


def tables(n, commutative=False, prune=lambda table: True):
    """Yield every monotone table with neutral top, or every commutative one; `prune` gives up a partial table (None = open) if false."""
    cells = [(i, j) for i in range(n - 1) for j in range(i + 1 if commutative else n - 1)]
    table = [[i if j == n - 1 else j if i == n - 1 else None for j in range(n)] for i in range(n)]

    def fill(k):
        if k == len(cells):
            yield [list(row) for row in table]
            return
        i, j = cells[k]
        low = max([0, *(table[i - 1][j : j + 1] if i else []), *(table[i][j - 1 : j] if j else [])])
        for value in range(low, min(i, j) + 1):
            _put(table, i, j, value, commutative)
            if prune(table):
                yield from fill(k + 1)
        _put(table, i, j, None, commutative)

    yield from fill(0)


def t_norms(n):
    """Yield every t-norm, giving up a partial table at the first triple that is not associative."""
    return tables(n, commutative=True, prune=associative)


def associative(table):
    """Return whether (a * b) * c = a * (b * c) wherever a table, partial or whole, says both."""
    for a, b, c in itertools.product(range(len(table)), repeat=3):
        first, second = table[a][b], table[b][c]
        if first is not None and second is not None:
            left, right = table[first][c], table[a][second]
            if left is not None and right is not None and left != right:
                return False
    return True


def idempotent(table):
    """Return whether x * x = x for all x."""
    return all(table[x][x] == x for x in range(len(table)))


def commutative_count(n):
    """Return the number of commutative tables, that of alternating sign matrices of n-1 rows, 1, 1, 2, 7, 42, 429 (OEIS A005130)."""
    return prod(factorial(3 * k + 1) for k in range(n - 1)) // prod(factorial(n - 1 + k) for k in range(n - 1))


def monotone_count(n):
    """Return the number of tables, 1, 1, 2, 11, 170, 7429: totally symmetric pairs of plane partitions (OEIS A051255)."""
    above = prod((3 * i + 1) * factorial(6 * i) * factorial(2 * i) for i in range(n - 1))
    return above // prod(factorial(4 * i) * factorial(4 * i + 1) for i in range(n - 1))


def _put(table, i, j, value, commutative):
    table[i][j] = value
    if commutative:
        table[j][i] = value

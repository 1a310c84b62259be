"""Aggregates of finite paths over a chain: the axioms as moves between sequences, what they force to be equal, and how many obey them.

A path is a nonempty tuple over the chain 0..n-1; an aggregate f maps paths to a chain. Axioms: symmetry (order does not matter), monotony
(raising an element never lowers f), repetition (repeating an element next to itself changes nothing), top (inserting n-1 anywhere changes
nothing).
"""

import itertools
from fractions import Fraction

AXIOMS = ("symmetry", "monotony", "repetition")


def paths(n, L):
    """Return all sequences of length 1..L on the chain 0..n-1, as tuples."""
    return [x for length in range(1, L + 1) for x in itertools.product(range(n), repeat=length)]


def moves(nodes, n, axioms):
    """Yield (x, y) for each f(x) <= f(y) that one use of an axiom says of two sequences of `nodes`; equalities in both directions."""
    known = set(nodes)
    for x in nodes:
        for i, value in enumerate(x):
            if "monotony" in axioms and value < n - 1:
                yield x, (*x[:i], value + 1, *x[i + 1 :])
            equal = {"symmetry": (*x[:i], *x[i + 1 : i + 2], value, *x[i + 2 :]), "repetition": (*x[:i], value, *x[i:])}
            equal["top"] = (*x[:i], n - 1, *x[i:])
            for axiom, y in equal.items():
                if axiom in axioms and y in known:
                    yield x, y
                    yield y, x
        if "top" in axioms and (*x, n - 1) in known:
            yield x, (*x, n - 1)
            yield (*x, n - 1), x


def components(nodes, n, axioms):
    """Return for each node the number of its strong component in the graph of `moves`: f is forced to be equal exactly within one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {x: i for i, x in enumerate(nodes)}
    edges = [(number[x], number[y]) for x, y in moves(nodes, n, axioms)] or [(0, 0)]
    rows, columns = zip(*edges, strict=True)
    graph = coo_array(([1] * len(edges), (rows, columns)), shape=(len(nodes), len(nodes))).tocsr()
    return connected_components(graph, directed=True, connection="strong")[1].tolist()


def aggregates(n, m, L):
    """Return how many f from the sequences of length 1..L on an n-chain to 0..m-1 obey the three axioms, by backtracking."""
    nodes = paths(n, L)
    place = {x: i for i, x in enumerate(nodes)}
    below, above = ([[] for _ in nodes] for _ in range(2))
    for x, y in moves(nodes, n, AXIOMS):
        i, j = place[x], place[y]
        if i < j:
            below[j].append(i)
        elif i > j:
            above[i].append(j)
    values = []

    def extend():
        i = len(values)
        if i == len(nodes):
            return 1
        low = max((values[j] for j in below[i]), default=0)
        high = min((values[j] for j in above[i]), default=m - 1)
        total = 0
        for value in range(low, high + 1):
            values.append(value)
            total += extend()
            values.pop()
        return total

    return extend()


def plane_partitions(n, m):
    """Return the number of symmetric plane partitions in an n x n x (m-1) box, by MacMahon's product."""
    product = Fraction(1)
    for i, j in itertools.combinations_with_replacement(range(1, n + 1), 2):
        product *= Fraction(m + i + j - 2, i + j - 1)
    return product.numerator if product.denominator == 1 else 0

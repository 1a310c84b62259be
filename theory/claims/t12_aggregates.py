"""T12: an aggregate of a path that ignores order and duration sees no more of it than its least and greatest value."""

from attnprobe.theory.aggregates import AXIOMS, aggregates, components, moves, paths, plane_partitions
from attnprobe.theory.claim import Case, Span, claim

LONGEST = 5  # sequence


def endpoints(x):
    """Return (min, max) of a sequence."""
    return min(x), max(x)


@claim("T12-minmax", kind="exhaustive", source="FPA paper", chains="1..n", lengths="1..5", n=Span(4, 1, 5))
def depends_on_min_and_max(n):
    """A symmetric, monotone aggregate unchanged by repeating an adjacent element is a function of (min, max), and of no less.

    Let x have least value a and greatest b. Sorted, it lies pointwise between (a, ..., a, b) and (a, b, ..., b); repetitions removed, both
    are (a, b). So f(a, b) <= f(x) <= f(a, b). Both values count: f = min and f = max obey the three axioms.

    Checked: the axioms are inequalities f(x) <= f(y) between sequences, edges of a graph; f is forced to be equal exactly on its strong
    components, and these are compared with the classes of (min, max). All sequences of length <= 5 on each chain. The certificate's check
    recounts the classes.
    """
    classes = []
    for size in range(1, n + 1):
        nodes = paths(size, LONGEST)
        forced = components(nodes, size, AXIOMS)
        seen = [endpoints(x) for x in nodes]
        classes.append(len(set(forced)))
        holds = len(set(zip(forced, seen, strict=True))) == len(set(seen)) == classes[-1]
        evidence = {"classes": classes} if size == n else None
        yield Case(holds, {"n": size, "classes": classes[-1]}, len(nodes), evidence)


@claim("T12-min", kind="exhaustive", source="FPA paper", chains="1..n", lengths="1..5", n=Span(4, 1, 5))
def depends_on_min(n):
    """A monotone aggregate that repetition and adding the top value leave unchanged is a function of min alone, symmetric or not.

    Raise all but one least element a of x to top, and leave the tops out: f(x) <= f(a). Lower all of x to a, and leave the repetitions
    out: f(a) <= f(x). Neither step uses symmetry. f = min obeys all axioms, so no less than min counts.

    Checked: as T12-minmax, with 'top may be inserted anywhere' for an axiom, with symmetry and without it. The certificate's check recounts
    the classes.
    """
    classes = []
    for size in range(1, n + 1):
        nodes = paths(size, LONGEST)
        least = [endpoints(x)[0] for x in nodes]
        for axioms in (("monotony", "repetition", "top"), (*AXIOMS, "top")):
            forced = components(nodes, size, axioms)
            count = len(set(forced))
            holds = len(set(zip(forced, least, strict=True))) == len(set(least)) == count
            evidence = {"classes": [*classes, count]} if size == n and "symmetry" in axioms else None
            yield Case(holds, {"n": size, "axioms": list(axioms), "classes": count}, len(nodes), evidence)
        classes.append(count)


@claim("T12-count", kind="exhaustive", source="this project; MacMahon 1916", chains="1..n", lengths="1..3", values="1..3", n=Span(3, 1, 4))
def counts_agree(n):
    """The aggregates of T12-minmax from an n-chain to an m-chain number prod_{1<=i<=j<=n} (m+i+j-2)/(i+j-1).

    By T12-minmax they are the monotone maps of the pairs a <= b, ordered by both, a shifted staircase: the symmetric plane partitions in an
    n x n x (m-1) box, which MacMahon's product counts.

    Checked: listed by backtracking over the values of all sequences of length <= 3 under the axioms themselves, without T12-minmax, against
    the product. The certificate's check lists the monotone maps.
    """
    table = []
    for size in range(1, n + 1):
        for m in range(1, 4):
            listed, product = aggregates(size, m, 3), plane_partitions(size, m)
            table.append([size, m, listed])
            evidence = {"table": table} if (size, m) == (n, 3) else None
            yield Case(listed == product, {"n": size, "m": m, "listed": listed, "product": product}, evidence=evidence)


# Each obeys all axioms but the one it is listed under, and differs on the two sequences though (min, max) does not.
NEEDED = {
    "symmetry": (lambda x: x[-1], (0, 1), (1, 0)),
    "repetition": (sum, (0, 1), (0, 1, 1)),
    "monotony": (lambda x: len(set(x)), (0, 2), (0, 1, 2)),
}


@claim("T12-needed", kind="exhaustive", source="this project", chain="3", lengths="1..4")
def each_axiom_is_needed():
    """No axiom of T12-minmax can be left out: the last value, the sum, and the number of values see more than (min, max).

    Limits: without symmetry, 'last value' is monotone and unchanged by repetition, and differs on (0, 1) and (1, 0). Without repetition:
    the sum, on (0, 1) and (0, 1, 1). Without monotony: the number of distinct values, on (0, 2) and (0, 1, 2).

    Checked: each obeys the other two axioms on all sequences of length <= 4 on a chain of 3, and breaks its own. The certificate's check
    evaluates each on its pair.
    """
    nodes = paths(3, 4)
    for axiom, (f, x, y) in NEEDED.items():
        broken = {name for name in AXIOMS for a, b in moves(nodes, 3, (name,)) if f(a) > f(b)}
        holds = broken == {axiom} and endpoints(x) == endpoints(y) and f(x) != f(y)
        evidence = {"axiom": axiom, "pair": [list(x), list(y)]}
        yield Case(holds, {"axiom": axiom, "broken": sorted(broken), "x": list(x), "y": list(y)}, len(nodes), evidence)

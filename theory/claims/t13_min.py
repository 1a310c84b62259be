"""T13: of all conjunctions on a chain only min ignores repetition, that is, how long a path stays where it is."""

from attnprobe.theory import conjunctions
from attnprobe.theory.claim import Case, Span, claim

# OEIS A030453: t-norms on chains of 1, 2, 3, ... elements
T_NORMS = (1, 1, 2, 6, 22, 94, 451, 2386, 13775)


def lowest(n):
    """Return the table of min."""
    return [[min(x, y) for y in range(n)] for x in range(n)]


@claim("T13-min", kind="exhaustive", source="FPA paper", chains="1..n", n=Span(5, 1, 6, 6))
def only_min_is_idempotent(n):
    """A monotone operation on a chain that is idempotent and has top as its neutral element is min.

    Let x <= y. Then x = x * x <= x * y <= x * top = x, and likewise y * x = x. Neither commutativity nor associativity is used.

    Checked: every monotone table with neutral top is listed on each chain, as many as the closed form says (1, 1, 2, 11, 170), and the
    idempotent ones are compared with min: one each. The certificate's check compares the counts with these.
    """
    counts = []
    for size in range(1, n + 1):
        found = list(conjunctions.tables(size))
        counts.append(len(found))
        left = [table for table in found if conjunctions.idempotent(table)]
        holds = left == [lowest(size)] and len(found) == conjunctions.monotone_count(size)
        yield Case(holds, {"n": size, "tables": len(found), "idempotent": left}, len(found), {"counts": counts} if size == n else None)


@claim("T13-count", kind="exhaustive", source="FPA paper; OEIS A030453", chains="1..n", n=Span(7, 1, 9, 8))
def t_norms_are_counted(n):
    """The t-norms on chains of 1..7 elements number 1, 1, 2, 6, 22, 94, 451, and one on each is idempotent.

    A t-norm is monotone, commutative, associative and has top as its neutral element; by T13-min the idempotent one is min. Of the 451
    conjunctions of 7 degrees, 450 count repetitions.

    Checked: listed by backtracking that gives up a table at the first triple that is not associative, and up to 7 elements also by listing
    all commutative tables (1, 1, 2, 7, 42, 429, 7436, as the closed form says) and testing each whole. The certificate carries the t-norms
    of 4 elements and all counts; its check tests the axioms on these tables, that they differ, and the counts.
    """
    counts = []
    for size in range(1, n + 1):
        found = list(conjunctions.t_norms(size))
        counts.append(len(found))
        left = [table for table in found if conjunctions.idempotent(table)]
        holds = left == [lowest(size)] and len(found) == T_NORMS[size - 1] and (size > 7 or found == _tested(size))
        evidence = {"counts": counts, "four": list(conjunctions.t_norms(4))} if size == n else None
        yield Case(holds, {"n": size, "t-norms": len(found), "idempotent": left}, len(found), evidence)


def _tested(n):
    """Return the t-norms among all commutative tables; empty if these are not as many as their closed form says."""
    found = list(conjunctions.tables(n, commutative=True))
    if len(found) != conjunctions.commutative_count(n):
        return []
    return [table for table in found if conjunctions.associative(table)]

"""T14: a sum of dips confuses the depth of a dip with its duration, unless all durations are equal."""

import itertools
from fractions import Fraction

from attnprobe.theory.claim import Case, Span, claim

CROSSED = "every depth is crossed with every duration; scores are fitted by least squares, linearly and without an intercept"


@claim("T14-residual", kind="exhaustive", source="FPA paper", assumption=CROSSED, depths="each set of 1..4", m=Span(5, 1, 7))
def exact_iff_durations_are_equal(m):
    """A sum of dips fits graded depths exactly iff durations are equal: the residual is sum d^2 (M - (sum m)^2 / sum m^2).

    Dips of depth d and duration m sum to d m; w d m is to be d for all d, m, and M is the number of durations. The best w is sum d^2 m /
    sum d^2 m^2 = sum m / sum m^2 (the sum over d factors out), and sum (w d m - d)^2 = sum d^2 (M - (sum m)^2 / sum m^2). By
    Cauchy-Schwarz it is 0 iff m is constant. For m in {1, 2}: w = 3/5 and residual sum d^2 / 5. The minimum of the path is d, whatever m.

    Limits: an exact linear fit only. A soft minimum of sums comes arbitrarily near (T14-softmin), and so can an intercept for one depth.

    Checked: all sets of depths from 1..4 and of durations from 1..m, the residual summed pair by pair at the best w in Fractions against
    the closed form, and w + 1/7, w - 1/7 shown to be worse. The certificate's check sums the squares over the pairs of depths 1..4 and
    durations 1..m again.
    """
    everything = (range(1, 5), range(1, m + 1))
    for depths, durations in itertools.product(*map(_subsets, everything)):
        w, residual = best_weight(durations), closed_residual(depths, durations)
        holds = squares(w, depths, durations) == residual and (residual == 0) == (len(durations) == 1)
        holds &= all(squares(w + by, depths, durations) > residual for by in (Fraction(1, 7), Fraction(-1, 7)))
        whole = (depths, durations) == tuple(map(tuple, everything))
        evidence = {"w": str(w), "residual": str(residual)} if whole else None
        yield Case(holds, {"depths": list(depths), "durations": list(durations), "w": str(w), "residual": str(residual)}, evidence=evidence)


@claim("T14-symbols", kind="symbolic", source="FPA paper", assumption=CROSSED, durations="two, any")
def two_durations_in_symbols():
    """With any two durations m, n the least residual is sum d^2 (m - n)^2 / (m^2 + n^2): 0 iff m = n.

    The derivative in w of (w m - 1)^2 + (w n - 1)^2 vanishes at w = (m + n) / (m^2 + n^2); there the value is (m - n)^2 / (m^2 + n^2). At
    (1, 2): 3/5 and 1/5.

    Checked: sympy solves for w and simplifies the difference to 0. The certificate's check tests w and the residual at (m, n) = (1, 2) and
    (2, 5) in Fractions.
    """
    import sympy

    m, n, w = sympy.symbols("m n w", positive=True)
    loss = fitted(w, m) + fitted(w, n)
    (best,) = sympy.solve(sympy.diff(loss, w), w)
    residual = sympy.simplify(loss.subs(w, best))
    yield Case(sympy.simplify(residual - (m - n) ** 2 / (m**2 + n**2)) == 0, {"residual": str(residual)})
    yield Case(sympy.diff(loss, w, 2).is_positive is True, {"second derivative": str(sympy.diff(loss, w, 2))})
    points = [[a, b, *(str(f.subs({m: a, n: b})) for f in (best, residual))] for a, b in ((1, 2), (2, 5))]
    yield Case(points[0][2:] == ["3/5", "1/5"], {"points": points}, evidence={"points": points})


@claim("T14-softmin", kind="exact", source="this project", terms="1..5 of 0..4", powers="e^(-1/tau) = 1/2, 1/3, 1/10")
def soft_minimum_is_near():
    """A soft minimum, the log of a SUM of exponentials, errs by at most tau * log(number of terms): T14 is about linear fits only.

    With q = e^(-1/tau) < 1, softmin(x) = -tau log sum q^x_i. The sum is at least its largest term q^min, and at most N times that: min -
    tau log N <= softmin <= min.

    Limits: so a sum can grade depths as nearly as you like, in a scale that grows like the log of the duration.

    Checked: q^min <= sum q^x_i <= N q^min in Fractions for all multisets; the upper end is attained where all terms are equal. The
    certificate's check tests the longest constant path and a mixed one.
    """
    for q in (Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)):
        for x in (x for length in range(1, 6) for x in itertools.combinations_with_replacement(range(5), length)):
            total, least = soft(q, x), q ** min(x)
            holds = least <= total <= len(x) * least and (total == len(x) * least) == (len(set(x)) == 1)
            evidence = {"q": str(q), "x": list(x), "sum": str(total)} if x in ((4,) * 5, (1, 2, 4)) else None
            yield Case(holds, {"q": str(q), "x": list(x), "sum": str(total)}, evidence=evidence)


def best_weight(durations):
    """Return w = sum m / sum m^2."""
    return Fraction(sum(durations), sum(m * m for m in durations))


def closed_residual(depths, durations):
    """Return sum d^2 (M - (sum m)^2 / sum m^2)."""
    return sum(d * d for d in depths) * (len(durations) - Fraction(sum(durations) ** 2, sum(m * m for m in durations)))


def squares(w, depths, durations):
    """Return sum (w d m - d)^2 over all pairs."""
    return sum(d * d * fitted(w, m) for d in depths for m in durations)


def fitted(w, m):
    """Return the squared error (w m - 1)^2 of one dip of depth 1 and duration m."""
    return (w * m - 1) ** 2


def soft(q, x):
    """Return sum q^x_i."""
    return sum(q**value for value in x)


def _subsets(values):
    values = tuple(values)
    return [chosen for size in range(1, len(values) + 1) for chosen in itertools.combinations(values, size)]

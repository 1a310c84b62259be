"""T15: a rectified normaliser feels a shift of its scores, which softmax does not, and a threshold undoes it exactly."""

import itertools
from fractions import Fraction

from attnprobe.theory.claim import Case, Span, claim

SHARPNESS = 10  # p of the power norm
VALUES = "rows of 3 scores in -2..2"


@claim("T15-softmax", kind="symbolic", source="Zhukov 2026, pn_fir_tau", keys="2..5")
def softmax_ignores_a_shift():
    """Softmax is invariant under a shift of all scores: e^(x_i + c) / sum e^(x_j + c) = e^(x_i) / sum e^(x_j).

    The factor e^c leaves the sum and cancels.

    Limits: not under a contraction; e^(a x_i) / sum e^(a x_j) depends on a.

    Checked: sympy simplifies the difference to 0, for 2..5 keys, and finds a contraction's not to be 0. The certificate's check evaluates
    both with powers of 2 in place of e.
    """
    import sympy

    for keys in range(2, 6):
        scores, c = sympy.symbols(f"x:{keys}", real=True), sympy.symbols("c", real=True)
        shifted = softmax([score + c for score in scores], sympy.exp)
        difference = [sympy.simplify(after - before) for after, before in zip(shifted, softmax(scores, sympy.exp), strict=True)]
        yield Case(not any(difference), {"keys": keys, "difference": [str(d) for d in difference]}, keys)
    rows = [softmax(row, lambda x: Fraction(2) ** x) for row in ((0, 1, 3), (2, 3, 5), (0, 2, 6))]
    evidence = {"weights": [[str(w) for w in row] for row in rows]}
    yield Case(rows[0] == rows[1] != rows[2], evidence, evidence=evidence)


@claim("T15-dead", kind="exhaustive", source="Zhukov 2026, pn_fir_tau", rows=VALUES, shift=Span(5, 3, 8))
def a_shift_kills_a_row(shift):
    """A rectified row with tau = 0 dies iff its scores are shifted down by at least the largest of them; softmax's never does.

    relu(x_i - c) = 0 for all i iff max x <= c: weights and gradients are 0. Just under it, one key takes everything.

    Checked: all rows against all shifts c = -2..shift by quarters, and c one part in 10^9 below the maximum. The certificate's check redoes
    the row (-1, 0, 2).
    """
    for row in itertools.product(range(-2, 3), repeat=3):
        shifts = [Fraction(c, 4) for c in range(-8, 4 * shift + 1)]
        dead = [power_norm([x - c for x in row], 0) is None for c in shifts]
        near = power_norm([x - max(row) + Fraction(1, 10**9) for x in row], 0)
        holds = dead == [c >= max(row) for c in shifts] and near == [Fraction(x == max(row), row.count(max(row))) for x in row]
        evidence = {"row": list(row), "least": str(shifts[dead.index(True)])} if row == (-1, 0, 2) else None
        yield Case(holds, {"row": list(row), "dead": dead}, len(shifts) + 1, evidence)


@claim("T15-threshold", kind="exhaustive", source="Zhukov 2026, pn_fir_tau", rows=VALUES, grid="m, tau, a: see Checked")
def a_threshold_undoes_it():
    """Shift and contraction about m, x' = m + a (x - m), are undone exactly by tau' = m + a (tau - m), for any a > 0.

    x' - tau' = a (x - tau), so relu(x' - tau')^p = a^p relu(x - tau)^p, and a^p leaves the normalised power. For a shift by c,
    tau' = tau - c.

    Limits: the weights' direction only. The gate gamma(R), R = max relu(x - tau), feels a: with R / (1 + R), R = 1 and a = 1/2 give 1/2 and
    1/3. ReLU attention, which does not normalise, gets its shift undone and keeps the factor a.

    Checked: all rows; m the mean, the maximum and 0; tau in -3..2 by halves; a in 1/5, 1/2, 1, 3; shifts -2..2; p = 10, Fractions. The
    certificate's check redoes a row.
    """
    for row in itertools.product(range(-2, 3), repeat=3):
        wrong, count = [], 0
        for tau in (Fraction(t, 2) for t in range(-6, 5)):
            before = power_norm(row, tau)
            for m, a in itertools.product((Fraction(sum(row), 3), max(row), 0), (Fraction(1, 5), Fraction(1, 2), 1, 3)):
                after = power_norm([m + a * (x - m) for x in row], undone(tau, m, a))
                wrong += [{"row": list(row), "tau": str(tau), "m": str(m), "a": str(a)}] if before != after else []
            for c in range(-2, 3):
                after = power_norm([x - c for x in row], undone(tau, c, 1) - c)
                wrong += [{"row": list(row), "tau": str(tau), "shift": c}] if before != after else []
            count += 17
        evidence = {"row": list(row), "weights": [str(w) for w in power_norm(row, 0)]} if row == (0, 1, 2) else None
        yield Case(not wrong, wrong[0] if wrong else None, count, evidence)
    gates = [R / (1 + R) for R in (Fraction(1), Fraction(1, 2))]
    yield Case(gates[0] != gates[1], {"gates": [str(g) for g in gates]}, evidence={"gates": [str(g) for g in gates]})


def softmax(scores, exp):
    """Return exp(x_i) / sum exp(x_j)."""
    powers = [exp(x) for x in scores]
    return [power / sum(powers) for power in powers]


def power_norm(scores, tau, p=SHARPNESS):
    """Return relu(x_i - tau)^p / sum relu(x_j - tau)^p, or None where the sum is 0: a dead row."""
    powers = [max(Fraction(0), Fraction(x - tau)) ** p for x in scores]
    total = sum(powers)
    return [power / total for power in powers] if total else None


def undone(tau, m, a):
    """Return the threshold that undoes a contraction by a about m."""
    return m + a * (tau - m)

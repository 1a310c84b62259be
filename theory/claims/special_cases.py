"""Forget gates, the bottleneck bias, learned expiry and ALiBi are points of forgetting by path, phi = W + g, psi = W + h."""

import functools
import itertools

from attnprobe.theory.claim import Case, Span, claim

SCALARS = "an identity of scalar sequences, whether or not a linear map of x yields them"


def bias(delta, g, h, s, t, least=min):
    """Return min(0, min_{s<u<=t} phi_u - psi_s), 0 at s = t, with phi = W + g, psi = W + h, W the running sum of delta."""
    if s == t:
        return 0
    W = list(itertools.accumulate(delta))
    lowest = functools.reduce(least, (W[u] + g[u] for u in range(s + 1, t + 1)))
    return least(0, lowest - W[s] - h[s])


@claim("special-integers", kind="exhaustive", source="FPA paper", assumption=SCALARS, values="0..3", T=Span(5, 1, 6))
def in_integers(T):
    """FoX, the bottleneck bias and learned expiry are forgetting by path with two of delta, g, h left out.

    FoX: delta = log f <= 0, g = h = 0, beta = 1. W falls, so its minimum over s < u <= t is W_t, and W_t - W_s = sum log f_u. Bottleneck:
    delta = 0, g = gamma, h = 0: min(0, min gamma_u). Expiry: delta = -1, g = 0, h = -e: the minimum is at t, and -(t - s) + e_s, clipped at
    0; with e = 0 it is ALiBi's -(t - s).

    Checked: three identities for each of the 4^T sequences and each pair s <= t: 46,080 at T = 5. The certificate's check redoes them for
    the sequence that it carries.
    """
    zero, falling, last = [0] * T, [-1] * T, [n % 4 for n in range(T)]
    for values in itertools.product(range(4), repeat=T):
        drops = [-v for v in values]
        wrong, rows = [], []
        for s, t in itertools.combinations_with_replacement(range(T), 2):
            fox = bias(drops, zero, zero, s, t), sum(drops[s + 1 : t + 1])
            bottleneck = bias(zero, drops, zero, s, t), min(drops[s + 1 : t + 1], default=0)
            expiry = bias(falling, zero, drops, s, t), min(0, values[s] - (t - s)) if s < t else 0
            pairs = {"fox": fox, "bottleneck": bottleneck, "expiry": expiry}
            wrong += [{"case": name, "s": s, "t": t, "sequence": drops} for name, (ours, theirs) in pairs.items() if ours != theirs]
            rows.append([s, t, fox[0], bottleneck[0], expiry[0]])
        evidence = {"values": list(values), "biases": rows} if list(values) == last else None
        yield Case(not wrong, wrong[0] if wrong else None, 3 * len(rows), evidence)


@claim("special-symbols", kind="symbolic", source="FPA paper", assumption=SCALARS, T="2..5")
def in_symbols():
    """The same identities hold for all real sequences of the right sign, and for a bottleneck of any sign the bias is its clipped form.

    As special-integers, with real symbols: drops a_u >= 0, lifetimes e >= 0, gamma of any sign.

    Limits: log sigmoid has a second derivative, so FoX's delta is no linear map of x as FPA's is; it is so of the scalar sequence log f.

    Checked: sympy reduces the difference of the two sides to 0 with Min over symbols, every pair s < t.
    """
    import sympy

    T = 5
    drops = sympy.symbols(f"a:{T}", nonnegative=True)
    gamma, lifetimes = sympy.symbols(f"g:{T}", real=True), sympy.symbols(f"e:{T}", nonnegative=True)
    zero = [0] * T
    for s, t in itertools.combinations(range(T), 2):
        fox = bias([-a for a in drops], zero, zero, s, t, sympy.Min) + sum(drops[s + 1 : t + 1])
        bottleneck = bias(zero, gamma, zero, s, t, sympy.Min) - sympy.Min(0, *gamma[s + 1 : t + 1])
        expiry = bias([-1] * T, zero, [-e for e in lifetimes], s, t, sympy.Min) - sympy.Min(0, lifetimes[s] - (t - s))
        for name, difference in (("fox", fox), ("bottleneck", bottleneck), ("expiry", expiry)):
            yield Case(sympy.simplify(difference) == 0, {"case": name, "s": s, "t": t, "difference": str(difference)})
    x = sympy.symbols("x", real=True)
    curvature = sympy.simplify(sympy.diff(sympy.log(1 / (1 + sympy.exp(-x))), x, 2).subs(x, 0))
    yield Case(curvature != 0, {"curvature": str(curvature)}, evidence={"curvature": str(curvature)})

"""Re-checks certificates of T12 to T19, special cases and statistics; the companion of check.py, with whose checks it shares nothing.

`python check_sequences.py DIR`: integers and Fractions alone, no code shared with what wrote the certificates. Real constants are enclosed
between rationals; of a simulation only the small draw in its certificate is redone. x is the one size in a claim's scope.
"""

import json
import sys
from fractions import Fraction as F
from hashlib import sha256
from pathlib import Path

PASSED = {"exhaustive": "verified", "exact": "verified", "symbolic": "verified", "sampled": "supported"}
SIZES, LARGEST, UNKNOWN = ("n", "T", "m", "shift", "before"), 1 << 20, "not a claim of this checker"

def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))
def comb(n, k):
    return comb(n, k - 1) * (n - k + 1) // k if k > 0 else int(k == 0)

def words(n, letters=(0, 1)):
    return [(*w, letter) for w in words(n - 1, letters) for letter in letters] if n else [()]

def maps(n, m):  # T12: monotone maps to 0..m-1 of the pairs a <= b of an n-chain
    pairs = [(a, b) for b in range(n) for a in range(b + 1)]
    below = [(i, j) for i, p in enumerate(pairs) for j, q in enumerate(pairs) if p[0] <= q[0] and p[1] <= q[1]]
    return sum(all(f[i] <= f[j] for i, j in below) for f in words(len(pairs), range(m)))

def t_norm(t):  # T13: on 0..len-1, the last neutral
    a = range(len(t))
    steps = all(t[x][y] <= t[x + 1][y] for x in a[:-1] for y in a) and t[-1] == [*a]
    return steps and all(t[x][y] == t[y][x] and t[t[x][y]][z] == t[x][t[y][z]] for x in a for y in a for z in a)

def rounds(ends, text):  # whether all between rounds to a decimal
    return all(abs(x - F(text)) <= F(1, 2 * 10 ** len(text.partition(".")[2])) for x in ends)

def taps(p=1):  # T16: both ends of x = e^(-1/8) by its series, and of the powers x^(p i^2), i = 0..6
    term, sums = F(1), [F(1)]
    for i in range(1, 19):
        term /= -8 * i
        sums.append(sums[-1] + term)
    return [[x ** (p * i * i) for i in range(7)] for x in sorted(sums[-2:])]

def seen(e):  # T17, T18: receptive fields, bit t of a source t, through windows on a ring
    n, rows = e["n"], [1 << t for t in range(e["n"])]
    good = len(e["slots"]) == len(e["reached"]) and all(w[2] in (0, 1) and min(w) >= 0 for w in e["windows"])
    for orders, reached in zip(e["slots"], e["reached"], strict=True):
        new = [0] * n
        for (lo, hi, causal), slots in zip(e["windows"], orders, strict=True):
            tokens = sorted(range(n), key=lambda t: slots[t])
            for p, t in enumerate(tokens):
                for s in (tokens[(p + step) % n] for step in range(-lo, hi + 1)):
                    new[t] |= rows[s] if s <= t or not causal else 0
            good = good and sorted(slots) == [*range(n)]
        rows, good = new, good and sum(bin(row).count("1") for row in new) == reached
    return good

def small_world(e):  # T19: clustering and mean path of a union of ring lattices of 16 nodes
    near = [{o[(o.index(t) + g) % 16] for k, o in e["lattices"] for g in range(-(k // 2), k // 2 + 1)} - {t} for t in range(16)]
    joined = [F(sum(b in near[a] for a in g for b in g), len(g) * (len(g) - 1)) for g in near]
    ball, total = [{t} for t in range(16)], 0
    while any(len(b) < 16 for b in ball):  # the distance of a pair is the number of balls that it is not in
        ball, total = [b.union(*(near[t] for t in b)) for b in ball], total + sum(16 - len(b) for b in ball)
    orders = all(sorted(o) == [*range(16)] and k % 2 == 0 for k, o in e["lattices"])
    return orders and [F(e["clustering"]), F(e["mean path"])] == [sum(joined) / 16, F(total, 16 * 15)]

def union(w, M):  # T17: the mean size of the union of w-windows from M of 6 slots of a ring
    sizes = [sum(any(s[(p + d) % 6] for d in range(w)) for p in range(6)) for s in words(6) if sum(s) == M]
    return F(sum(sizes), comb(6, M))

def biases(v):  # section 6: FoX, the bottleneck bias and expiry, from scalars v
    pairs = [(s, t) for s in range(len(v)) for t in range(s, len(v))]
    return [[s, t, -sum(v[s + 1 : t + 1]), -max(v[s + 1 : t + 1], default=0), min(0, v[s] - t + s)] for s, t in pairs]

def p_value(wins, losses):
    return str(F(sum(comb(wins + losses, i) for i in range(losses + 1)), 2 ** (wins + losses)))


RECOMPUTED = {
    "T12-minmax": lambda x: [{"classes": [c * (c + 1) // 2 for c in range(1, x + 1)]}],
    "T12-min": lambda x: [{"classes": [*range(1, x + 1)]}],
    "T12-count": lambda x: [{"table": [[n, m, maps(n, m)] for n in range(1, x + 1) for m in (1, 2, 3)]}],
    "T13-min": lambda x: [{"counts": [1, 1, 2, 11, 170, 7429][:x]}],
    "T14-residual": lambda x: [
        {"w": str(w), "residual": str(sum((w * d * m - d) ** 2 for d in range(1, 5) for m in range(1, x + 1)))}
        for w in [F(sum(range(x + 1)), sum(m * m for m in range(x + 1)))]
    ],
    "T14-symbols": lambda x: [
        {"points": [[m, n, str(F(m + n, m * m + n * n)), str(F((m - n) ** 2, m * m + n * n))] for m, n in ((1, 2), (2, 5))]}
    ],
    "T14-softmin": lambda x: [
        {"q": q, "x": [*y], "sum": str(sum(F(q) ** i for i in y))} for q in ("1/2", "1/3", "1/10") for y in ((1, 2, 4), (4,) * 5)
    ],
    "special-integers": lambda x: [{"values": [i % 4 for i in range(x)], "biases": biases([i % 4 for i in range(x)])}],
    "special-symbols": lambda x: [{"curvature": str(-F(1, 2) * F(1, 2))}],
    "T15-softmax": lambda x: [
        {"weights": [[str(F(2**y, sum(2**z for z in row))) for y in row] for row in ((0, 1, 3), (2, 3, 5), (0, 2, 6))]}
    ],
    "T15-dead": lambda x: [{"row": [-1, 0, 2], "least": str(max(-1, 0, 2))}],
    "T15-threshold": lambda x: [
        {"row": [0, 1, 2], "weights": [str(F(y**10, 1 + 2**10)) for y in range(3)]},
        {"gates": [str(R / (1 + R)) for R in (F(1), F(1, 2))]},
    ],
    "T17-union": lambda x: [{"table": [[w, M, str(union(w, M))] for w in range(1, 7) for M in range(1, 7)]}],
    "T18-edge": lambda x: [{"chances": [str(F(w - 1, x - 1)) for w in range(1, x + 1)]}],
    "stats-sign-test": lambda x: [{"wins": k, "losses": 0, "p": p_value(k, 0)} for k in (11, 13, 27)],
    "stats-counts": lambda x: [{"pairs": [[14 - both, 11 - both, p_value(14 - both, 11 - both)] for both in (11, 10)]}],
    "stats-power": lambda x: [{"level": y, "wins": next(k for k in range(99) if F(1, 2**k) <= F(y))} for y in ("1/20", "1/80")],
    "stats-sources": lambda x: (
        [{"wins": k, "losses": 0, "p": p_value(k, 0)} for k in (11, 12, 13, 3)]
        + [{"memory": ["1886.9", "109.3"], "factor": str(F("1886.9") / F("109.3"))}]
    ),
    **dict.fromkeys(("T16-maximum", "T18-neighbours", "T19-fly"), lambda x: []),  # simulations too large to redo
}
NEEDED = {"symmetry": lambda x: x[-1], "repetition": sum, "monotony": lambda x: len({*x})}
ENDS = ((0, 1), (1, 0))  # of an enclosure: numerator, denominator
PROVED = {
    "T12-needed": lambda e, x: (
        {y["axiom"] for y in e} == {*NEEDED}
        and all(min(a) == min(b) and max(a) == max(b) and NEEDED[y["axiom"]](a) != NEEDED[y["axiom"]](b) for y in e for a, b in [y["pair"]])
    ),
    "T13-count": lambda e, x: (
        e[0]["counts"] == [1, 1, 2, 6, 22, 94, 451, 2386, 13775][:x]
        and len({str(t) for t in e[0]["four"]}) == 6
        and all(len(t) == 4 and t_norm(t) for t in e[0]["four"])
    ),
    "T16-taps": lambda e, x: (
        len(e[0]["taps"]) == 7
        and len(e[0]["means"]) == 6
        and all(rounds([taps()[a][i] / sum(taps()[b]) for a, b in ENDS], y) for i, y in enumerate(e[0]["taps"]))
        and all(rounds([sum(taps()[a][: i + 1]) / sum(taps()[b]) for a, b in ENDS], y) for i, y in enumerate(e[0]["means"]))
        and rounds(map(sum, taps()), e[0]["raw sum"])
        and rounds([sum(taps(2)[a]) / sum(taps()[b]) ** 2 for a, b in ENDS], e[0]["gain"])
        and rounds([dot(range(7), taps()[a]) / sum(taps()[b]) for a, b in ENDS], e[0]["delay"])
        and rounds([1 / h[1] for h in taps()], e[0]["ratio"])
    ),
    "T16-match": lambda e, x: (
        len(e[0]["thresholds"]) == 6
        and all(rounds([1 / sum(h[1 : j + 1]) for h in taps()], y) for j, y in enumerate(e[0]["thresholds"], 1))
    ),
    "T16-slots": lambda e, x: rounds([(1 - taps()[a][1]) / sum(taps()[b]) for a, b in ENDS], e[0]["gap"]),
    **dict.fromkeys(
        ("T17-reach", "T17-floor", "T17-estimate", "T18-pairs", "T18-gated", "T18-full"), lambda e, x: len(e) > 0 and all(map(seen, e))
    ),
    "T18-layers": lambda e, x: all(
        2 * (n - 1) * (n - w) ** L <= (n - 1) ** L
        and 2 * (n - 1) * (n - w) ** (L - 1) > (n - 1) ** (L - 1)
        and (n + w - 3) // (w - 1) == S
        and (n, w) == (16384, 64)
        for n, w, L, S in [e[0].values()]
    ),
    "T19-lattice": lambda e, x: small_world(e[0]),
    "T19-union": lambda e, x: small_world(e[0]),
}
# fmt: off
CASES = {  # claim: the number of cases of its scope, where there is a formula
    "T12-minmax": lambda x: sum(c**k for c in range(1, x + 1) for k in range(1, 6)),
    "T12-min": lambda x: 2 * sum(c**k for c in range(1, x + 1) for k in range(1, 6)),
    "T12-count": lambda x: 3 * x, "T12-needed": lambda x: 3 * (3 + 9 + 27 + 81), "T13-min": lambda x: sum([1, 1, 2, 11, 170, 7429][:x]),
    "T13-count": lambda x: sum([1, 1, 2, 6, 22, 94, 451, 2386, 13775][:x]),
    "T14-residual": lambda x: 15 * (2**x - 1), "T14-symbols": lambda x: 3, "T14-softmin": lambda x: 753,
    "special-integers": lambda x: 3 * 4**x * x * (x + 1) // 2, "special-symbols": lambda x: 31,
    "T15-softmax": lambda x: 15, "T15-dead": lambda x: 125 * (4 * x + 10), "T15-threshold": lambda x: 125 * 11 * 17 + 1,
    "T16-taps": lambda x: 21, "T16-match": lambda x: 3 * x + 1, "T16-slots": lambda x: 4,
    "T17-union": lambda x: sum(n * (2**n - 1) for n in range(1, x + 1)), "T17-estimate": lambda x: sum(n * n for n in (4096, 1024, 60, 64)),
    "T17-floor": lambda x: 1 + 2 * x * sum((x + w - 3) // (w - 1) for w in range(2, 9)),
    "T18-edge": lambda x: sum([0, 0, 4, 36, 288, 2400, 21600, 211680, 2257920][: x + 1]), "T18-layers": lambda x: 3,
    "T19-lattice": lambda x: 3 * x + 1,
    "stats-sign-test": lambda x: 3 + sum((k + 1) * 2**k for k in range(x + 1)), "stats-counts": lambda x: comb(x + 4, 4),
    "stats-power": lambda x: 3, "stats-sources": lambda x: 14,
}
# fmt: on


def problem(text):
    """Return why a certificate, given as JSON text, does not hold, UNKNOWN if its claim is none of this file's, or None if it holds."""
    try:
        row = json.loads(text)
        name, cases, scope, seal = row["name"], row["cases"], row["scope"], row.pop("seal")
        size = next((scope[key] for key in SIZES if type(scope.get(key)) is int), None)
        if name not in RECOMPUTED and name not in PROVED:
            return UNKNOWN
        if seal != sha256(json.dumps(row, sort_keys=True).encode()).hexdigest():
            return "it was edited: its seal is of something else"
        if row["verdict"] != PASSED[row["kind"]] or not (size is None or 0 < size <= LARGEST):
            return "it is not a verdict of its kind, or its scope is beyond any run"
        if type(cases) is not int or cases < 1 or CASES.get(name, lambda x: cases)(size) != cases:
            return f"{cases} is not the number of cases of its scope"
        good = RECOMPUTED[name](size) == row["evidence"] if name in RECOMPUTED else PROVED[name](row["evidence"], size)
        return None if good else "its evidence does not hold"
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        return f"malformed: {type(error).__name__}: {error}"


if __name__ == "__main__":
    paths = sorted(Path(sys.argv[1]).glob("*.json")) if len(sys.argv) == 2 else sys.exit("one argument: a directory of certificates")
    verdicts = {path.name: problem(path.read_text(errors="replace")) if path.is_file() else "no file" for path in paths}
    print("\n".join(f"{name}: {why or 'holds'}" for name, why in verdicts.items()))
    sys.exit(None not in verdicts.values() or any(why not in (None, UNKNOWN) for why in verdicts.values()))

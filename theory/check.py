"""Re-checks certificates of T1 to T11 with integers and Fractions alone, by `python check.py DIR`; it shares no code with what wrote them.

A check sees a claim's evidence and its size x (the r or T of its scope) and redoes all of it, or what Python redoes in seconds; the seal, a
hash of the whole certificate, tells an edit that it would not see. `theory check` compares the texts with the claims too. A word is a tuple
of 0 and 1; 1 means that the rung dips and its key is dead. T12 to T19 are in check_sequences.py.
"""

import json
import sys
from fractions import Fraction as F
from hashlib import sha256
from pathlib import Path

PASSED = {"exhaustive": "verified", "exact": "verified", "symbolic": "verified", "sampled": "supported"}
SIZES, LARGEST, UNKNOWN = ("r", "T"), 30, "not a claim of this checker"
EPS = ("1/2", "1/10", "1/1000", "1/1000000000")

def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))
def comb(n, k):
    return comb(n, k - 1) * (n - k + 1) // k if k > 0 else int(k == 0)
def up_to(n, k):
    return sum(comb(n, i) for i in range(k + 1))
def words(n, letters=(0, 1)):
    return [(*w, letter) for w in words(n - 1, letters) for letter in letters] if n else [()]
def at(table, i, word):  # the row of rung i, from 0, under what is written before it
    return table[i][sum(bit << (i - 1 - t) for t, bit in enumerate(word[:i]))]
def factorial(n):
    return n * factorial(n - 1) if n else 1
def splits(x):
    return [(r, p) for r in range(3, x + 1) for p in range(1, r - 1) if (r - 2) % p == 0]
def walks(T, steps=(-1, 0, 1)):
    return [[sum(w[:t]) for t in range(T + 1)] for w in words(T, steps)]
def alive(levels, t):  # on a walk with phi = psi = levels
    return tuple(s for s in range(t + 1) if min(levels[s : t + 1]) == levels[s])
def ends(T, steps):
    return len({alive(w, T) for w in walks(T, steps)})
def rises(levels, keys):
    return [levels[s] for s in keys] == sorted(levels[s] for s in keys)
def ladders(r):  # whether the balanced ladder of every word has the alive keys that the word says
    walk = {w: [1, *(x for dip in w for x in ((-1, 1, 1) if dip else (1, -1, 1)))] for w in words(r - 1)}
    sets = {w: alive([sum(steps[: t + 1]) for t in range(3 * r - 2)], 3 * r - 3) for w, steps in walk.items()}
    return all({t // 3 for t in keys if t % 3 == 0} == {i for i in range(r) if not (*w, 0)[i]} for w, keys in sets.items())
def families(T, steps):  # as sequences of stack sizes, each with the stacks that reach it, tops at 0
    found = {(1,): {(0,)}}
    for _ in range(T):
        new = {}
        for sizes, stacks in found.items():
            for after in ((*(x - step for x in stack if x <= step), 0) for stack in stacks for step in steps):
                new.setdefault((*sizes, len(after)), set()).add(after)
        found = new
    return len(found)
def gate(r):  # T7: a dead key's logit is at most -1, an alive one's at least 0, whatever the other dips
    keys, decays = [2 ** (r - i) - 1 for i in range(1, r + 1)], [2 ** (r - i) for i in range(1, r)]
    good = all(k - D == -1 and k >= sum(decays[i + 1 :]) for i, (k, D) in enumerate(zip(keys[:-1], decays, strict=True)))
    return good and [{"keys": keys, "decays": decays}]
def chain(D):  # T7: the greatest length of p < ... with |D_p| <= sum of |D_i| between p and the next
    best = []
    for p in reversed(range(len(D))):
        after = [1 + best[q - p - 1] for q in range(p + 1, len(D)) if abs(D[p]) <= sum(map(abs, D[p + 1 : q]))]
        best.insert(0, max(after, default=1))
    return max(best)
def rank(rows, prime=2**31 - 1):
    rows, found = [[x % prime for x in row] for row in rows], 0
    for c in range(len(rows[0])):
        for pivot in [row for row in rows[found:] if row[c]][:1]:
            rows.remove(pivot)
            rows.insert(found, pivot)
            found, inverse = found + 1, pow(pivot[c], -1, prime)
            rows[found:] = [[(x - row[c] * inverse * y) % prime for x, y in zip(row, pivot, strict=True)] for row in rows[found:]]
    return found
def joint(H, r, d):  # T11: mask, threshold and the powers of a head's own d nodes
    one = [[[int(a == b) for b in range(n)] for a in range(n)] for n in (r - 1, H)]
    own = [[x if (x - 2) // d == h else 0 for x in range(2, 2 + H * d)] for h in range(H)]
    return [one[0][t] + one[1][h] + [x and x**t for x in own[h]] for h in range(H) for t in range(r - 1)]
def halfspaces(d, p):  # T9: bit sets of {0..2^p-1}^d; normals have entries up to 1 on a line, 2^(p+1) in the plane, d-1 on cubes
    points, most, found = words(d, range(2**p)), {1: 1, 2: 2 ** (p + 1)}.get(d) or d - 1, {0}
    for normal in words(d, range(-most, most + 1)):
        level = [dot(normal, point) for point in points]
        found |= {sum(1 << i for i, x in enumerate(level) if x >= theta) for theta in set(level)}
    return frozenset(found)
def shatters(family, depth, points, known):  # T9: some tree of that depth (Littlestone)
    if depth == 0 or len(family) < 2**depth:
        return depth == 0
    if (family, depth) not in known:
        sides = [sorted((a, family - a), key=len) for a in (frozenset(f for f in family if f >> i & 1) for i in range(points))]
        sides.sort(key=lambda pair: -len(pair[0]))
        known[family, depth] = any(all(shatters(side, depth - 1, points, known) for side in pair) for pair in sides)
    return known[family, depth]
def littlestone(e):
    family, points = halfspaces(e["d"], e["p"]), 2 ** (e["d"] * e["p"])
    return [len(family), *(shatters(family, e["dimension"] + g, points, {}) for g in (0, 1))] == [e["halfspaces"], True, False]

def pull(e):  # sum lambda_s o_s, of lambda != 0 with sum lambda = 0, sum lambda_s k_s = 0
    lam = [F(w) for w in e["lambda"]]
    assert min(map(abs, lam), default=0)
    assert not any(dot(lam, [F(x) for x in row]) for row in [*zip(*e["keys"], strict=True), [1] * len(lam)])
    return dot(lam, [F(o) for o in e["offsets"] or [0] * len(lam)])
def dependency(e):  # T5: no query has all lambda > 0 alive and all lambda < 0 dead; without offsets the last lambda is > 0
    return pull(e) == F(e["sum"]) <= 0 and bool(e["offsets"] or F(e["lambda"][-1]) > 0)
def chained(e):  # T7: a dependency on a chain, under the dips of w and of w'
    D, links, full = e["strengths"], e["chain"], dict(zip(e["chain"], map(F, e["lambda"]), strict=True))
    part = [sum(w for p, w in full.items() if p <= i) for i in range(len(D))]
    dips = [[i for i in range(len(D)) if g * full.get(i, 0) < 0 or (i not in full and g * D[i] * part[i] > 0)] for g in (1, -1)]
    S = [pull(e) - sum(D[i] * part[i] for i in word) for word in dips]
    long = all(abs(D[p]) <= sum(map(abs, D[p + 1 : min(q for q in links if q > p)])) for p in links[:-1])
    return long and [links[0], links[-1]] == [0, len(D)] and [F(x) for x in e["S"]] == S and (S[0] <= 0 or S[1] >= 0)
def realised(e, d):  # a head of d dimensions and the words that it lists, each with the offsets that it leaves
    r, total, good = len(e["keys"]), 0, all(len(key) == d for key in e["keys"])
    for n, (w, q, offsets, theta) in enumerate(zip(*(e[name] for name in ("words", "queries", "offsets", "thresholds")), strict=True), 1):
        logits = [dot(q, key) + o - theta for key, o in zip(e["keys"], offsets, strict=True)]
        good = good and all(x and (x < 0) == w >> i & 1 for i, x in enumerate(logits))
        total += 2**n * dot(logits, range(1, r + 1))
    return good and total == e["sum"] and len({*e["words"]}) == len(e["words"]) == min(32, 2 ** (r - 1)) and r
def bases(e, strength=0):  # the offsets before the dips, which must not depend on the word
    rows = zip(e["words"], e["offsets"], strict=True)
    return {tuple(o + strength * (w >> i).bit_count() for i, o in enumerate(offsets)) for w, offsets in rows}
def bisected(keys):  # T9: after every word its alive keys are above its dead ones
    pairs = [[[at(keys, i, w) for i, x in enumerate(w) if x == dead] for dead in (1, 0)] for w in words(len(keys))]
    return all(max(dead, default=0) < min(live, default=2 ** len(keys)) for dead, live in pairs)

RECOMPUTED = {  # claim: its whole evidence, from x
    "T1-ladder": lambda x: ladders(min(x, 9)) and [{"rung": [1], "dip": [-1, 1], "no dip": [1, -1]}],
    "T1-literal": lambda x: all(map(ladders, range(1, min(x, 9)))) and [{"r": r, "sets": 2 ** (r - 1)} for r in range(1, x + 1)],
    "T1-mass": lambda x: [{"eps": y, "largest": str(max(d * F(y) / ((x - d) * (x - 1) + d * F(y)) for d in range(x)))} for y in EPS],
    "T2-integers": lambda x: [{"T": T, "families": families(T, range(-T, T + 1))} for T in range(1, x + 1)],
    "T2-bounded": lambda x: [{"T": K + 2, "K": K, "families": families(K + 2, range(-K, K + 1))} for K in (2, 3)],
    "T2-ternary": lambda x: [{"T": T, "families": families(T, (-1, 0, 1))} for T in range(1, x + 1)],
    "T2-signs": lambda x: [{"T": T, "families": families(T, (-1, 1))} for T in range(1, x + 1)],
    "T2-final": lambda x: [{"T": T, "with 0": ends(T, (-1, 0, 1)), "without": ends(T, (-1, 1))} for T in range(1, x + 1)],
    "T3-monotone": lambda x: [{"sum of biases": sum(min(w[a : b + 1]) - w[a] for w in walks(x) for b in range(x + 1) for a in range(b))}],
    "T3-stack": lambda x: [{"t": t, "alive keys": sum(len(a) for w in walks(x) if rises(w, a := alive(w, t)))} for t in range(x + 1)],
    "T3-no-suffix": lambda x: [{"t": t, "listed": sum(t - alive(w, t)[0] >= len(alive(w, t)) for w in walks(x))} for t in range(1, x + 1)],
    "T4-deaths": lambda x: [{"fields": [-2 * t for t in range(x)], "levels": [[1 - 2 * e for e in range(a + 1, x + 1)] for a in range(x)]}],
    "T4-nested": lambda x: [{"most": len({tuple(level <= m for level in range(x)) for m in range(-1, x)})}],
    "T6-attained": lambda x: [{"r": r, "d": d, "offsets": o, "count": up_to(r - 1, d + o)}
        for r in range(2, x + 1) for d in range(1, r + 1) for o in (1, 0)],
    "T6-generic": lambda x: [{"r": r, "counts": [up_to(r - 1, 5), up_to(r - 1, 4)]} for r in (6, 10, 14, 18) for _ in range(3)],
    "T7-gate": gate,
    "T7-ladder": lambda x: [{"balanced": 1, "unbalanced": 2 ** (x - 1)}],
    "T7-bits": lambda x: [{"b": b, "n": n, "shortest": min(map(chain, words(n, range(2**b))))} for b, n in ((1, 12), (2, 8))],
    "T8-bound": lambda x: [{"words": 2 ** (x - 2)}],
    "T8-tight": lambda x: [{"r": r, "p": p, "queries": 2 ** (r - 2)} for r, p in splits(x)],
    "T11-heads": lambda x: [{"H": H, "r": r, "d": d, "ranks": [rank(joint(H, r, d - g)) for g in (1, 0) if d >= g]}
        for H in range(1, 7) for r in range(3, x + 1) for d in [(H - 1) * (r - 1) // H]],
    "T11-joint": lambda x: [{"d": d, "realised": 512 - (rank(joint(3, 4, d)) < 9)} for d in (1, 2)],
}
PROVED = {  # claim: whether evidence e proves what it says, at size x
    "T5-bound": lambda e, x: all(map(dependency, e))
    and {(len(y["keys"][0]), bool(y["offsets"])) for y in e} == {(d, o) for d in range(1, x - 1) for o in {d < x - 2, False}},
    "T5-grid": lambda e, x: [(y["d"], sum(y["sets"]), y["sets"][8]) for y in e] == [(1, 3375, 0), (2, 729, 0)],
    "T5-tight": lambda e, x: [realised(y, d) == x and len(bases(y)) for y, d in zip(e, (x - 2, x - 1), strict=True)] == [1, 1],
    "T6-ceiling": lambda e, x: len(e) > 0 and all(map(dependency, e)),
    "T6-programs": lambda e, x: len(e) > 0 and all(map(dependency, e)),
    "T7-chain": lambda e, x: len(e) > 0 and all(map(chained, e)),
    "T7-one-strength": lambda e, x: [realised(y, r // 2 - 1) for r, y in enumerate(e, 3) if len(bases(y, 4)) == 1] == [*range(3, x + 1)],
    "T9-search": lambda e, x: len(e[0]["keys"]) == min(x - 1, 9) and bisected(e[0]["keys"]),
    "T9-littlestone": lambda e, x: [10 * y["d"] + y["p"] for y in e] == [11, 12, 13, 14, 21, 22, 23, 31, 41] and all(map(littlestone, e)),
    "T10-bound": lambda e, x: all(map(dependency, e)) and {len(y["keys"][0]) for y in e} == set(range(2, x - 2, 2)),
    "T10-tight": lambda e, x: [realised(y, (r - 1) // 2) for y, r in zip(e, (r // 2 for r in range(8, 2 * x + 2)), strict=True)]
    == [r // 2 for r in range(8, 2 * x + 2)] and all(a["offsets"] == b["offsets"] for a, b in zip(e[::2], e[1::2], strict=True)),
}
CASES = {  # claim: the number of cases of its scope, where there is a formula
    "T1-ladder": lambda x: 2 ** (x - 1), "T1-literal": lambda x: 2**x - 1, "T1-mass": lambda x: 2 ** (x + 1), "T2-bounded": lambda x: 17432,
    "T2-integers": lambda x: sum((2 * max(1, T - 1) + 1) ** T for T in range(1, x + 1)), "T2-ternary": lambda x: 3 * (3**x - 1) // 2,
    "T2-signs": lambda x: 2 ** (x + 1) - 2, "T2-final": lambda x: 3 * (3**x - 1) // 2 + 2 ** (x + 1) - 2, "T4-deaths": factorial,
    "T3-monotone": lambda x: 3**x * x * (x + 1) // 2, "T3-stack": lambda x: 3**x * (x + 1), "T3-no-suffix": lambda x: 3**x * x,
    "T4-nested": lambda x: x ** (2 * x) + 1, "T5-bound": lambda x: 28 * x - 70, "T5-grid": lambda x: 4104, "T5-tight": lambda x: 2**x,
    "T6-attained": lambda x: x * (x + 1) - 2, "T6-generic": lambda x: 12, "T6-ceiling": lambda x: 20 * x, "T6-programs": lambda x: 30 << x,
    "T7-gate": lambda x: 1 << (x - 1), "T7-ladder": lambda x: 1 << (x - 1), "T7-bits": lambda x: 69632, "T7-one-strength": lambda x: 2**x-4,
    "T8-bound": lambda x: comb(2 ** (x - 2), 2), "T8-tight": lambda x: sum(2 ** (r - 1) for r, _ in splits(x)),
    "T9-search": lambda x: 2 ** (x - 1), "T9-littlestone": lambda x: 9, "T10-bound": lambda x: (x - 3) // 2 * 12,
    "T10-tight": lambda x: 2**x - 8, "T11-heads": lambda x: 6 * (x - 2), "T11-joint": lambda x: 1024,
}

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

"""Section 9: what the sources' counts of solved seeds can mean under the paired exact sign test, and what they get wrong."""

import itertools
from fractions import Fraction

from attnprobe.theory.claim import Case, Span, claim
from attnprobe.theory.sign_test import least_wins, p_value, possible

PUBLISHED = ((11, "0.000488"), (13, "0.000122"), (27, "0.00000000745"))
PAIRED = "the two arms run on the same seeds, and the same side is meant to win in advance"


@claim("stats-sign-test", kind="exhaustive", source="FPA paper; McNemar 1947", assumption=PAIRED, n=Span(13, 1, 16))
def values_of_the_sign_test(n):
    """The one-sided paired exact p of k wins and no loss is 2^-k: .000488 at 11, .000122 at 13, 7.45e-9 at 27.

    Under the null each discordant seed is a fair coin: P(Bin(n, 1/2) >= wins) = sum_{k >= wins} C(n, k) / 2^n.

    Checked: for up to n discordant seeds the closed form against the count over all 2^n outcomes, every number of wins; the published
    values to their last digit. The certificate's check redoes these.
    """
    for size in range(n + 1):
        wins = [outcome.bit_count() for outcome in range(1 << size)]
        for k in range(size + 1):
            listed = Fraction(sum(other >= k for other in wins), 1 << size)
            yield Case(p_value(k, size - k) == listed, {"discordant": size, "wins": k, "p": str(p_value(k, size - k))}, 1 << size)
    for k, text in PUBLISHED:
        half = Fraction(1, 2 * 10 ** len(text.partition(".")[2]))
        holds = p_value(k, 0) == Fraction(1, 2**k) and abs(p_value(k, 0) - Fraction(text)) <= half
        yield Case(holds, {"wins": k, "p": str(p_value(k, 0))}, evidence={"wins": k, "losses": 0, "p": str(p_value(k, 0))})


@claim("stats-counts", kind="exhaustive", source="this project", assumption=PAIRED, n=Span(5, 1, 7))
def counts_leave_p_open(n):
    """That two arms solve a and b of n seeds fixes their paired p only up to the number that both solve.

    If both solve c, there are a - c wins and b - c losses, for max(0, a + b - n) <= c <= min(a, b), and each such c occurs.

    Checked: for up to n seeds, all pairs of sets of solved seeds are listed, and the p values found are compared with those that the
    formula allows. The certificate's check redoes 15 seeds, 14 against 11.
    """
    for size in range(1, n + 1):
        found = {}
        for ours, theirs in itertools.product(range(1 << size), repeat=2):
            counts = ours.bit_count(), theirs.bit_count()
            found.setdefault(counts, set()).add(p_value((ours & ~theirs).bit_count(), (theirs & ~ours).bit_count()))
        for (a, b), values in found.items():
            pairs = possible(size, a, b)
            holds = {p_value(*pair) for pair in pairs} == values
            yield Case(holds, {"n": size, "a": a, "b": b, "p": sorted(map(str, values))}, len(pairs))
    pairs = [[wins, losses, str(p_value(wins, losses))] for wins, losses in possible(15, 14, 11)]
    yield Case(len(pairs) == 2, {"pairs": pairs}, evidence={"pairs": pairs})


@claim("stats-power", kind="exact", source="this project", assumption=PAIRED)
def wins_that_a_level_takes():
    """Without a loss it takes 5 wins for p <= .05, and 7 for p <= .0125, the first step of Holm's correction over 4 arms.

    2^-4 > 1/20 >= 2^-5, 2^-6 > 1/80 >= 2^-7. Losses only raise p. So no arm of 15 seeds beats at .05 an arm that solves 11 of them.

    Checked: by search, and over all that 15 against 11 of 15 can mean. The certificate's check redoes the search.
    """
    for level, wins in ((Fraction(1, 20), 5), (Fraction(1, 80), 7)):
        evidence = {"level": str(level), "wins": wins}
        yield Case(least_wins(level) == wins, {"level": str(level), "wins": least_wins(level)}, evidence=evidence)
    best = min(p_value(*pair) for pair in possible(15, 15, 11))
    yield Case(best > Fraction(1, 20), {"15 against 11": str(best)})


@claim("stats-sources", kind="exact", source="FPA paper, corrected", assumption=PAIRED, comparisons=12, seeds=15)
def what_the_sources_get_wrong():
    """Limit: of 12 comparisons printed with p = .00049 eight have less, 14 against 11 of 15 has p >= .125, and 1886.9 / 109.3 is 17.3.

    The comparisons are 11, 12 and 13 of 15 seeds against none, over four arms each: p = 2^-11, 2^-12, 2^-13, and .00049 is the largest, so
    the claim that p <= .00049 holds. Push and pop, 14 against 11 of 15: (wins, losses) is (3, 0) or (4, 1), p = 1/8 or 3/16: no evidence.
    1886.9 MB to 109.3 MB is a factor of 17.3, not 66.5.

    Checked: in Fractions, over all pairings that the counts allow. The certificate's check redoes each.
    """
    for solved in (11, 12, 13):
        (pair,) = possible(15, solved, 0)
        p = p_value(*pair)
        holds = p == Fraction(1, 2**solved) and (abs(p - Fraction("0.00049")) <= Fraction("0.000005")) == (solved == 11)
        yield Case(holds, {"solved": solved, "p": str(p)}, 4, {"wins": pair[0], "losses": pair[1], "p": str(p)})
    least = min((p_value(*pair), pair) for pair in possible(15, 14, 11))
    evidence = {"wins": least[1][0], "losses": least[1][1], "p": str(least[0])}
    yield Case(least[0] == Fraction(1, 8), {"14 against 11": str(least[0])}, evidence=evidence)
    factor = memory_factor("1886.9", "109.3")
    holds = abs(factor - Fraction("17.3")) <= Fraction("0.05") and abs(factor - Fraction("66.5")) > 49
    yield Case(holds, {"factor": float(factor)}, evidence={"memory": ["1886.9", "109.3"], "factor": str(factor)})


def memory_factor(before, after):
    """Return the exact quotient of two decimals."""
    return Fraction(before) / Fraction(after)

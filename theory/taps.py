"""The half-Gaussian key filter's unit-sum taps, enclosed between exact rationals: every tap is a rational function of x = e^(-1/8).

Taps are proportional to x^(i^2), i = 0..6. The alternating series of e^(-1/8) encloses x within 10^-30, and sums of positive powers of x
are enclosed by their values at both ends; so an enclosure's first 20 digits are right.
"""

from fractions import Fraction
from math import factorial

TAPS = 7
TERMS = 18  # of the series: 8^-18 / 18! < 10^-30


def x_bounds():
    """Return (low, high) Fractions around e^(-1/8): two neighbouring partial sums of its alternating series."""
    sums = [sum(Fraction((-1) ** n, 8**n * factorial(n)) for n in range(count)) for count in (TERMS, TERMS + 1)]
    return min(sums), max(sums)


def raw(taps=TAPS, power=1):
    """Return (low, high) around sum_{i<taps} h_i^power for the raw taps h_i = e^(-i^2/8)."""
    return tuple(sum(x ** (power * i * i) for i in range(taps)) for x in x_bounds())


def unit(i):
    """Return (low, high) around tap i of the unit-sum filter."""
    return ratio(tuple(x ** (i * i) for x in x_bounds()), raw())


def dc(position):
    """Return (low, high) around the sum of taps 0..position: what zero padding leaves of a constant at that position."""
    return ratio(raw(min(position + 1, TAPS)), raw()) if position < TAPS - 1 else (Fraction(1), Fraction(1))


def ratio(above, below):
    """Return (low, high) around the quotient of two enclosed positive numbers."""
    return above[0] / below[1], above[1] / below[0]


def rounds_to(bounds, text):
    """Return whether every number between the bounds rounds to the decimal `text`, half a unit of its last digit at most."""
    value = Fraction(text)
    half = Fraction(1, 2 * 10 ** len(text.partition(".")[2]))
    return value - half <= bounds[0] <= bounds[1] <= value + half


def variance_gain():
    """Return (low, high) around sum h_i^2 of the unit-sum taps."""
    return ratio(raw(power=2), tuple(total**2 for total in raw()))


def mean_delay():
    """Return (low, high) around sum i h_i of the unit-sum taps."""
    return tuple(sum(i * unit(i)[end] for i in range(TAPS)) for end in (0, 1))


def filtered(scores):
    """Return (low, high) around each filtered score times the raw sum of the taps, which is positive; zeros before the first score."""
    x = x_bounds()
    out = []
    for s in range(len(scores)):
        low = high = Fraction(0)
        for i in range(min(s + 1, TAPS)):
            ends = sorted(scores[s - i] * bound ** (i * i) for bound in x)
            low, high = low + ends[0], high + ends[1]
        out.append((low, high))
    return out

"""Heads are read as exact rationals, and dependencies among their keys are found over the integers."""

import math
import numbers
import re
from fractions import Fraction

NUMBER = re.compile(r"[+-]?\d{1,4000}(/\d{1,4000})?")


def read_head(keys, offsets=None):
    """Return (keys, offsets) as lists of Fractions: r rows of D >= 1, and r offsets or None.

    Floats are read as the rationals that they are; "p/q" strings, integers and Fractions too. ValueError for anything else, for numbers
    that are not finite, rows of unequal lengths, no row, or a number of offsets other than r.
    """
    rows = [[_exact(x, f"key {s}") for x in _items(row, f"key {s}")] for s, row in enumerate(_items(keys, "keys"), 1)]
    if not rows:
        raise ValueError("keys must have at least one row, got none")
    for s, row in enumerate(rows, 1):
        if not row:
            raise ValueError(f"key {s} must have at least one number, got none")
        if len(row) != len(rows[0]):
            raise ValueError(f"keys must be rows of one length; key 1 has {len(rows[0])} numbers, key {s} has {len(row)}")
    if offsets is None:
        return rows, None
    values = [_exact(x, f"offset {s}") for s, x in enumerate(_items(offsets, "offsets"), 1)]
    if len(values) != len(rows):
        raise ValueError(f"offsets must be one a key, {len(rows)}, got {len(values)}")
    return rows, values


def coordinates(keys):
    """Return the D+1 rows of [K | 1]^T as integers, each scaled by a positive rational, which changes no dependency among keys (r, D)."""
    columns = [*zip(*keys, strict=True), [Fraction(1)] * len(keys)]
    return [scaled(column) for column in columns if any(column)]


def scaled(values):
    """Return Fractions times the least positive rational that makes them coprime integers; all zeros stay zeros."""
    denominator = math.lcm(*(x.denominator for x in values))
    whole = [x.numerator * (denominator // x.denominator) for x in values]
    divisor = math.gcd(*whole) or 1
    return [x // divisor for x in whole]


def eliminate(rows):
    """Return (rows, pivots) after fraction-free Gauss-Jordan elimination of an integer matrix (Bareiss 1968).

    Row i has its pivot in column pivots[i]; all pivots are equal, other entries of a pivot's column are 0, rows of zeros are left out.
    """
    rows, pivots, previous = [list(row) for row in rows], [], 1
    for column in range(len(rows[0]) if rows else 0):
        rank = len(pivots)
        at = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if at is None:
            continue
        rows[rank], rows[at] = rows[at], rows[rank]
        pivot = rows[rank]
        for i, row in enumerate(rows):
            if i != rank:
                rows[i] = [(pivot[column] * x - row[column] * p) // previous for x, p in zip(row, pivot, strict=True)]
        previous = pivot[column]
        pivots.append(column)
    return rows[: len(pivots)], pivots


def null_vectors(rows):
    """Return a basis of {x: rows x = 0}, integer lists, each 0 after its own free column, these ascending; [] for no rows."""
    done, pivots = eliminate(rows)
    width = len(rows[0]) if rows else 0
    basis = []
    for free in sorted(set(range(width)) - set(pivots)):
        vector = [0] * width
        vector[free] = done[0][pivots[0]] if pivots else 1
        for row, column in zip(done, pivots, strict=True):
            vector[column] = -row[free]
        basis.append(vector)
    return basis


def _items(values, name):
    if isinstance(values, str | bytes | dict):
        raise ValueError(f"{name} must be a list, got {values!r:.60}")
    try:
        return list(values)
    except TypeError:
        raise ValueError(f"{name} must be a list, got {values!r:.60}") from None


def _exact(value, name):
    if isinstance(value, str):
        if not NUMBER.fullmatch(value):
            raise ValueError(f'{name} must hold numbers or "p/q", got {value!r:.60}')
        try:
            return Fraction(value)
        except ZeroDivisionError:
            raise ValueError(f"{name} must have a denominator that is not 0, got {value!r:.60}") from None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f'{name} must hold numbers or "p/q", got {value!r:.60}')
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    if float(value) != value:
        raise ValueError(f"{name} must fit a float64 exactly, got {value}")
    return Fraction(float(value))

"""A head whose content has too few dimensions cannot realise every alive set: the bound, the ceiling, and the exact certificate.

Keys k_s in R^d and offsets o_s, the same for all alive sets; the last of the r keys is always alive; a set A is realised by a query q iff
every alive logit q.k_s + o_s is strictly above every dead one. Keys are numbered 1..r, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attnprobe.theory.exact import coordinates, null_vectors, read_head


@dataclass(frozen=True)
class Impossible:
    """A set that no query realises: weights lambda_1..lambda_r, coprime integers, and `alive`, the alive keys, numbered from 1.

    lambda is not 0, is >= 0 on alive keys and <= 0 on dead ones, and sum lambda = 0, sum lambda_s k_s = 0, sum lambda_s o_s <= 0. With
    theta between the dead and the alive logits l_s, 0 < sum lambda_s (l_s - theta) = sum lambda_s o_s <= 0, a contradiction.
    """

    weights: tuple[int, ...]
    alive: tuple[int, ...]


def bound(r: int, offsets: bool) -> int:
    """Return the least head dimension at which some head realises all alive sets of r rungs: r-2 with per-key offsets, r-1 without (T5).

    >>> bound(10, offsets=True), bound(10, offsets=False)
    (8, 9)
    """
    _check_size(r, 0)
    return max(0, r - 2 if offsets else r - 1)


def ceiling(r: int, d: int, offsets: bool) -> int:
    """Return how many of the 2^(r-1) alive sets a head of dimension d can realise at most (T6).

    r: rungs, at least 1. d: head dimension, at least 0. offsets: whether keys carry fixed offsets. Attained by keys in general position,
    with offsets if the last one is large: the alive sets are then the regions of r-1 hyperplanes in d+1 dimensions; without offsets they
    are half the regions of r hyperplanes through the origin (Cover 1965).

    >>> ceiling(10, 4, offsets=False), ceiling(10, 4, offsets=True)
    (256, 382)
    """
    _check_size(r, d)
    return sum(math.comb(r - 1, i) for i in range(min(r, d + 2 if offsets else d + 1)))


def impossible(keys: Sequence[Sequence[Any]], offsets: Sequence[Any] | None = None) -> Impossible | None:
    """Return an Impossible set of this head, or None if the head realises every alive set.

    keys: r rows of D numbers; offsets: r numbers or None. Numbers are read exactly (exact.read_head). If D <= r-3 (r-2 without offsets)
    there always is one (T5): two independent dependencies leave one that spares the last key, whose sign is then free.

    >>> impossible([[1], [2], [0]])
    Impossible(weights=(-2, 1, 1), alive=(2, 3))
    """
    keys, offsets = read_head(keys, offsets)
    vectors = null_vectors(coordinates(keys))
    if not vectors:
        return None
    weights = vectors[0]  # it spares the last key unless it is the only one
    total = 0 if offsets is None else sum(w * o for w, o in zip(weights, offsets, strict=True))
    if total > 0 or (total == 0 and weights[-1] < 0):
        weights = [-w for w in weights]
    return None if weights[-1] < 0 else certificate(weights)


def certificate(weights):
    """Return the Impossible of a dependency, r integers with the last >= 0: the alive keys are those with positive weight, and the last."""
    divisor = math.gcd(*weights)
    last = len(weights)
    alive = tuple(s for s, w in enumerate(weights, 1) if w > 0 or s == last)
    return Impossible(tuple(w // divisor for w in weights), alive)


def dependency(found, keys, offsets=None):
    """Return the evidence of an Impossible as a JSON object: the keys that lambda touches, lambda, the offsets, and its sum over these.

    Without offsets the last weight is made positive, as lambda and -lambda serve unless key r is touched, whose weight is positive.
    """
    keys, offsets = read_head(keys, offsets)
    at = [s for s, w in enumerate(found.weights) if w]
    weights = [found.weights[s] for s in at]
    if offsets is None:
        sign = 1 if weights[-1] > 0 else -1
        return {"keys": [[str(x) for x in keys[s]] for s in at], "lambda": [str(sign * w) for w in weights], "offsets": None, "sum": "0"}
    total = sum(w * offsets[s] for s, w in zip(at, weights, strict=True))
    proof = {"keys": [[str(x) for x in keys[s]] for s in at], "lambda": [str(w) for w in weights]}
    return proof | {"offsets": [str(offsets[s]) for s in at], "sum": str(total)}


def refutes(found, keys, offsets=None):
    """Return whether an Impossible proves that this head does not realise its set: each of its conditions, in exact arithmetic."""
    keys, offsets = read_head(keys, offsets)
    weights = found.weights
    signs = all(w >= 0 if s in found.alive else w <= 0 for s, w in enumerate(weights, 1))
    sums = [sum(w * k for w, k in zip(weights, column, strict=True)) for column in zip(*keys, strict=True)]
    total = 0 if offsets is None else sum(w * o for w, o in zip(weights, offsets, strict=True))
    return any(weights) and signs and len(keys) in found.alive and sum(weights) == 0 and not any(sums) and total <= 0


def _check_size(r, d):
    if r < 1:
        raise ValueError(f"r must be at least 1 rung, got {r}")
    if d < 0:
        raise ValueError(f"head_dim must be at least 0, got {d}")

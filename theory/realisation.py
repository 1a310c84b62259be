"""Which alive sets a concrete head can realise, exactly: circuits of its keys strike out the sets that no query reaches.

A set A is out of reach iff some lambda != 0 is >= 0 on A and <= 0 off A with sum lambda = 0, sum lambda_s k_s = 0 and
sum lambda_s o_s <= 0 (Motzkin's transposition). Such a lambda is a sum of circuits, dependencies of minimal support, of its own sign
pattern, and one of these has sum lambda_s o_s <= 0 too: so circuits suffice, at most C(r, rho+1) with rho the rank of [K | 1].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnprobe.theory import exact, rank

MOST_RUNGS = 20  # 2^19 words and up to 184756 circuits: seconds
LOW = 6  # 2^6 words make one uint64


@dataclass(frozen=True, eq=False)
class Realisation:
    """The alive sets that a head of r keys realises, as a table over the 2^(r-1) words; the last key is always alive.

    Bit i of a word, i = 0..r-2, is set iff rung i+1 dips, that is, key i+1 is dead. table: (2^(r-1),) booleans. first_impossible: the
    rank.Impossible of the lowest word that is not realised, or None.
    """

    r: int
    table: np.ndarray[Any, np.dtype[np.bool_]]
    first_impossible: rank.Impossible | None

    @property
    def count(self) -> int:
        """How many of the 2^(r-1) alive sets are realised."""
        return int(self.table.sum())

    def realised(self, word: int) -> bool:
        """Return whether the alive set of `word` is realised; ValueError if it is not in 0..2^(r-1)-1."""
        if not 0 <= word < len(self.table):
            raise ValueError(f"word must be in 0..{len(self.table) - 1} for r = {self.r}, got {word}")
        return bool(self.table[word])


def realise(keys: Sequence[Sequence[Any]] | np.ndarray, offsets: Sequence[Any] | np.ndarray | None = None) -> Realisation:
    """Return the Realisation of a head whose query is free and whose keys and offsets are fixed.

    keys: r rows of D numbers, r <= 20; offsets: r numbers, or None. Numbers are read exactly (exact.read_head); degenerate heads (repeated,
    collinear or zero keys, ties) are exact too. ValueError for bad input.

    >>> head = realise([[1], [2], [0]])  # one dimension, no offsets: keys 1 and 2 can not both be left of key 3 and right of it
    >>> head.table.tolist(), head.first_impossible
    ([True, False, True, True], Impossible(weights=(-2, 1, 1), alive=(2, 3)))
    """
    keys, offsets = exact.read_head(keys, offsets)
    r = len(keys)
    if r > MOST_RUNGS:
        raise ValueError(f"keys must be at most {MOST_RUNGS} rows, since 2^(r-1) sets are listed, got {r}")
    alive, dead = _strikes(keys, offsets)
    table = ~_struck(alive, dead, r - 1)
    if table.all():
        return Realisation(r, table, None)
    word = int(np.argmin(table))
    at = int(np.flatnonzero(((alive & word) == 0) & ((dead & ~word) == 0))[0])
    return Realisation(r, table, _certificate(keys, offsets, int(alive[at]), int(dead[at]), word))


def _strikes(keys, offsets):
    """Return (alive, dead): bit masks over the first r-1 keys; no set with all of `alive` alive and all of `dead` dead is realised."""
    r = len(keys)
    rows = exact.coordinates(keys)
    independent = exact.eliminate(zip(*rows, strict=True))[1]
    if len(independent) == r:  # no dependency at all
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    shift = np.array(exact.scaled(offsets) if offsets is not None else [0] * r, object)
    supports, signs, totals = _circuits([rows[c] for c in independent], shift)
    alive = ((signs > 0).astype(np.int64) << supports).sum(1)
    dead = ((signs < 0).astype(np.int64) << supports).sum(1)
    plus, minus = totals <= 0, totals >= 0  # which of lambda and -lambda have sum lambda_s o_s <= 0
    alive, dead = np.concatenate([alive[plus], dead[minus]]), np.concatenate([dead[plus], alive[minus]])
    last = 1 << (r - 1)
    keep = ((dead & last) == 0) & ((alive | dead) != 0)
    return alive[keep] & ~last, dead[keep]


def _circuits(rows, shift):
    """Return (supports, signs, totals): (N, rho+1) key indices, the signs of their dependency, and the (N,) signs of sum lambda_s o_s.

    rows: rho independent integer rows of r keys. shift: (r,) integers. Every (rho+1)-subset S of keys comes once; its dependency
    lambda_t = (-1)^t det(S without its t-th key) is 0 iff S has more than one. The minors of the first k rows come from those of the
    first k-1, by expansion along row k.
    """
    r = len(shift)
    index = np.zeros(1 << r, np.int32)
    minors = np.ones(1, object)
    for size in range(1, len(rows) + 1):
        masks, members = _subsets(r, size)
        minors = sum(np.array(rows[size - 1], object)[members[:, t]] * term for t, term in _terms(minors, index, masks, members))
        index[masks] = np.arange(len(masks))
    masks, members = _subsets(r, len(rows) + 1)
    signs = np.empty(members.shape, np.int8)
    totals = np.zeros(len(masks), object)
    for t, term in _terms(minors, index, masks, members):
        signs[:, t] = _sign(term)
        totals = totals + term * shift[members[:, t]]
    return members, signs, _sign(totals)


def _terms(minors, index, masks, members):
    """Yield (t, (-1)^t minors of each subset without its t-th member)."""
    for t in range(members.shape[1]):
        smaller = minors[index[masks ^ (1 << members[:, t])]]
        yield t, -smaller if t % 2 else smaller


def _subsets(r, size):
    """Return (masks (N,), members (N, size)) of the subsets of range(r) of that size, members ascending."""
    masks = np.arange(1 << r)
    masks = masks[np.bitwise_count(masks) == size]
    return masks, np.nonzero((masks[:, None] >> np.arange(r)) & 1)[1].reshape(len(masks), size)


def _sign(values):
    return (values > 0).astype(np.int8) - (values < 0).astype(np.int8)


def _struck(alive, dead, n):
    """Return (2^n,) booleans: whether some strike matches the word, bit i set iff key i+1 is dead.

    A strike says alive, dead or either of each key. Its first 6 keys become 64 bits of words, the others a ternary index; the third value
    is then folded into the other two, one key after the other: 3^(n-6) steps, however many strikes there are.
    """
    low, high = min(LOW, n), max(0, n - LOW)
    within = np.arange(1 << low, dtype=np.uint64)
    words = np.full(len(alive), np.uint64(2 ** (1 << low) - 1))
    for i in range(low):
        dips = np.bitwise_or.reduce(np.where((within >> np.uint64(i)) & np.uint64(1), np.uint64(1) << within, np.uint64(0)))
        words &= np.where((alive >> i) & 1, ~dips, np.where((dead >> i) & 1, dips, ~np.uint64(0)))
    ternary = np.zeros(len(alive), np.int64)
    for j in range(high):
        ternary += 3**j * np.where((alive >> (low + j)) & 1, 0, np.where((dead >> (low + j)) & 1, 1, 2))
    fold = np.zeros(3**high, np.uint64)
    np.bitwise_or.at(fold, ternary, words)
    for j in range(high):
        fold = fold.reshape(2**j, 3, -1)
        fold = fold[:, :2] | fold[:, 2:]
    return ((fold.reshape(-1, 1) >> within) & np.uint64(1)).astype(bool).ravel()


def _certificate(keys, offsets, alive, dead, word):
    """Return the rank.Impossible of `word` from a circuit with these signs: its dependency, computed anew, exactly."""
    r = len(keys)
    first = [s for s in range(r - 1) if (alive | dead) >> s & 1]
    vectors = exact.null_vectors(exact.coordinates([keys[s] for s in first])) if first else []
    support = first if vectors else [*first, r - 1]
    vector = (vectors or exact.null_vectors(exact.coordinates([keys[s] for s in support])))[0]
    weights = [0] * r
    for s, w in zip(support, vector, strict=True):
        weights[s] = w
    if (weights[support[0]] > 0) != bool(alive >> support[0] & 1):
        weights = [-w for w in weights]
    names = tuple(s + 1 for s in range(r) if s == r - 1 or not word >> s & 1)
    return rank.Impossible(rank.certificate(weights).weights, names)

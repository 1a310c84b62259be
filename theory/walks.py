"""Walks with steps from a set, and how many of them there are: the words that forgetting by path reads."""

import itertools

import numpy as np

from attnprobe.theory.alive import depths


def walks(T, steps=(-1, 0, 1)):
    """Return (len(steps)^T, T+1) int8: every walk of T of these steps, from W_0 = 0."""
    moves = np.array(list(itertools.product(steps, repeat=T)), np.int8).reshape(-1, T)
    return np.cumsum(np.pad(moves, ((0, 0), (1, 0))), axis=1, dtype=np.int8)


def families(W):
    """Return (N, bytes) uint8: for each walk of W (N, T+1) its alive sets A_0, ..., A_T, with phi = psi = W, as packed bits."""
    alive = (depths(W, W) == 0) & np.tri(W.shape[1], dtype=bool)
    return np.packbits(alive.reshape(len(W), -1), axis=1)


def distinct(rows):
    """Return how many different rows a (N, bytes) uint8 array has."""
    return len(np.unique(np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1])))))


def catalan(n):
    """Return the Catalan number C_n, by its recursion: 1, 1, 2, 5, 14, 42, ..."""
    row = [1]
    for m in range(n):
        row.append(row[-1] * 2 * (2 * m + 1) // (m + 2))
    return row[n]


def motzkin_prefixes(n):
    """Return the number of walks of n steps from {-1, 0, 1} that start at 0 and never go below it: 1, 2, 5, 13, 35, ..."""
    at = [1]
    for _ in range(n):
        padded = [0, *at, 0, 0]
        at = [sum(padded[h : h + 3]) for h in range(len(at) + 1)]
    return sum(at)

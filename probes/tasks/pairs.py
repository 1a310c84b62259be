"""Draws contexts of key-value pairs, decoys among them, and the rows that ask for keys."""

from __future__ import annotations

from dataclasses import dataclass

NOWHERE = 255  # the slot of an absent key


@dataclass(frozen=True)
class Sizes:
    """How many of everything: pairs and decoys in a context, keys and values in the vocabulary, present and absent keys
    asked for, start BOS tokens before the pairs."""

    pairs: int
    keys: int
    values: int
    present: int
    absent: int
    decoys: int
    start: int


def contexts(rng, n, sizes, eps):
    """A Batch of n contexts `[BOS] k v k v ...` and their rows, everything in random order.

    Keys of pairs, decoys and absent rows are distinct; values are drawn with replacement. A decoy's token is a key of its own, to
    which eps (n,) of an asked key is added, the asked keys in turn. target (n, rows): the value, V where the key is absent. side:
    slot (n, rows), the asked pair's place; with decoys mix and amount (n, T), what is added to a position's embedding, and eps.
    """
    import numpy as np

    from attnprobe.probes.batch import Batch

    P, K, V, A, D = sizes.pairs, sizes.keys, sizes.values, sizes.absent, sizes.decoys
    rows, end = sizes.present + A, sizes.start + 2 * (P + D)

    def shuffle(count):
        return shuffled(rng, n, count)

    order = shuffle(K)
    chosen = shuffle(P)[:, : sizes.present]  # the pairs asked for
    own = np.concatenate([order[:, :P], order[:, P + A : P + A + D]], 1)  # (n, P + D) keys
    value = rng.integers(0, V, (n, P + D), dtype=np.uint8)
    place = shuffle(P + D) if D else np.arange(P, dtype=np.uint8)[None].repeat(n, 0)  # of each pair; without decoys all are alike
    asked = np.concatenate([take(own, chosen), order[:, P : P + A]], 1)  # (n, rows)
    answer = np.concatenate([take(value, chosen), np.full((n, A), V, np.uint8)], 1)
    slot = np.concatenate([take(place, chosen), np.full((n, A), NOWHERE, np.uint8)], 1)
    row = shuffle(rows)
    tokens = np.full((n, end + rows), K + V, np.uint8)  # BOS
    np.put_along_axis(tokens[:, sizes.start : end : 2], place, own, 1)
    np.put_along_axis(tokens[:, sizes.start + 1 : end : 2], place, value + np.uint8(K), 1)
    tokens[:, end:] = take(asked, row)
    side = {"slot": take(slot, row)}
    if D:
        side |= {"mix": np.zeros_like(tokens), "amount": np.zeros(tokens.shape, np.float32), "eps": eps.astype(np.float32)}
        at = sizes.start + 2 * place[:, P:].astype(np.intp)
        np.put_along_axis(side["mix"], at, asked[:, np.arange(D) % rows], 1)
        np.put_along_axis(side["amount"], at, side["eps"][:, None], 1)
    positions = np.arange(end + rows)
    return Batch(tokens, take(answer, row), positions[end:], positions < end, side)


def shuffled(rng, n, count):
    """n random orders of 0..count-1, count <= 256: (n, count) uint8. Sorts 56 random bits above the 8 of the number: several
    times faster than Generator.permuted."""
    import numpy as np

    numbers = np.arange(count, dtype=np.uint64)
    drawn = rng.integers(0, 1 << 64, (n, count), dtype=np.uint64) & ~np.uint64(255) | numbers
    drawn.sort(axis=1)
    return drawn.astype(np.uint8)  # the low 8 bits


def take(x, index):
    """x[i, index[i, j]]."""
    import numpy as np

    return np.take_along_axis(x, index, 1)

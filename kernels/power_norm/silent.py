"""Which tiles of a backward pass hold a pair above the threshold, as lists: a loop over a list keeps loads in flight, a branch does not."""

import torch


def live_tiles(live, queries, keys, block, T):
    """Square tiles (BH, n, n) of `block` rows below the diagonal with a live pair, from those (BH, ., .) of queries by keys rows.

    live: boolean. n = ceil(T / block). The tiles on the diagonal are no part of any list: they are always computed.
    """
    n = -(-T // block)
    return resized(resized(live, 1, queries, block, n), 2, keys, block, n).tril(-1)


def resized(live, axis, size, block, n):
    """The first n blocks of `block` rows along an axis of blocks of `size`; a block is live if any part of it may be."""
    if size >= block:
        return live.repeat_interleave(size // block, axis).narrow(axis, 0, n)
    short = -live.shape[axis] % (block // size)
    padded = torch.cat([live, torch.zeros_like(live.narrow(axis, 0, 1)).repeat_interleave(short, axis)], axis)
    return padded.unflatten(axis, (-1, block // size)).any(axis + 1).narrow(axis, 0, n)


def lists(live):
    """Of each row of tiles (BH, n, n) the live ones, in order, then the others, int32 (BH, n, n); and the number of the live, (BH, n)."""
    order = (~live).to(torch.int8).argsort(dim=-1, stable=True)
    return order.int().contiguous(), live.sum(-1, dtype=torch.int32).contiguous()

"""Lists of live tiles, so that the attention loop walks the tiles it needs and has no branch around the others.

A tile of scores, queries by keys, is dead where its bias is below a threshold for every pair, and alive where no pair has a bias.
`Skip` holds, for each owner (a block of queries, or of keys in their backward pass), the blocks it meets with a bias, run by run as
`loop` walks them: AT (B, H, owners, most) and, for each run, where it starts in it, FIRST (B, H, owners, runs + 1); and those it
meets without: ALIVE (B, H, owners, most), the first COUNT (B, H, owners) of them. Forward and backward tiles differ in size: a
tile's class is that of the larger of both sizes, so that all passes leave out the same pairs. Pairs within one larger block of
queries are never left out, and always have their bias.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Skip:
    """The lists of the three passes, each int32 tensors AT, FIRST, ALIVE, COUNT; `dead` (B, H, queries, keys) by larger tiles."""

    dead: torch.Tensor
    forward: tuple
    by_key: tuple
    by_query: tuple


def larger(tiles):
    """The queries and keys of a tile that holds whole tiles of every pass."""
    return max(tiles.queries, tiles.block), max(tiles.keys, tiles.block)


def corners(tiles, padded):
    """The first query and the last key of every larger tile, and whether it lies before the diagonal: (I,), (J,), (I, J)."""
    queries, keys = larger(tiles)
    first = torch.arange(0, padded, queries)
    last = torch.arange(keys - 1, padded, keys)
    return first, last, last < first[:, None]


def lists(dead, alive, problem, in_runs):
    """The Skip of dead and of alive (B, H, I, J) larger tiles, true before the diagonal only; in_runs: whether `loop` walks dyadic runs.

    alive: None where the loop has no way for them, and reads no ALIVE and no COUNT.
    """
    biased = by_pass(~dead if alive is None else ~(dead | alive), problem, in_runs)
    free = biased if alive is None else by_pass(alive, problem, False)
    return Skip(dead, *((*lists, at, first[..., 1].contiguous()) for lists, (at, first) in zip(biased, free, strict=True)))


def by_pass(chosen, problem, in_runs):
    """AT and FIRST of what is chosen of the larger tiles (B, H, I, J): forward, by keys and by queries."""
    tiles, T = problem.tiles, problem.q.shape[2]
    wide, high = larger(tiles)

    def met(queries, keys):
        """By tiles of this size, different blocks of queries and keys before them: (B, H, P / queries, P / keys)."""
        split = chosen.repeat_interleave(wide // queries, -2).repeat_interleave(high // keys, -1)
        i, j = between_blocks(split, queries // keys)
        return split & (j < i) & (i * queries < T)

    ahead, back = met(tiles.queries, tiles.keys), met(tiles.block, tiles.block)
    return compact(ahead, tiles.queries // tiles.keys, in_runs), compact(back, 1, in_runs, of_keys=True), compact(back, 1, in_runs)


def compact(live, ratio, in_runs, of_keys=False):
    """AT and FIRST of the live tiles (B, H, I, J), J / I = ratio, owned by queries or of_keys; one run where not in_runs."""
    i, j = between_blocks(live, ratio)
    runs = (len(i) - 1).bit_length() if in_runs else 1
    run = ((i ^ j)[..., None] >> torch.arange(1, max(1, runs), device=live.device) > 0).sum(-1)  # the highest bit of difference
    if of_keys:
        live, run = live.mT, run.T
    others = live.shape[-1]
    order = torch.where(live, run * others + torch.arange(others, device=live.device), (runs + 1) * others)  # the dead last
    first = torch.stack([(live & (run < r)).sum(-1) for r in range(runs + 1)], -1)
    return order.argsort(dim=-1, stable=True).int().contiguous(), first.int().contiguous()


def between_blocks(tiles, ratio):
    """The block of queries of every row (I, 1), and that of every column (1, J)."""
    I, J = tiles.shape[-2:]
    return torch.arange(I, device=tiles.device)[:, None], torch.arange(J, device=tiles.device)[None] // ratio

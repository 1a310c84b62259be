"""The disjoint sparse table: any range (s, t] of a field as one combination of two look-ups, and the gradient back through it.

Cell (l, p) combines [start of p's 2^l block, p] where p has bit l (a query's part), else (p, end of p's 2^l block] (a key's
part, which may be empty). For s < t and l the highest set bit of s xor t, the range (s, t] is cells (l, s) and (l, t), disjoint.
L levels serve every T <= 2^L. Shapes: field (..., T), table (..., L, T).
"""

import torch

from attnprobe.kernels.fpa.path import EMPTY, INF, Softmin
from attnprobe.kernels.fpa.tables import doubled, halves, ranges_within


def levels_for(T):
    """ceil(log2 T), at least 1."""
    return max(1, (T - 1).bit_length())


def lowest_table(phi, L):
    """The table of minima; an empty part is +inf."""
    return table(phi, L, torch.minimum, INF)


def mass_table(phi, L):
    """The table of log sum e^{-phi}; an empty part is -1e30."""
    return table(-phi, L, Softmin.combine, EMPTY)


def table(x, L, combine, empty):
    """x (..., T) combined over every cell: (..., L, T)."""
    rows = stretched(x, L, empty)
    cells = []
    for l, prefix, suffix in levels(rows, combine, empty):
        cell = suffix.clone()
        halves(cell, l)[1].copy_(halves(prefix, l)[1])
        cells.append(cell)
    return torch.stack(cells, 1)[..., : x.shape[-1]].reshape(*x.shape[:-1], L, x.shape[-1]).contiguous()


def given_to_field(phi, d_cells):
    """The gradient that the cells' softmins hold (..., L, T), given to the field (..., T) by softmin shares: O(T) a level.

    A level's cell is one cell of the level below and the total of the sibling block; each share lies in [0, 1].
    """
    T, L = phi.shape[-1], d_cells.shape[-2]
    heights = stretched(-phi, L, EMPTY)  # (R, P)
    d_cells = torch.nn.functional.pad(d_cells.reshape(-1, L, T), (0, heights.shape[1] - T))
    d_prefix, d_suffix = torch.zeros_like(heights), torch.zeros_like(heights)
    for l, prefix, suffix in reversed(list(levels(heights, Softmin.combine, EMPTY))):
        (left, right), (left_suffix, _) = halves(prefix, l), halves(suffix, l)
        (d_left, d_right), (d_left_suffix, _) = halves(d_prefix, l), halves(d_suffix, l)
        to_left = d_right * Softmin.share(left[..., -1:], right)
        to_right = d_left_suffix * (1 - Softmin.share(left_suffix, right[..., -1:]))
        d_right -= to_left
        d_left_suffix -= to_right
        d_left[..., -1] += to_left.sum(-1)
        d_right[..., -1] += to_right.sum(-1)
        of_keys, of_queries = halves(d_cells[:, l], l)
        d_right += of_queries
        d_left_suffix += of_keys
    return d_prefix[:, :T].reshape(phi.shape)


def levels(x, combine, empty):
    """l, prefixes and suffixes (R, P) of the blocks of 2^l, for every level of x (R, P)."""
    return doubled(ranges_within(x.t()[None].contiguous(), combine, empty), combine)


def stretched(x, L, value):
    """x (..., T) with `value` appended up to 2^L: (R, 2^L)."""
    x = x.reshape(-1, x.shape[-1])
    return torch.nn.functional.pad(x, (0, (1 << L) - x.shape[1]), value=value)

"""The disjoint sparse table: any range (s, t] of a field as one combination of two look-ups, and the gradient back through it.

Cell (l, p) combines [start of p's 2^l block, p] where p has bit l (a query's part), else (p, end of p's 2^l block] (a key's
part, which may be empty). For s < t and l the highest set bit of s xor t, the range (s, t] is cells (l, s) and (l, t), disjoint.
L levels serve every T <= 2^L. Shapes: field (..., T), table (..., L, T).
"""

import torch

from attnprobe.kernels.fpa.path import EMPTY, INF, Softmin
from attnprobe.kernels.fpa.tables import cells, handed_down


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
    found = [torch.stack((keys, queries), -2).flatten(1) for (queries, keys), _ in levels(stretched(x, L, empty), combine, empty)]
    return torch.stack(found, 1)[..., : x.shape[-1]].reshape(*x.shape[:-1], L, x.shape[-1]).contiguous()


def given_to_field(phi, d_cells):
    """The gradient that the cells' softmins hold (..., L, T), given to the field (..., T) by softmin shares: O(T) a level.

    A level's cell is one cell of the level below and the total of the sibling block; each share lies in [0, 1].
    """
    T, L = phi.shape[-1], d_cells.shape[-2]
    heights = stretched(-phi, L, EMPTY)  # (R, P)
    d_cells = torch.nn.functional.pad(d_cells.reshape(-1, L, T), (0, heights.shape[1] - T))
    sides = [d_cells[:, l].unflatten(-1, (-1, 2, 1 << l)) for l in range(L)]  # keys' left, queries' right
    held = [torch.stack((x[:, :, 1], x[:, :, 0])) for x in sides]
    d_prefix, _ = handed_down(list(levels(heights, Softmin.combine, EMPTY)), held, Softmin)
    return d_prefix[:, :T].reshape(phi.shape)


def levels(x, combine, empty):
    """The cells of every level of x (R, P), as `tables.cells` has them; the suffix of a single position is empty."""
    return cells(torch.stack((x, torch.full_like(x, empty))), 0, combine)


def stretched(x, L, value):
    """x (..., T) with `value` appended up to 2^L: (R, 2^L)."""
    x = x.reshape(-1, x.shape[-1])
    return torch.nn.functional.pad(x, (0, (1 << L) - x.shape[1]), value=value)

"""What FPA's bias is made of: combinations of a field over the ranges (s, t], for every s < t, and the gradient back to the field.

For s and t in different blocks let l be the highest set bit of s xor t (s < t): the range (s, t] is (s, end of s's 2^l block]
and [start of t's 2^l block, t], disjoint and adjacent. So suffixes of left blocks and prefixes of right blocks, the cells of
level l, give every range by one combination, and because the union is disjoint the same cells serve the minimum and
log-sum-exp. A level's cells follow from those of the level below and the totals of their sibling blocks.

Here P is T up to the next power of two, R the number of rows, the product of the leading axes, n = min(NEAR, P) the size of a
block and G = P / n their number. Within blocks rows are innermost, since a block is too short to run along; beyond them positions.
"""

import torch

NEAR = 16  # positions of a block, a power of two
APART = 16  # entries between matrices


def ranges_within(steps, combine):
    """steps (n, G, R) combined over every range [s, t] within a block: (n, G, n, R), t first; what stands at s > t is no range."""
    n, G, R = steps.shape
    ranges = steps.new_empty(n, G, n, R)
    single(ranges).copy_(steps.movedim(0, -1))
    for l in range(n.bit_length() - 1):
        across, early, late = crossing(ranges, l)
        combine(early, late, out=across)
    return ranges


def given_back(ranges, held, op):
    """The gradient that each range of `ranges_within` holds (n, G, n, R), given to the steps: (n, G, R). Uses up `held`."""
    for l in reversed(range(len(held).bit_length() - 1)):
        (_, early, late), (across, d_early, d_late) = crossing(ranges, l), crossing(held, l)
        to_early = op.part(across, early, late)
        d_early += to_early.sum(1, keepdim=True)
        d_late += torch.sub(across, to_early, out=to_early).sum(3, keepdim=True)
    return single(held).movedim(-1, 0)


def single(ranges):
    """The ranges [t, t] of `ranges_within`: (G, R, n)."""
    return ranges.diagonal(dim1=0, dim2=2)


def crossing(ranges, l):
    """The ranges [s, t] of `ranges_within` with the middle of a block of 2^{l+1} inside, and their two parts, such ranges too.

    Views that broadcast to (n / 2^{l+1}, 2^l, G, 2^l, R), t before s.
    """
    n, G, _, R = ranges.shape
    t, g, s, r = ranges.stride()
    size, strides = 1 << l, ((2 << l) * (t + s), t, g, s, r)

    def some(queries, keys, first):
        return ranges.as_strided((n >> l + 1, queries, G, keys, R), strides, first)

    return some(size, size, size * t), some(1, size, (size - 1) * t), some(size, 1, size * (t + s))


def ends(ranges, empty):
    """Of the blocks of `ranges_within`, prefixes [start, p] and suffixes (p, end]: (2, R, P); the last suffix is `empty`."""
    n, G, _, R = ranges.shape
    found = ranges.new_full((2, R, G, n), empty)
    found[0] = ranges[:, :, 0].permute(2, 1, 0)
    found[1, :, :, :-1] = ranges[-1, :, 1:].permute(2, 0, 1)
    return found.flatten(2)


def cells(ends, first, combine):
    """For each level l from `first` up, its cells (2, R, P / 2^{l+1}, 2^l) and the totals of their sibling blocks (..., 1).

    The cells are prefixes of right blocks, for queries, and suffixes of left blocks, for keys. ends (2, R, P): prefixes and
    suffixes of the blocks of 2^first; used up.
    """
    levels = ends.shape[-1].bit_length() - 1
    for l in range(first, levels):
        longer, *_ = places = of_level(ends, l)
        own, sibling = (x.clone(memory_format=torch.contiguous_format) for x in places)
        yield own, sibling
        if l + 1 < levels:
            longer.copy_(combine(own, sibling.expand_as(own).contiguous()))


def handed_down(levels, d_cells, op):
    """The gradient that the cells of each level hold, like `cells`, given to the ends of the lowest blocks: (2, R, P)."""
    (_, R, G, n), top = d_cells[0].shape, len(d_cells) - 1
    d_ends = d_cells[0].new_zeros(2, R, 2 * G * n)
    for i in reversed(range(len(levels))):
        (queries, keys), (left, right) = levels[i]
        d_own, (d_left, d_right) = of_level(d_ends, d_cells[i].shape[-1].bit_length() - 1)
        if i < top:
            to_left, to_keys = op.part(d_own[0].contiguous(), left, queries), op.part(d_own[1].contiguous(), keys, right)
            to_right = d_own[1] - to_keys
            d_own[0] -= to_left
            d_own[1] = to_keys
            d_left += to_left.sum(-1, keepdim=True)
            d_right += to_right.sum(-1, keepdim=True)
        d_own += d_cells[i]
    return d_ends


def of_level(ends, l):
    """The places in `ends` (2, R, P) of the cells of level l and of the totals of their sibling blocks: views as in `cells`."""
    _, R, P = ends.shape
    size, step = 1 << l, 2 << l
    cell = ends.as_strided((2, R, P // step, size), (R * P - size, P, step, 1), size)
    return cell, ends.as_strided((2, R, P // step, 1), (size, P, step, 1), size - 1)


def blocks(x):
    """x (R, P) -> (n, G, R)."""
    R, P = x.shape
    n = min(NEAR, P)
    return x.t().contiguous().view(P // n, n, R).transpose(0, 1)


def joined(x):
    """x (n, G, R) -> (R, P)."""
    return x.transpose(0, 1).flatten(0, 1).t().contiguous()


def pairs(x, l):
    """x (R, P, P), rows contiguous -> a view (R, P / 2^{l+1}, 2^l, 2^l): t in a right block, s in its left sibling."""
    R, P, _ = x.shape
    size, step = 1 << l, 2 << l
    return x.as_strided((R, P // step, size, size), (x.stride(0), step * (P + 1), P, 1), x.storage_offset() + size * P)


def diagonal(x, n, before=0):
    """x (R, P, P), rows contiguous -> a view of its blocks of n on the diagonal (n, P / n, n, R), t before s; `before` entries earlier."""
    R, P, _ = x.shape
    return x.as_strided((n, P // n, n, R), (P, n * (P + 1), 1, x.stride(0)), x.storage_offset() - before)


def matrices(R, P, like, before=0):
    """Room for (R, P, P), with `before` entries in front of it.

    Matrices do not follow each other at a power of two: a walk over all rows would have a place or two of the cache for its entries.
    """
    pitch = P * P + APART
    return like.new_empty(before + R * pitch).as_strided((R, P, P), (pitch, P, 1), before)

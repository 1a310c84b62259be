"""What FPA's bias is made of: combinations of a field over the ranges (s, t], for every s < t, and the gradient back along a walk.

For s and t in different blocks let l be the highest set bit of s xor t (s < t): the range (s, t] is (s, end of s's 2^l block]
and [start of t's 2^l block, t], disjoint and adjacent. So suffixes of left blocks and prefixes of right blocks, doubled from
level to level, give every range by one combination, and because the union is disjoint the same tables serve the minimum and
log-sum-exp. Ranges within a block of NEAR positions are walked, one position at a time.

Here P is T up to the next power of two, R the number of rows, the product of the leading axes, n = min(NEAR, P) the size of a
block and G = P / n their number. Within blocks rows are innermost, since a block is too short to run along; beyond them positions.
"""

import torch

NEAR = 16  # positions of a block, a power of two


def ranges_within(steps, combine, empty):
    """steps (n, G, R) combined over every range (s, t] within a block, s = -1 its start: (n, G, n + 1, R), t first, `empty` at s >= t."""
    n, G, R = steps.shape
    ranges = steps.new_full((n, G, n + 1, R), empty)
    single(ranges).copy_(steps.movedim(0, -1))
    for l in range(n.bit_length() - 1):
        across, early, late = crossing(ranges, l)
        combine(early, late, out=across)
    return ranges


def given_back(ranges, held, op):
    """The gradient that each range of `ranges_within` holds (n, G, n + 1, R), given to the steps: (n, G, R). Consumes `held`."""
    for l in reversed(range(len(held).bit_length() - 1)):
        (_, early, late), (across, d_early, d_late) = crossing(ranges, l), crossing(held, l)
        to_early = op.part(across, early, late)
        d_early += to_early.sum(1, keepdim=True)
        d_late += torch.sub(across, to_early, out=to_early).sum(3, keepdim=True)
    return single(held).movedim(-1, 0)


def single(ranges):
    """The ranges (t - 1, t] of `ranges_within`: (G, R, n)."""
    return ranges.diagonal(dim1=0, dim2=2)


def crossing(ranges, l):
    """Ranges of `ranges_within` that cross the middle of a block of 2^{l+1}, and their two parts.

    Views (n / 2^{l+1}, 2^l, G, 2^l, R), t before s.
    """
    n, G, _, R = ranges.shape
    t, g, s, r = ranges.stride()
    size, strides = 1 << l, ((2 << l) * (t + s), t, g, s, r)

    def cells(queries, keys, first):
        return ranges.as_strided((n >> l + 1, queries, G, keys, R), strides, first)

    return cells(size, size, size * t), cells(1, size, (size - 1) * t), cells(size, 1, size * (t + s))


def doubled(ranges, combine):
    """For each level l from a block's size up, l and the tables of blocks of 2^l: prefix [start, p] and suffix (p, end], each (R, P)."""
    prefix, suffix = joined(ranges[:, :, 0]), joined(ranges[-1, :, 1:].transpose(0, 1))
    first, levels = (x.bit_length() - 1 for x in (len(ranges), prefix.shape[1]))
    for l in range(first, levels):
        yield l, prefix, suffix
        if l + 1 < levels:
            (left, right), (left_suffix, right_suffix) = halves(prefix, l), halves(suffix, l)
            longer = combine(left[..., -1:].expand_as(right).contiguous(), right.contiguous())
            longer_suffix = combine(left_suffix.contiguous(), right[..., -1:].expand_as(right).contiguous())
            prefix, suffix = torch.stack((left, longer), 2).flatten(1), torch.stack((longer_suffix, right_suffix), 2).flatten(1)


def blocks(x):
    """x (R, P) -> (n, G, R)."""
    R, P = x.shape
    n = min(NEAR, P)
    return x.t().contiguous().view(P // n, n, R).transpose(0, 1)


def joined(x):
    """x (n, G, R) -> (R, P)."""
    return x.transpose(0, 1).flatten(0, 1).t().contiguous()


def halves(x, l):
    """x (R, P) as left and right blocks of size 2^l: two views (R, P / 2^{l+1}, 2^l)."""
    sides = x.unflatten(-1, (-1, 2, 1 << l))
    return sides[:, :, 0], sides[:, :, 1]


def of_queries(x, l):
    """The queries' part of x (R, P), right blocks, as broadcastable to pairs."""
    return halves(x, l)[1][..., None]


def of_keys(x, l):
    """The keys' part of x (R, P), left blocks, as broadcastable to pairs."""
    return halves(x, l)[0][..., None, :]


def pairs(x, l):
    """x (R, P, P) -> a view (R, P / 2^{l+1}, 2^l, 2^l): t in a right block, s in its left sibling."""
    sides = x.unflatten(-1, (-1, 2, 1 << l)).unflatten(-4, (-1, 2, 1 << l))
    return sides[:, :, 1, :, :, 0].diagonal(dim1=1, dim2=3).movedim(-1, 1)


def diagonal(x):
    """x (R, P, P) -> a view of its blocks on the diagonal (R, n, G, n), t before s."""
    n = min(NEAR, x.shape[-1])
    return x.unflatten(-1, (-1, n)).unflatten(-3, (-1, n)).diagonal(dim1=-4, dim2=-2).movedim(-1, 2)


def on_diagonal(x):
    """x (R, P, P) -> a copy of `diagonal`, by rows of a block: half the time of copying the view."""
    R, P, _ = x.shape
    n = min(NEAR, P)
    query = torch.arange(P, device=x.device).view(-1, n).t().flatten()  # in the order (n, G)
    return x.contiguous().view(R, P * P // n, n).index_select(1, query * (P // n) + query // n).view(R, n, P // n, n)

"""FPA's bias with a soft gradient, from dyadic tables: every range (s, t] is one left and one right part.

With l the highest set bit of s xor t (s < t), the range (s, t] is (s, end of s's 2^l block] and [start of t's 2^l
block, t], disjoint and adjacent. So suffixes of left blocks and prefixes of right blocks, doubled from level to
level, give every range by one combination, and because the union is disjoint the same tables serve the minimum and
log-sum-exp. The gradient of a range is shared between its two parts, then down the doubling; every factor lies in
[0, 1], so no field range overflows.
"""

import torch

INF = float("inf")
EMPTY = -1e30  # log-sum-exp of nothing; finite, so that two empty parts differ by 0 and not by nan
NEAR = 8  # positions: below, a block's keys are too few to run along


class Softmin:
    """Heights -phi combine by log-sum-exp; a part's share of the gradient is its share of e^{-phi}."""

    combine = staticmethod(torch.logaddexp)

    @staticmethod
    def share(early, late):
        """The early part's share, in [0, 1]."""
        return (early - late).sigmoid_()


class Min:
    """Heights -phi combine by maximum; the gradient goes to the higher part, the earlier one on ties."""

    combine = staticmethod(torch.maximum)

    @staticmethod
    def share(early, late):
        """1 where the early part has the minimum, else 0."""
        return (early >= late).to(early.dtype)


def padded(x, value):
    """x (..., T) with `value` appended up to the next power of two P: (..., P)."""
    T = x.shape[-1]
    return torch.nn.functional.pad(x, (0, (1 << (T - 1).bit_length()) - T), value=value)


def halves(x, l):
    """x (P, R) as left and right blocks of size 2^l: two views (P / 2^{l+1}, 2^l, R)."""
    blocks = x.unflatten(0, (-1, 2, 1 << l))
    return blocks[:, 0], blocks[:, 1]


def tables(x, combine, empty):
    """For each level l the tables of blocks of size 2^l: prefix [start, p] and suffix (p, end], both like x (P, R)."""
    prefix, suffix = x, torch.full_like(x, empty)
    found = [(prefix, suffix)]
    for l in range((x.shape[0] - 1).bit_length() - 1):
        (left, right), (left_suffix, _) = halves(prefix, l), halves(suffix, l)
        prefix, suffix = prefix.clone(), suffix.clone()
        combine(left[:, -1:], right, out=halves(prefix, l)[1])
        combine(left_suffix, right[:, -1:], out=halves(suffix, l)[0])
        found.append((prefix, suffix))
    return found if x.shape[0] > 1 else []


class Far:
    """The pairs of sibling blocks of a level in (R, P, P), keys innermost, for blocks of NEAR positions or more."""

    query, key = -2, -1  # axes of a view of pairs

    @staticmethod
    def pairs(x, l):
        """x (R, P, P) -> a view (R, P / 2^{l+1}, 2^l, 2^l): t in a right block, s in its left sibling."""
        h = 1 << l
        blocks = x.unflatten(-1, (-1, 2, h)).unflatten(-4, (-1, 2, h))
        return blocks[..., :, 1, :, :, 0, :].diagonal(dim1=-4, dim2=-2).movedim(-1, -3)

    @staticmethod
    def spread(x, of_query):
        """x (blocks, 2^l, R), of the queries or the keys, as broadcastable to a view of pairs."""
        x = x.permute(2, 0, 1).contiguous()
        return x[..., :, None] if of_query else x[..., None, :]

    @staticmethod
    def gathered(x):
        """A view of pairs summed over one axis, as (blocks, 2^l, R)."""
        return x.permute(1, 2, 0)

    @staticmethod
    def total(x):
        """The sum over all pairs: (R,)."""
        return x.sum((-1, -2, -3))


class Near:
    """The pairs within blocks of NEAR positions in (P / n, n, n, R), rows innermost: their own keys are too few to be."""

    query, key = 2, 3

    @staticmethod
    def blocks(x):
        """x (R, P, P) -> its diagonal blocks (P / n, n, n, R), n = min(NEAR, P)."""
        n = min(NEAR, x.shape[-1])
        return x.unflatten(-1, (-1, n)).unflatten(-3, (-1, n)).diagonal(dim1=-4, dim2=-2).permute(3, 1, 2, 0).contiguous()

    @staticmethod
    def pairs(x, l):
        """x (P / n, n, n, R) -> a view (P / n, n / 2^{l+1}, 2^l, 2^l, R), as in Far."""
        h = 1 << l
        blocks = x.unflatten(2, (-1, 2, h)).unflatten(1, (-1, 2, h))
        return blocks[:, :, 1, :, :, 0].diagonal(dim1=1, dim2=3).movedim(-1, 1)

    @staticmethod
    def spread(x, of_query):
        """x (blocks, 2^l, R), of the queries or the keys, as broadcastable to a view of pairs."""
        blocks, h, _ = x.shape
        x = x.unflatten(0, (-1, min(NEAR // (2 * h), blocks)))
        return x[:, :, :, None] if of_query else x[:, :, None]

    @staticmethod
    def gathered(x):
        """A view of pairs summed over one axis, as (blocks, 2^l, R)."""
        return x.flatten(0, 1)

    @staticmethod
    def total(x):
        """The sum over all pairs: (R,)."""
        return x.sum((0, 1, 2, 3))


class PathBias(torch.autograd.Function):
    """b_ts = beta min(0, min_{s<u<=t} phi_u - psi) for every pair s < t, 0 elsewhere; see `reference.path_bias`.

    Shapes: phi, psi (..., T); beta (..., 1, 1), broadcastable -> (..., T, T). op: Softmin or Min, of the gradient; psi is
    psi_t where `of_query`, else psi_s. R below is the number of rows, the product of the leading axes.
    """

    @staticmethod
    def forward(ctx, phi, psi, beta, op, of_query):
        T, lead = phi.shape[-1], phi.shape[:-1]
        field, level = rows_last(padded(phi, INF)), rows_last(padded(psi, 0.0))  # (P, R)
        scale = beta[..., 0, 0].expand(lead).reshape(-1)  # (R,)
        P, R = field.shape
        b = phi.new_zeros(R, P, P)
        # min(0, min(far, near) - psi) = min(far - psi, min(0, near - psi)), near the part on psi's side; beta > 0 commutes with both
        for l, (prefix, suffix) in enumerate(tables(field, torch.minimum, INF)):
            near, far = (prefix, suffix) if of_query else (suffix, prefix)
            far = Far.spread(halves(far * scale, l)[int(not of_query)], not of_query)
            own, cap = (Far.spread(halves(x * scale, l)[int(of_query)], of_query) for x in (level, (near - level).clamp_(max=0)))
            pairs = Far.pairs(b, l)
            torch.sub(far, own, out=pairs)
            torch.minimum(pairs, cap, out=pairs)
        b = b[:, :T, :T].reshape(*lead, T, T)
        ctx.op, ctx.of_query = op, of_query
        ctx.save_for_backward(phi, beta, b)
        return b

    @staticmethod
    def backward(ctx, grad):
        phi, beta, b = ctx.saved_tensors
        lead, T = phi.shape[:-1], phi.shape[-1]
        heights = rows_last(padded(-phi, EMPTY))  # (P, R)
        grad, b = (squared(x, heights.shape[0]) for x in (grad, b))  # (R, P, P)
        d_phi, d_psi, d_beta = share_out(heights, grad, b, ctx.op, ctx.of_query)
        scale = beta[..., 0]
        d_phi, d_psi = (d[:T].t().reshape(phi.shape) * scale for d in (d_phi, d_psi))
        return d_phi, d_psi, (d_beta.view(*lead, 1, 1) / beta).sum_to_size(beta.shape), None, None


def rows_last(x):
    """(..., P) -> (P, R)."""
    return x.flatten(0, -2).t().contiguous() if x.dim() > 1 else x[:, None]


def squared(x, P):
    """(..., T, T) -> (R, P, P), with zeros appended."""
    x = x.reshape(-1, *x.shape[-2:])
    more = P - x.shape[-1]
    return torch.nn.functional.pad(x, (0, more, 0, more)) if more else x


def share_out(heights, grad, b, op, of_query):
    """Give the gradient of each pair's range (s, t] to the positions u in it, by their shares.

    heights (P, R) = -phi; grad, b (R, P, P): gradient and value of the bias, over beta = 1. Returns d_phi (P, R), d_psi (P, R)
    and sum of grad b (R,). A pair passes its gradient on iff b < 0.
    """
    d_prefix, d_suffix, d_psi = (torch.zeros_like(heights) for _ in range(3))  # the first two: what the cells of a level hold
    d_beta = torch.zeros_like(heights[0])
    levels, near = tables(heights, op.combine, EMPTY), (Near.blocks(grad), Near.blocks(b))
    for l in reversed(range(len(levels))):
        (left, right), (left_suffix, _) = (halves(table, l) for table in levels[l])
        (d_left, d_right), (d_left_suffix, _) = halves(d_prefix, l), halves(d_suffix, l)
        if l < len(levels) - 1:  # a cell of the level above is a cell of this level and the total of its sibling block
            to_left = d_right * op.share(left[:, -1:], right)
            to_right = d_left_suffix * (1 - op.share(left_suffix, right[:, -1:]))
            d_right -= to_left
            d_left_suffix -= to_right
            d_left[:, -1] += to_left.sum(1)
            d_right[:, -1] += to_right.sum(1)
        layout, (g, value) = (Near, near) if 1 << l < NEAR else (Far, (grad, b))
        value = layout.pairs(value, l)
        live = torch.ops.aten.hardtanh_backward(layout.pairs(g, l), value, -INF, 0.0)  # g where b < 0, in one pass
        of_t = layout.gathered(live.sum(layout.key))
        halves(d_psi, l)[int(of_query)].sub_(of_t if of_query else layout.gathered(live.sum(layout.query)))
        early = op.share(layout.spread(left_suffix, False), layout.spread(right, True)).mul_(live)
        d_right += of_t - layout.gathered(early.sum(layout.key))
        d_left_suffix += layout.gathered(early.sum(layout.query))
        d_beta += layout.total(live.mul_(value))
    return d_prefix, d_psi, d_beta

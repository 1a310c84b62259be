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
    """(..., P) as left and right blocks of size 2^l: two views (..., P / 2^{l+1}, 2^l)."""
    blocks = x.unflatten(-1, (-1, 2, 1 << l))
    return blocks[..., 0, :], blocks[..., 1, :]


def sibling_pairs(x, l):
    """(..., P, P) as the pairs (t in a right block, s in its left sibling): a view (..., P / 2^{l+1}, 2^l, 2^l)."""
    h = 1 << l
    blocks = x.unflatten(-1, (-1, 2, h)).unflatten(-4, (-1, 2, h))
    return blocks[..., :, 1, :, :, 0, :].diagonal(dim1=-4, dim2=-2).movedim(-1, -3)


def of_pairs(x, l, of_query):
    """x (..., P) at the t of `sibling_pairs` where `of_query`, else at their s: broadcastable to them."""
    left, right = halves(x, l)
    return right[..., :, None] if of_query else left[..., None, :]


def tables(x, combine, empty):
    """For each level l the tables of blocks of size 2^l: prefix [start, p] and suffix (p, end], both (..., P)."""
    prefix, suffix = x, torch.full_like(x, empty)
    found = [(prefix, suffix)]
    for l in range((x.shape[-1] - 1).bit_length() - 1):
        (left, right), (left_suffix, _) = halves(prefix, l), halves(suffix, l)
        prefix, suffix = prefix.clone(), suffix.clone()
        combine(left[..., -1:], right, out=halves(prefix, l)[1])
        combine(left_suffix, right[..., -1:], out=halves(suffix, l)[0])
        found.append((prefix, suffix))
    return found if x.shape[-1] > 1 else []


class PathBias(torch.autograd.Function):
    """b_ts = beta min(0, min_{s<u<=t} phi_u - psi) for every pair s < t, 0 elsewhere; see `reference.path_bias`.

    Shapes: phi, psi (..., T); beta (..., 1, 1), broadcastable -> (..., T, T). op: Softmin or Min, of the gradient; psi is
    psi_t where `of_query`, else psi_s.
    """

    @staticmethod
    def forward(ctx, phi, psi, beta, op, of_query):
        T, scale = phi.shape[-1], beta[..., 0]
        field, level = padded(phi, INF), padded(psi, 0.0)
        P = field.shape[-1]
        b = phi.new_zeros(*phi.shape[:-1], P, P)
        # min(0, min(far, near) - psi) = min(far - psi, min(0, near - psi)), near the part on psi's side; beta > 0 commutes with both
        for l, (prefix, suffix) in enumerate(tables(field, torch.minimum, INF)):
            near, far = (prefix, suffix) if of_query else (suffix, prefix)
            far = of_pairs(far * scale, l, not of_query)
            own, cap = (of_pairs(x * scale, l, of_query) for x in (level, (near - level).clamp_(max=0)))
            pairs = sibling_pairs(b, l)
            torch.sub(far, own, out=pairs)
            torch.minimum(pairs, cap, out=pairs)
        b = b[..., :T, :T]
        ctx.op, ctx.axis = op, -1 if of_query else -2
        ctx.save_for_backward(phi, beta, b)
        return b

    @staticmethod
    def backward(ctx, grad):
        phi, beta, b = ctx.saved_tensors
        live = torch.ops.aten.hardtanh_backward(grad, b, -INF, 0.0)  # grad where b < 0, in one pass
        d_beta = torch.linalg.vecdot(grad.flatten(-2), b.flatten(-2))[..., None, None] / beta
        d_psi = -live.sum(ctx.axis) * beta[..., 0]
        d_phi = share_out(-phi, live, ctx.op) * beta[..., 0]
        return d_phi, d_psi, d_beta.sum_to_size(beta.shape), None, None


def share_out(heights, mass, op):
    """Give the mass of each range (s, t] to the positions u in it, by their shares: (..., T), (..., T, T) -> (..., T)."""
    T = heights.shape[-1]
    heights = padded(heights, EMPTY)
    P = heights.shape[-1]
    mass = torch.nn.functional.pad(mass, (0, P - T, 0, P - T)) if P > T else mass
    d_prefix, d_suffix = torch.zeros_like(heights), torch.zeros_like(heights)  # what the cells of a level hold
    levels = tables(heights, op.combine, EMPTY)
    for l in reversed(range(len(levels))):
        (left, right), (left_suffix, _) = (halves(table, l) for table in levels[l])
        (d_left, d_right), (d_left_suffix, _) = halves(d_prefix, l), halves(d_suffix, l)
        if l < len(levels) - 1:  # a cell of the level above is a cell of this level and the total of its sibling block
            to_left = d_right * op.share(left[..., -1:], right)
            to_right = d_left_suffix * (1 - op.share(left_suffix, right[..., -1:]))
            d_right -= to_left
            d_left_suffix -= to_right
            d_left[..., -1] += to_left.sum(-1)
            d_right[..., -1] += to_right.sum(-1)
        pairs = sibling_pairs(mass, l)
        early = op.share(left_suffix[..., None, :], right[..., :, None]).mul_(pairs)
        d_right += pairs.sum(-1) - early.sum(-1)
        d_left_suffix += early.sum(-2)
    return d_prefix[..., :T]

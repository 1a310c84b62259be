"""FPA's bias with a soft gradient, for every pair of positions.

The gradient of a range is shared between its two parts, then down the doubling of `tables` and back along its walk; every
factor lies in [0, 1], so no field range overflows. P, R, n and G are as in `tables`.
"""

import torch

from attnprobe.kernels.fpa.tables import (
    blocks,
    diagonal,
    doubled,
    given_back,
    halves,
    joined,
    of_keys,
    of_queries,
    on_diagonal,
    pairs,
    ranges_within,
)

INF = float("inf")
EMPTY = -1e30  # log-sum-exp of nothing; finite, so that two empty parts differ by 0 and not by nan


class Softmin:
    """Heights -phi combine by log-sum-exp; a part's share of the gradient is its share of e^{-phi}."""

    combine = staticmethod(torch.logaddexp)

    @staticmethod
    def share(early, late):
        """The early part's share, in [0, 1]."""
        return (early - late).sigmoid_()

    @staticmethod
    def part(held, early, late):
        """What of `held` goes to the early part, in one pass."""
        d = early - late
        return torch.ops.aten.softplus_backward.grad_input(held, d, 1.0, 40.0, grad_input=d)


class Min:
    """Heights -phi combine by maximum; the gradient goes to the higher part, the earlier one on ties."""

    combine = staticmethod(torch.maximum)

    @staticmethod
    def share(early, late):
        """1 where the early part has the minimum, else 0."""
        return (early >= late).to(early.dtype)

    @staticmethod
    def part(held, early, late):
        """What of `held` goes to the early part."""
        return held * (early >= late)


class PathBias(torch.autograd.Function):
    """b_ts = beta min(0, min_{s<u<=t} phi_u - psi) for every pair s < t, 0 elsewhere; see `reference.path_bias`.

    Shapes: phi, psi (..., T); beta (..., 1, 1), broadcastable -> (..., T, T). op: Softmin or Min, of the gradient; psi is
    psi_t where `of_query`, else psi_s.
    """

    @staticmethod
    def forward(ctx, phi, psi, beta, op, of_query):
        T, lead = phi.shape[-1], phi.shape[:-1]
        field, level = (x * beta[..., 0] for x in (phi, psi))  # beta > 0 commutes with both minima
        b, values = dips(padded(field, INF), padded(level, 0.0), of_query)
        ctx.op, ctx.of_query = op, of_query
        ctx.save_for_backward(phi, beta, *values)
        return b[:, :T, :T].reshape(*lead, T, T)

    @staticmethod
    def backward(ctx, grad):
        phi, beta, *values = ctx.saved_tensors
        lead, T = phi.shape[:-1], phi.shape[-1]
        heights = padded(-phi, EMPTY)  # (R, P)
        d_phi, d_psi, d_beta = share_out(heights, squared(grad, heights.shape[1]), values, ctx.op, ctx.of_query)
        scale = beta[..., 0]
        d_phi, d_psi = (d[:, :T].reshape(phi.shape) * scale for d in (d_phi, d_psi))
        return d_phi, d_psi, (d_beta.view(*lead, 1, 1) / beta.clamp(min=torch.finfo(beta.dtype).tiny)).sum_to_size(beta.shape), None, None


def dips(field, level, of_query):
    """min(0, min_{s<u<=t} phi_u - psi) for s < t, 0 elsewhere; psi is that of t where `of_query`, else of s.

    Shapes: phi and psi (R, P) -> (R, P, P), and the same values again as the backward reads them: within blocks (n, G, n, R),
    t before s, then for each level its pairs (R, P / 2^{l+1}, 2^l, 2^l).
    """
    R, P = field.shape
    ranges, own = ranges_within(blocks(field), torch.minimum, INF), blocks(level)
    own = own[:, :, None] if of_query else own.transpose(0, 1)
    near = ranges[:, :, 1:].minimum(own).sub_(own)  # psi caps the range, INF where s >= t
    found, values = field.new_zeros(R, P, P), [near]
    diagonal(found).copy_(near.flatten(0, 2).t().contiguous().view(R, *near.shape[:3]))
    for l, prefix, suffix in doubled(ranges, torch.minimum):
        queries, keys = (prefix.minimum(level), suffix) if of_query else (prefix, suffix.minimum(level))
        value = torch.minimum(of_queries(queries, l), of_keys(keys, l)).sub_((of_queries if of_query else of_keys)(level, l))
        pairs(found, l).copy_(value)
        values.append(value)
    return found, values


def share_out(heights, grad, values, op, of_query):
    """Give the gradient of each pair's range (s, t] to the positions u in it, by their shares.

    heights (R, P) = -phi; grad (R, P, P), gradient of the bias; values: see `dips`. Returns, over beta = 1, d_phi
    (R, P), d_psi (R, P) and sum of grad value (R,). A pair passes its gradient on iff its value is below 0.
    """
    steps = blocks(heights)
    ranges = ranges_within(steps, op.combine, EMPTY)
    d_prefix, d_suffix, d_psi = (torch.zeros_like(heights) for _ in range(3))  # the first two: what the cells of a level hold
    d_beta, (near, *far) = torch.zeros_like(heights[:, 0]), values
    for l, prefix, suffix in reversed(list(doubled(ranges, op.combine))):
        (left, right), (left_suffix, _) = halves(prefix, l), halves(suffix, l)
        (d_left, d_right), (d_left_suffix, _) = halves(d_prefix, l), halves(d_suffix, l)
        if 2 << l < heights.shape[1]:  # a cell of the level above is a cell of this level and the total of its sibling block
            to_left = d_right * op.share(left[..., -1:], right)
            to_right = d_left_suffix * (1 - op.share(left_suffix, right[..., -1:]))
            d_right -= to_left
            d_left_suffix -= to_right
            d_left[..., -1] += to_left.sum(-1)
            d_right[..., -1] += to_right.sum(-1)
        value = far.pop()
        live = passed(pairs(grad, l), value)
        early = op.share(of_keys(suffix, l), of_queries(prefix, l)).mul_(live)
        of_t, of_s = live.sum(-1), live.sum(-2)
        halves(d_psi, l)[int(of_query)].sub_(of_t if of_query else of_s)
        d_right += of_t.sub_(early.sum(-1))
        d_left_suffix += early.sum(-2)
        d_beta += live.mul_(value).sum((-1, -2, -3))
    held = near.new_empty(*near.shape[:2], near.shape[2] + 1, near.shape[3])  # ranges within blocks, first the blocks' prefixes
    live = held[:, :, 1:]
    passed(on_diagonal(grad).flatten(1).t().contiguous().view(near.shape), near, out=live)
    d_psi -= joined(live.sum(2) if of_query else live.sum(0).transpose(0, 1))
    d_beta += (live * near).sum((0, 1, 2))
    held[:, :, 0] = blocks(d_prefix)
    held[-1, :, 1:] += blocks(d_suffix).transpose(0, 1)
    return joined(given_back(ranges, held, op)), d_psi, d_beta


def passed(grad, value, out=None):
    """The gradient where the bias is below 0, in one pass."""
    pass_on = torch.ops.aten.hardtanh_backward
    return pass_on(grad, value, -INF, 0.0) if out is None else pass_on.grad_input(grad, value, -INF, 0.0, grad_input=out)


def padded(x, value):
    """x (..., T) with `value` appended up to P: (R, P)."""
    x = x.reshape(-1, x.shape[-1])
    more = (1 << (x.shape[1] - 1).bit_length()) - x.shape[1]
    return torch.nn.functional.pad(x, (0, more), value=value) if more else x


def squared(x, P):
    """(..., T, T) -> (R, P, P), with zeros appended."""
    x = x.reshape(-1, *x.shape[-2:])
    more = P - x.shape[-1]
    return torch.nn.functional.pad(x, (0, more, 0, more)) if more else x

"""FPA's bias with a soft gradient, for every pair of positions.

The gradient of a range is shared between its two parts, then down the doubling of `tables` and back along its walk; every
factor lies in [0, 1], so no field range overflows. P, R, n and G are as in `tables`.
"""

import torch

from attnprobe.kernels.fpa.tables import (
    NEAR,
    blocks,
    cells,
    diagonal,
    ends,
    given_back,
    handed_down,
    joined,
    matrices,
    pairs,
    ranges_within,
)

AT_ONCE = 2**19  # entries of a chunk of the backward: what is read again is then still in the cache
WALKED = 128  # positions of a block of the forward where rows are many: a step of a walk takes all rows at once
MANY = 256  # rows
CERTAIN = 40.0  # a share whose logit exceeds this is 1
INF = float("inf")
EMPTY = -1e30  # log-sum-exp of nothing; finite, so that two empty parts differ by 0 and not by nan


class Softmin:
    """Heights -phi combine by log-sum-exp; a part's share of the gradient is its share of e^{-phi}."""

    combine = staticmethod(torch.logaddexp)

    @staticmethod
    def part(held, early, late):
        """The early part's share of what is held: held sigmoid(early - late), in one pass."""
        difference = early - late
        share = torch.ops.aten.softplus_backward.grad_input
        return share(held, difference, 1.0, CERTAIN, grad_input=difference)


class Min:
    """Heights -phi combine by maximum; the gradient goes to the higher part, the earlier one on ties."""

    combine = staticmethod(torch.maximum)

    @staticmethod
    def part(held, early, late):
        """All of what is held where the early part has the minimum, else 0."""
        return held * (early >= late)


class PathBias(torch.autograd.Function):
    """b_ts = beta min(0, min_{s<u<=t} phi_u - psi) for every pair s < t, 0 elsewhere; see `reference.path_bias`.

    Shapes: phi, psi (..., T); beta (..., 1, 1) -> (..., T, T). op: Softmin or Min, of the gradient; psi is psi_t where
    `of_query`, else psi_s. Differentiable once.
    """

    @staticmethod
    def forward(ctx, phi, psi, beta, op, of_query):
        T, lead = phi.shape[-1], phi.shape[:-1]
        field, level = (x * beta[..., 0] for x in (phi, psi))  # beta > 0 commutes with both minima
        b = dips(padded(field, INF), padded(level, 0.0), of_query)
        ctx.op, ctx.of_query = op, of_query
        ctx.save_for_backward(phi, beta, b)
        return b[:, :T, :T].reshape(*lead, T, T)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        phi, beta, values = ctx.saved_tensors
        lead, T = phi.shape[:-1], phi.shape[-1]
        heights = padded(-phi, empty(phi.dtype))  # (R, P)
        d_phi, d_psi, d_beta = share_out(heights, squared(grad, heights.shape[1]), values, ctx.op, ctx.of_query)
        scale = beta[..., 0]
        d_phi, d_psi = (d[:, :T].reshape(phi.shape) * scale for d in (d_phi, d_psi))
        return d_phi, d_psi, d_beta.view(*lead, 1, 1) / beta.clamp(min=torch.finfo(beta.dtype).tiny), None, None


def dips(field, level, of_query):
    """min(0, min_{s<u<=t} phi_u - psi) for s < t, 0 elsewhere; psi is that of t where `of_query`, else of s: (R, P) each -> (R, P, P)."""
    if not of_query:
        return lowest(field, level, 0.0)
    found, psi = lowest(field, torch.zeros_like(level), INF), level[..., None]
    return torch.minimum(found, psi, out=found).sub_(psi)


def lowest(field, level, most):
    """min(most, min_{s<u<=t} phi_u - psi_s) for s < t, `most` elsewhere: (R, P) each -> (R, P, P).

    Blocks of n are walked, all of a row's queries from one t to the next; beyond them cells give a pair its range.
    """
    R, P = field.shape
    found, n = matrices(R, P, field).fill_(most), min(WALKED if R >= MANY else NEAR, P)
    to, phi, psi = diagonal(found, n).permute(0, 3, 1, 2), field.view(R, P // n, n, 1).unbind(2), level.view(R, P // n, n)
    for t in range(1, n):
        torch.minimum(to[t - 1, ..., :t], phi[t] - psi[..., :t], out=to[t, ..., :t])
    for (queries, keys), _ in cells(torch.stack((field, torch.full_like(field, INF))), 0, torch.minimum) if n < P else ():
        if n <= (size := keys.shape[-1]):
            psi = level.view(R, P // size // 2, 2, size)[:, :, 0]  # of left blocks, as keys
            value = torch.minimum(queries[..., None], torch.minimum(keys, psi + most)[..., None, :]).sub_(psi[..., None, :])
            pairs(found, size.bit_length() - 1).copy_(value)
    return found


def share_out(heights, grad, b, op, of_query):
    """Give the gradient of each pair's range (s, t] to the positions u in it, by their shares.

    heights (R, P) = -phi; grad (R, P, P), gradient of the bias b. Returns, over beta = 1, d_phi (R, P), d_psi (R, P) and
    sum of grad b (R,). A pair passes its gradient on iff its bias is below 0.
    """
    (R, P), steps = heights.shape, blocks(heights)
    n, G, _ = steps.shape
    ranges = ranges_within(steps, op.combine)
    levels = list(cells(ends(ranges, empty(heights.dtype)), n.bit_length() - 1, op.combine))
    d_cells, d_psi, d_beta = [torch.empty_like(own) for own, _ in levels], torch.empty_like(heights), heights.new_empty(R)
    held, some = torch.empty_like(ranges), at_once(b)
    room = matrices(min(R, some), P, heights, 1)
    for first in range(0, R, some):
        rows = slice(first, first + some)
        live = passed(grad[rows], b[rows], room[: len(b[rows])])
        torch.sum(live, -1 if of_query else -2, out=d_psi[rows])
        for (own, _), d_own in zip(levels, d_cells, strict=True):
            (queries, keys), (d_queries, d_keys) = own[:, rows], d_own[:, rows]
            across = pairs(live, own.shape[-1].bit_length() - 1).contiguous()
            to_keys = op.part(across, keys[..., None, :], queries[..., None])
            torch.sum(to_keys, -2, out=d_keys)
            torch.sum(torch.sub(across, to_keys, out=to_keys), -1, out=d_queries)
        held[..., rows] = diagonal(live, n, 1)  # [s + 1, t] = (s, t]
        torch.sum(live.mul_(b[rows]), (1, 2), out=d_beta[rows])
    if levels:
        d_prefix, d_suffix = handed_down(levels, d_cells, op).view(2, R, G, n)
        held[:, :, 0] = d_prefix.permute(2, 1, 0)
        held[-1, :, 1:] += d_suffix[..., :-1].permute(1, 2, 0)
    else:
        held[:, :, 0] = 0
    return joined(given_back(ranges, held, op)), d_psi.neg_(), d_beta


def empty(dtype):
    """EMPTY, or the lowest number of a dtype that does not reach it."""
    return max(EMPTY, torch.finfo(dtype).min)


def at_once(x):
    """Rows of x (R, ...) that hold about AT_ONCE entries, at least one."""
    return max(1, AT_ONCE // x.shape[1:].numel())


def passed(grad, b, out):
    """The gradient where the bias is below 0, in one pass."""
    return torch.ops.aten.hardtanh_backward.grad_input(grad, b, -INF, 0.0, grad_input=out)


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

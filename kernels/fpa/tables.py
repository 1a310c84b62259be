"""Range minima of a field with a soft gradient, from dyadic tables: every (s, t] is one left and one right part.

With l the highest set bit of s xor t (s < t), the range (s, t] is (s, end of s's 2^l block] and [start of t's 2^l
block, t], disjoint and adjacent. So suffixes of left blocks and prefixes of right blocks, doubled from level to
level, give every range by one combination, and because the union is disjoint the same tables serve log-sum-exp.
The gradient of a range is shared between its two parts, then down the doubling; every factor lies in [0, 1], so
no field range overflows.
"""

import torch

INF = float("inf")


def range_min(phi, soft=True):
    """m_ts = min_{s<u<=t} phi_u for every pair, +inf where s >= t.

    Shapes: phi (..., T) -> (..., T, T), queries t then keys s. Backward: dm_ts/dphi_u = e^{-phi_u} /
    sum_{s<v<=t} e^{-phi_v} when `soft` (softmin, temperature 1), else 1 at the earliest minimiser.
    """
    return RangeMin.apply(phi, SOFTMIN if soft else MIN)


def suffix_min(phi, soft=True):
    """m_s = min_{s<u<T} phi_u, +inf at s = T-1: the last row of `range_min`, in O(T).

    Shapes: phi (..., T) -> (..., T). Gradient as in `range_min`.
    """
    return (SoftSuffixMin if soft else HardSuffixMin).apply(phi)


class Softmin:
    """-log(e^{-a} + e^{-b}), and the share of its gradient that goes to a."""

    @staticmethod
    def combine(a, b):
        low = torch.minimum(a, b)
        return torch.where(low == INF, low, low - torch.exp(-(a - b).abs()).log1p())

    @staticmethod
    def share(a, b):
        # inf - inf, both parts empty, is nan: an empty range takes no gradient
        return torch.sigmoid(b - a).nan_to_num(0.0)


class Min:
    """min(a, b), and the share of its gradient that goes to the earlier part a: all of it on ties."""

    @staticmethod
    def combine(a, b):
        return torch.minimum(a, b)

    @staticmethod
    def share(a, b):
        return (a <= b).to(a.dtype)


SOFTMIN, MIN = Softmin(), Min()


def padded(phi):
    """phi (..., T) with +inf appended up to the next power of two P: (..., P)."""
    T = phi.shape[-1]
    return torch.nn.functional.pad(phi, (0, (1 << (T - 1).bit_length()) - T), value=INF)


def halves(x, l):
    """(..., P) as left and right blocks of size 2^l: two views (..., P / 2^{l+1}, 2^l)."""
    blocks = x.unflatten(-1, (-1, 2, 1 << l))
    return blocks[..., 0, :], blocks[..., 1, :]


def sibling_pairs(x, l):
    """(..., P, P) as the pairs (t in a right block, s in its left sibling): a view (..., 2^l, 2^l, P / 2^{l+1})."""
    h = 1 << l
    return x.unflatten(-1, (-1, 2, h)).unflatten(-4, (-1, 2, h))[..., :, 1, :, :, 0, :].diagonal(dim1=-4, dim2=-2)


def levels(phi, op):
    """For each level l the tables of blocks of size 2^l: prefix [start, p] and suffix (p, end], both (..., P)."""
    prefix, suffix = phi, torch.full_like(phi, INF)
    for l in range((phi.shape[-1] - 1).bit_length()):
        yield l, prefix, suffix
        (left, right), (left_suffix, right_suffix) = halves(prefix, l), halves(suffix, l)
        prefix = torch.stack([left, op.combine(left[..., -1:], right)], -2).flatten(-3)
        suffix = torch.stack([op.combine(left_suffix, right[..., -1:]), right_suffix], -2).flatten(-3)


class RangeMin(torch.autograd.Function):
    """See `range_min`."""

    @staticmethod
    def forward(ctx, phi, op):
        ctx.op, ctx.T = op, phi.shape[-1]
        phi = padded(phi)
        ctx.save_for_backward(phi)
        P = phi.shape[-1]
        m = phi.new_full((*phi.shape, P), INF)
        for l, prefix, suffix in levels(phi, MIN):
            right, left = halves(prefix, l)[1].mT, halves(suffix, l)[0].mT  # (..., 2^l, P / 2^{l+1})
            torch.minimum(right[..., :, None, :], left[..., None, :, :], out=sibling_pairs(m, l))
        return m[..., : ctx.T, : ctx.T]

    @staticmethod
    def backward(ctx, grad):
        (phi,), op, T = ctx.saved_tensors, ctx.op, ctx.T
        P = phi.shape[-1]
        grad = torch.nn.functional.pad(grad, (0, P - T, 0, P - T))
        d_prefix, d_suffix = torch.zeros_like(phi), torch.zeros_like(phi)
        for l, prefix, suffix in reversed(list(levels(phi, op))):
            left, right = halves(prefix, l)
            left_suffix, _ = halves(suffix, l)
            (d_left, d_right), (d_left_suffix, d_right_suffix) = halves(d_prefix, l), halves(d_suffix, l)
            to_left = op.share(left[..., -1:], right)  # of the next level's prefixes of right blocks
            to_suffix = op.share(left_suffix, right[..., -1:])  # of the next level's suffixes of left blocks
            pairs = sibling_pairs(grad, l)
            to_key = op.share(left_suffix.mT[..., None, :, :], right.mT[..., :, None, :])  # (..., t, s, block)
            d_left_total = (d_right * to_left).sum(-1)
            d_right_total = (d_left_suffix * (1 - to_suffix)).sum(-1)
            d_right = d_right * (1 - to_left) + (pairs * (1 - to_key)).sum(-2).mT
            d_left_suffix = d_left_suffix * to_suffix + (pairs * to_key).sum(-3).mT
            d_prefix = torch.stack([add_last(d_left, d_left_total), add_last(d_right, d_right_total)], -2).flatten(-3)
            d_suffix = torch.stack([d_left_suffix, d_right_suffix], -2).flatten(-3)
        return d_prefix[..., :T], None


def add_last(x, total):
    """x (..., h) with total (...) added to its last entry."""
    return torch.cat([x[..., :-1], x[..., -1:] + total[..., None]], -1)


def later(x):
    """x_u for u = 1..T-1, reversed: (..., T) -> (..., T-1), so that a scan runs from the last position back."""
    return x[..., 1:].flip(-1)


class HardSuffixMin(torch.autograd.Function):
    """See `suffix_min`; the gradient goes to the earliest minimiser."""

    @staticmethod
    def forward(ctx, phi):
        m, index = later(phi).cummin(-1)  # on ties cummin keeps the latest in scan order: the earliest u
        ctx.T = phi.shape[-1]
        ctx.save_for_backward(index)
        return torch.nn.functional.pad(m.flip(-1), (0, 1), value=INF)

    @staticmethod
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        d = grad[..., :-1].flip(-1)
        return torch.nn.functional.pad(torch.zeros_like(d).scatter_add(-1, index, d).flip(-1), (1, 0))


class SoftSuffixMin(torch.autograd.Function):
    """See `suffix_min`. Both passes of the backward are scans y_u = a_u y_{u-1} + b_u with a in [0, 1].

    With m_s the hard minimum: Z_s = sum_{u>s} e^{m_s - phi_u} obeys Z_s = e^{m_s - m_{s+1}} Z_{s+1} + e^{m_s - phi_{s+1}}, and
    dphi_u = e^{m_{u-1} - phi_u} D_u with D_u = sum_{s<u} (g_s / Z_s) e^{m_s - m_{u-1}} = e^{m_{u-2} - m_{u-1}} D_{u-1} + g_{u-1} / Z_{u-1}.
    """

    @staticmethod
    def forward(ctx, phi):
        m = later(phi).cummin(-1).values.flip(-1)  # (..., T-1)
        ctx.save_for_backward(phi, m)
        return torch.nn.functional.pad(m, (0, 1), value=INF)

    @staticmethod
    def backward(ctx, grad):
        phi, m = ctx.saved_tensors
        rest = (m - phi[..., 1:]).exp()  # (..., T-1): e^{m_{u-1} - phi_u}
        decay = (m[..., :-1] - m[..., 1:]).exp()  # (..., T-2): e^{m_s - m_{s+1}}
        Z = decayed_cumsum(decay.flip(-1), rest.flip(-1)).flip(-1)
        D = decayed_cumsum(decay, grad[..., :-1] / Z)
        return torch.nn.functional.pad(rest * D, (1, 0))


def decayed_cumsum(a, b):
    """y_0 = b_0, y_u = a_{u-1} y_{u-1} + b_u, by doubling: O(log U) operators.

    Shapes: a (..., U-1), b (..., U) -> (..., U).
    """
    step = 1
    U = b.shape[-1]
    while step < U:
        # a[i] holds the product that carries y_i to y_{i+step}
        b = torch.cat([b[..., :step], torch.addcmul(b[..., step:], a, b[..., :-step])], -1)
        a = a[..., step:] * a[..., :-step]
        step *= 2
    return b

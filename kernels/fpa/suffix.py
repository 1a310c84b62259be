"""The last row of FPA's range minimum in O(T): a suffix minimum, and its soft gradient by two scans."""

import torch

from attnprobe.kernels import arguments

INF = float("inf")


def suffix_min(phi, soft=True):
    """m_s = min_{s<u<T} phi_u, +inf at s = T-1.

    Shapes: phi (..., T) -> (..., T). Backward: dm_s/dphi_u = e^{-phi_u} / sum_{s<v<T} e^{-phi_v} when `soft` (softmin,
    temperature 1), else 1 at the earliest minimiser.
    """
    arguments.sequences(phi=phi)
    return (SoftSuffixMin if soft else HardSuffixMin).apply(phi)


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

"""FPA: a key is biased by the deepest dip of the field below its level since it was written."""

import torch

from attnprobe.kernels import arguments
from attnprobe.kernels.fpa.path import Min, PathBias, Softmin
from attnprobe.kernels.fpa.suffix import suffix_min


def path_bias(phi, psi, beta, rows, soft=True, of_query=False):
    """b_ts = beta min(0, min_{s<u<=t} phi_u - psi_s), b_tt = 0, for the last `rows` queries; one row takes O(S), more take O(S^2).

    Shapes: phi, psi (..., S) field and level, psi broadcastable to phi; beta broadcastable to (..., 1, 1), positive; returns
    (..., rows, S). Where `of_query`, the query's level psi_t stands in the place of the key's (an ablation).
    Entries at s >= t are 0. The gradient of the minimum goes to phi_u with softmin weights (temperature 1) when
    `soft`, else to the earliest minimiser alone; the outer min passes a gradient iff min phi < psi strictly. Differentiable once
    where rows > 1.
    """
    arguments.flag("soft", soft)
    arguments.flag("of_query", of_query)
    psi, beta = checked(phi, psi, beta, rows)
    if rows == 1:
        level = psi[..., -1:] if of_query else psi
        return -beta * (level - suffix_min(phi, soft)).relu()[..., None, :]  # (..., 1, S)
    b = PathBias.apply(phi, psi, beta, Softmin if soft else Min, of_query)  # (..., S, S)
    return b if rows == phi.shape[-1] else b[..., -rows:, :]  # (..., rows, S); a slice of all would cost its backward two passes


def path_sum_bias(phi, psi, beta, rows):
    """FPA-sum: b_ts = beta sum_{s<u<=t} min(0, phi_u - psi_s): the dips are added up where FPA takes the deepest.

    Shapes as in `path_bias`; any `rows` from 1 to S.
    """
    psi, beta = checked(phi, psi, beta, rows)
    if rows == 1:
        return -beta * DipSum.apply(phi, psi)[..., None, :]  # (..., 1, S)
    S = phi.shape[-1]
    later = phi.new_ones(S, S).tril(-1)  # (U, S): u > s
    dips = (psi[..., None, :] - phi[..., :, None]).relu() * later  # (..., U, S)
    return -beta * dips.cumsum(-2)[..., -rows:, :]  # (..., rows, S)


def checked(phi, psi, beta, rows):
    """psi as phi's (..., S) and beta as (..., 1, 1); ValueError unless these can be, and rows is from 1 to S."""
    arguments.sequences(phi=phi)
    arguments.floating(psi=psi, beta=beta)
    arguments.whole("rows", rows, 1, phi.shape[-1], ", the number of keys")
    return arguments.expanded("psi", psi, phi.shape), arguments.expanded("beta", beta, (*phi.shape[:-1], 1, 1))


class DipSum(torch.autograd.Function):
    """sum_{u>s} max(0, psi_s - phi_u), phi and psi (..., S) -> (..., S), holding one (S, U) matrix for the backward pass."""

    @staticmethod
    def forward(ctx, phi, psi):
        S = phi.shape[-1]
        dips = psi[..., :, None] - phi[..., None, :]  # (..., S, U)
        dips.clamp_(min=0).mul_(phi.new_ones(S, S).triu_(1))
        ctx.save_for_backward(dips)
        return dips.sum(-1)

    @staticmethod
    def backward(ctx, grad):
        (dips,) = ctx.saved_tensors
        active = (dips > 0).to(grad.dtype)  # (..., S, U)
        return -(grad[..., None, :] @ active)[..., 0, :], grad * active.sum(-1)

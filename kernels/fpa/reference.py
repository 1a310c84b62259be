"""FPA: a key is biased by the deepest dip of the field below its level since it was written."""

from attnprobe.kernels.fpa.tables import range_min, suffix_min


def path_bias(phi, psi, beta, rows, soft=True):
    """b_ts = beta min(0, min_{s<u<=t} phi_u - psi_s), b_tt = 0, for the last `rows` queries; one row takes O(S), more take O(S^2).

    Shapes: phi, psi (..., S) field and level; beta broadcastable to (..., 1, 1), positive; returns (..., rows, S).
    Entries at s >= t are 0. The gradient of the minimum goes to phi_u with softmin weights (temperature 1) when
    `soft`, else to the earliest minimiser alone; the outer min passes a gradient iff min phi < psi strictly.
    """
    m = suffix_min(phi, soft)[..., None, :] if rows == 1 else range_min(phi, soft)[..., -rows:, :]  # (..., rows, S)
    return -beta * (psi[..., None, :] - m).relu()  # (..., rows, S)


def path_sum_bias(phi, psi, beta, rows):
    """FPA-sum: b_ts = beta sum_{s<u<=t} min(0, phi_u - psi_s): the dips are added up where FPA takes the deepest.

    Shapes as in `path_bias`; any `rows` from 1 to S.
    """
    S = phi.shape[-1]
    later = phi.new_ones(S, S).tril(-1)  # (U, S): u > s
    dips = -(psi[..., None, :] - phi[..., :, None]).relu() * later  # (..., U, S)
    total = dips.sum(-2, keepdim=True) if rows == 1 else dips.cumsum(-2)[..., -rows:, :]
    return beta * total  # (..., rows, S)

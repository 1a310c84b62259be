"""One query row against cached keys: the definition."""

import torch


def attention(q, k, v, kept, bias, scale):
    """softmax over the first kept keys of scale q . k_s + bias_s, times v: (B, H, D).

    Shapes: q (B, H, D), k and v (B, G, S, D), G dividing H, kept (B, G) >= 1, bias (B, H, S) or a number.
    """
    k, v = (by_query_head(x, q) for x in (k, v))
    scores = scale * (k @ q[..., None])[..., 0] + bias  # (B, H, S)
    beyond = torch.arange(k.shape[2], device=q.device) >= by_query_head(kept, q)[..., None]
    weights = scores.masked_fill(beyond, -float("inf")).softmax(-1)
    return (weights.to(v.dtype)[..., None, :] @ v)[..., 0, :]


def lowered(depth, psi, phi, kept):
    """r_s = min(0, min_{s<u<=t} phi_u - psi_s) after one more token: min(r_s, phi_t - psi_s), but for the token's own key, the last kept.

    Shapes: depth and psi (B, H, S), phi (B, H), kept (B, G); (B, H, S).
    """
    before = torch.arange(depth.shape[2], device=depth.device) < by_query_head(kept, depth)[..., None] - 1
    return torch.where(before, torch.minimum(depth, phi[..., None] - psi), depth)


def by_query_head(x, of):
    """x (B, G, ...), each head repeated for the query heads of `of` (B, H, ...) that read it: (B, H, ...)."""
    return x.repeat_interleave(of.shape[1] // x.shape[1], 1)

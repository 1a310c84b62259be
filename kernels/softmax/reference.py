"""Masked softmax: the definition."""

import torch

from attnprobe.kernels import arguments


def masked_softmax(scores, mask):
    """Weights e^{x_s} / sum over allowed s of e^{x_s}; a masked key has weight 0.

    Shapes: scores (..., T, S); mask boolean, broadcastable to it, True = may attend, at least one in each row.
    """
    arguments.masked(scores, mask)
    return scores.masked_fill(~mask, -float("inf")).softmax(-1)  # (..., T, S)


def masked_log_softmax(scores, mask):
    """The logarithm of `masked_softmax`, computed without exponentials of the weights; a masked key has -inf."""
    arguments.masked(scores, mask)
    return scores.masked_fill(~mask, -float("inf")).log_softmax(-1)  # (..., T, S)


def attention(q, k, v, mask, scale):
    """softmax(scale q k^T over allowed s) v by torch's own attention, which keeps no weights.

    Shapes: q (N, B, H, T, D), k and v (N, B, H, S, D), mask boolean (T, S) or (N or 1, B or 1, H or 1, T, S); (N, B, H, T, D).
    """
    arguments.floating(q=q, k=k, v=v)
    arguments.masked(q, mask)
    arguments.number("scale", scale)
    N, B, H = q.shape[:3]
    alike = mask.dim() == 2 or mask.shape[1:3] == (1, 1)  # in all examples and heads: torch's batch axis is then N, its head axis B H
    first, sizes = (1, (B, H)) if alike else (0, (N, B))
    if mask.dim() > 2:
        mask = mask[:, 0] if alike else mask.expand(N, B, *mask.shape[2:]).flatten(0, 1)
    q, k, v = (x.flatten(first, first + 1) for x in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale).unflatten(first, sizes)

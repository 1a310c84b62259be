"""Stochastic attention: the definition. That w counts before the causal test, and which side has the odd slot, is ours."""

import torch

from attnprobe.kernels.softmax.reference import masked_softmax


def window_of(w):
    """(left, right) of a window of w slots, the token's own included: floor((w - 1) / 2) slots before it, the rest after."""
    return (w - 1) // 2, w - 1 - (w - 1) // 2


def halves(w):
    """The windows of the pair that shares w: w // 2 slots of the shuffled path, the rest of the sliding one."""
    return w // 2, w - w // 2


def allowed(slots, window, T):
    """Which of S keys the last T positions see: those from `left` slots before to `right` after the query's own, with s <= t.

    Shapes: slots (..., S), the slot of each position, a permutation; window (left, right); boolean (..., T, S). No wrap.
    """
    S = slots.shape[-1]
    left, right = window
    apart = slots[..., S - T :, None] - slots[..., None, :]  # (..., T, S)
    return (apart >= -right) & (apart <= left) & torch.ones(T, S, dtype=torch.bool, device=slots.device).tril(S - T)


def attention(q, k, v, perm, *, window, scale=None):
    """softmax over the allowed keys of scale q_t . k_s, times v: (B, H, T, D).

    Shapes: q, k, v (B, H, T, D); perm (T,) or (B, T), the position that stands in each slot.
    """
    mask = allowed(perm.argsort(-1), window, q.shape[-2])  # (T, S) or (B, T, S)
    mask = mask[:, None] if mask.dim() == 3 else mask
    return masked_softmax(q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale), mask) @ v


def gated(paths, gates):
    """The sum of paths (B, H, T, D), each behind its gate (B, H, T); gates are sigmoids that need not sum to 1."""
    return sum(gate[..., None].to(path.dtype) * path for path, gate in zip(paths, gates, strict=True))

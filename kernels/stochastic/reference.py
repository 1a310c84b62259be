"""Stochastic attention: the definition. That w counts before the causal test, and which side has the odd slot, is ours."""

import torch

from attnprobe.kernels import arguments
from attnprobe.kernels.softmax.reference import masked_softmax


def window_of(w):
    """(left, right) of a window of w slots, the token's own included: floor((w - 1) / 2) slots before it, the rest after."""
    arguments.whole("w", w, 1, meaning=", the token itself")
    return (w - 1) // 2, w - 1 - (w - 1) // 2


def checked(window):
    """The window, (left, right), whole numbers of at least 0."""
    if not (isinstance(window, tuple) and len(window) == 2 and all(arguments.is_whole(side, 0) for side in window)):
        raise ValueError(f"window must be (left, right), whole numbers of at least 0 (0: the token itself), not {window!r}")
    return int(window[0]), int(window[1])


def halves(w):
    """The windows of the pair that shares w: w // 2 slots of the shuffled path, the rest of the sliding one."""
    arguments.whole("w", w, 2, meaning=", a slot for each path")
    return w // 2, w - w // 2


def allowed(slots, window, T):
    """Which of S keys the last T positions see: those from `left` slots before to `right` after the query's own, with s <= t.

    Shapes: slots (..., S), the slot of each position, a permutation; window (left, right); boolean (..., T, S). No wrap.
    """
    arguments.tensors(slots=slots)
    S = slots.shape[-1]
    arguments.whole("T", T, 1, S, ", the number of slots")
    left, right = checked(window)
    apart = slots[..., S - T :, None] - slots[..., None, :]  # (..., T, S)
    return (apart >= -right) & (apart <= left) & torch.ones(T, S, dtype=torch.bool, device=slots.device).tril(S - T)


def attention(q, k, v, perm, *, window, scale=None):
    """softmax over the allowed keys of scale q_t . k_s, times v: (B, H, T, D).

    Shapes: q, k, v (B, H, T, D); perm int32 or int64, (T,) or (B, T), the position that stands in each slot.
    """
    arguments.floating(q=q, k=k, v=v)
    if scale is not None:
        arguments.number("scale", scale)
    permutation(perm, q)
    mask = allowed(perm.argsort(-1), window, q.shape[-2])  # (T, S) or (B, T, S)
    mask = mask[:, None] if mask.dim() == 3 else mask
    return masked_softmax(q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale), mask) @ v


def permutation(perm, q, trusted=False):
    """ValueError unless perm can be of q's slots and, where it is not trusted, holds each position once. On CUDA, the latter waits."""
    B, _, T, _ = q.shape
    arguments.tensors(perm=perm)
    if perm.dtype not in (torch.int32, torch.int64) or tuple(perm.shape) not in ((T,), (B, T)):
        raise ValueError(f"perm must be int32 or int64 of shape (T,) = ({T},) or (B, T) = ({B}, {T}), not {perm.dtype} {tuple(perm.shape)}")
    if not trusted and not (perm.sort(-1).values == torch.arange(T, device=q.device)).all():
        raise ValueError(
            f"perm must hold each of 0..{T - 1} once in every row; torch.randperm({T}) does, and sigma.argsort(-1) of slots sigma"
        )


def gated(paths, gates):
    """The sum of paths (B, H, T, D), each behind its gate (B, H, T); gates are sigmoids that need not sum to 1."""
    for name, given in {"paths": paths, "gates": gates}.items():
        if not isinstance(given, list | tuple) or not given:
            raise ValueError(f"{name} must be a list of tensors, one a path, not {arguments.shown(given)}")
    if len(gates) != len(paths):
        raise ValueError(f"gates must be as many as the {len(paths)} paths, not {len(gates)}")
    for path, gate in zip(paths, gates, strict=True):
        arguments.floating(**{"each of paths": path, "each of gates": gate})
    return sum(gate[..., None].to(path.dtype) * path for path, gate in zip(paths, gates, strict=True))

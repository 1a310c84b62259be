"""Checks of what a public operator is given: each raises ValueError in one line that says what would be right."""

import math
from numbers import Integral, Real

import torch


def tensors(**named):
    """Each, by name, must be a tensor."""
    for name, x in named.items():
        if not torch.is_tensor(x):
            raise ValueError(f"{name} must be a tensor, not {shown(x)}; torch.as_tensor makes one of numbers")


def floating(**named):
    """Each must be a tensor of floating-point numbers."""
    tensors(**named)
    for name, x in named.items():
        if not x.is_floating_point():
            raise ValueError(f"{name} must be of floating-point numbers, not {x.dtype}; convert with .float()")


def sequences(**named):
    """Each must be a tensor of floating-point numbers whose last axis, of positions, holds one or more."""
    floating(**named)
    for name, x in named.items():
        if x.dim() < 1 or x.shape[-1] < 1:
            raise ValueError(f"{name} must be (..., T), T positions, at least 1, not {shown(x)}")


def masked(scores, mask):
    """Scores (..., T, S) and the boolean mask of what is allowed among them."""
    floating(scores=scores)
    tensors(mask=mask)
    if mask.dtype != torch.bool:
        raise ValueError(f"mask must be boolean, True = may attend, not {mask.dtype}; convert with .bool()")


def number(name, x):
    """x as a finite float."""
    if isinstance(x, bool) or not isinstance(x, Real) or not math.isfinite(x):
        raise ValueError(f"{name} must be a finite number, not {shown(x)}" + "; take its .item()" * torch.is_tensor(x))
    return float(x)


def whole(name, x, least, most=None, meaning=""):
    """x must be a whole number from `least` to `most`; meaning: what these are."""
    if not is_whole(x, least) or (most is not None and x > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {bounds}{meaning}, not {shown(x)}")


def is_whole(x, least):
    """Whether x is a whole number, of Python or numpy, of at least `least`."""
    return isinstance(x, Integral) and not isinstance(x, bool) and x >= least


def expanded(name, x, shape):
    """x in a shape that it is to be broadcastable to."""
    try:
        return x.expand(shape)
    except RuntimeError:
        raise ValueError(f"{name} must be broadcastable to {tuple(shape)}, not {tuple(x.shape)}") from None


def flag(name, x):
    """x must be True or False."""
    if not isinstance(x, bool):
        raise ValueError(f"{name} must be True or False, not {shown(x)}")


def shown(x):
    """An argument in a message: a short value itself, else its type, and of a tensor its shape."""
    if torch.is_tensor(x):
        return f"a tensor of shape {tuple(x.shape)}"
    text = repr(x)
    return text if len(text) <= 40 and "\n" not in text else f"a {type(x).__name__}"

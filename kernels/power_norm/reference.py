"""The power norm (pn_fir_tau): the definition."""

import torch

from attnprobe.kernels import arguments

POWER = 10
GATES = {"exp": lambda R: -torch.expm1(-R), "rate": lambda R: R / (1 + R), "none": lambda R: (R > 0).to(R.dtype)}


def power_norm(scores, mask, tau, gate):
    """Weights gamma(R) u / sum u with r = relu(x - tau), R = max r, u = (r / R)^10 over the allowed keys.

    A row sums to gamma(R) <= 1 (`exp` 1 - e^-R, `rate` R / (1 + R), `none` 1); a row with R = 0 has weights and gradients
    exactly 0 (silent if that is wanted, dead if not). Dividing by R before the power keeps scores of any size within range.

    Shapes: scores (..., T, S); mask boolean, broadcastable to it, True = may attend; tau a number, or broadcastable to
    (..., T, 1); gate: a name in GATES. The gradient at R goes to the first of equal maxima. Returns (..., T, S).
    """
    arguments.masked(scores, mask)
    tau = tau if torch.is_tensor(tau) else arguments.number("tau", tau)
    if gate not in tuple(GATES):
        raise ValueError(f"gate must be one of {', '.join(GATES)}, not {gate!r}")
    r = (scores - tau).relu().masked_fill(~mask, 0)  # (..., T, S)
    R = r.max(-1, keepdim=True).values  # (..., T, 1)
    silent = R == 0
    u = tenth_power(r / (R + silent.to(R.dtype)).detach())  # u / sum u does not depend on what r is divided by
    return GATES[gate](R) * u / (u.sum(-1, keepdim=True) + silent)


def tenth_power(x):
    """x^10 by four multiplications."""
    x2 = x * x
    x4 = x2 * x2
    return x4 * x4 * x2


def filtered(k, taps):
    """The causal filter along the sequence, k~_s = sum_i taps_i k_{s-i} with k_{<0} = 0, summed in at least fp32.

    Shapes: k (..., S, D), taps a list of numbers; returns (..., S, D) in k's dtype. Its adjoint is autograd's.
    """
    arguments.floating(k=k)
    if k.dim() < 2:
        raise ValueError(f"k must be (..., S, D), not {arguments.shown(k)}")
    if not isinstance(taps, list | tuple) or not taps:
        raise ValueError(f"taps must be a list of numbers, the first of them the key's own, not {arguments.shown(taps)}")
    taps = [arguments.number("a tap", h) for h in taps]
    wide = k.float() if k.dtype.itemsize < 4 else k
    S = k.shape[-2]
    shifted = (h * torch.nn.functional.pad(wide, (0, 0, lag, 0))[..., :S, :] for lag, h in enumerate(taps[:S]))
    return sum(shifted).to(k.dtype)

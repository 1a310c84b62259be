"""Biases that can only decay with age: an older key never gains on a newer one."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Bias, FieldBias, Init
from attnprobe.probes.registry import register


def inverse_softplus(y):
    """The x with log(1 + e^x) = y > 0."""
    import math

    return math.log(math.expm1(y))


def ages(scores):
    """t - s for the last T queries: (T, S)."""
    import torch

    T, S = scores.shape[-2:]
    s = torch.arange(S, device=scores.device)
    return (s[S - T :, None] - s).to(scores.dtype)


@register("none")
@dataclass(frozen=True)
class NoBias(FieldBias):
    """No bias."""

    adds = False

    def parameters(self, dims):
        return {}

    def fields(self, p, x):
        return ()

    def __call__(self, p, x, scores, draw):
        return scores.new_zeros(())


@register("alibi-fixed", paper="Press et al. 2022, ALiBi")
@dataclass(frozen=True)
class AlibiFixed(Bias):
    """b = -m_h (t - s), m_h = 2^{-8h/H}, h = 1..H."""

    def parameters(self, dims):
        return {}

    def __call__(self, p, x, scores, draw):
        import torch

        H = scores.shape[2]
        slope = 2.0 ** (-8 * torch.arange(1, H + 1, device=scores.device, dtype=scores.dtype) / H)
        return -slope[:, None, None] * ages(scores)  # (H, T, S)


@register("alibi", paper="Press et al. 2022, ALiBi; the learned slope is ours")
@dataclass(frozen=True)
class Alibi(Bias):
    """b = -m_h (t - s), m_h = softplus(a_h) learned, starts at 0.1."""

    def parameters(self, dims):
        return {"slope": Init((dims.num_heads, 1, 1), value=inverse_softplus(0.1))}

    def __call__(self, p, x, scores, draw):
        import torch

        return -torch.nn.functional.softplus(p["slope"])[:, None] * ages(scores)  # (N, 1, H, T, S)


@register("fox", paper="Lin et al. 2025, Forgetting Transformer, without its Pro block")
@dataclass(frozen=True)
class Fox(FieldBias):
    """b_ts = sum_{s<u<=t} log f_u, f_t = sigmoid(w_h . x_t + c_h)."""

    def parameters(self, dims):
        return {
            "gate": Init((dims.model_dim, dims.num_heads), std=dims.field_std),
            "forget": Init((dims.num_heads, 1), value=dims.forget),
        }

    def fields(self, p, x):
        import torch

        gate = x.linear(p["gate"]).movedim(-1, 2) + p["forget"][:, None]  # (N, B, H, S)
        return (torch.nn.functional.logsigmoid(gate),)

    def __call__(self, p, x, scores, draw):
        from attnprobe.kernels.fox import forget_bias

        return forget_bias(*self.fields(p, x), rows=scores.shape[-2])  # (N, B, H, T, S)


@register("expiry", paper="ours, FPA's special case; not Expire-Span (Sukhbaatar et al. 2021)")
@dataclass(frozen=True)
class Expiry(Bias):
    """b_ts = -beta_h max(0, (t - s) - e_s), e_s = softplus(w_h . x_s + c_h): a key that says how long it lasts.

    The ramp is in the logit and has no end. Expire-Span multiplies weights by clamp(1 + (e_s - (t - s)) / R, 0, 1) and
    renormalises: a hard zero after a ramp of length R.
    """

    def parameters(self, dims):
        return {
            "lifetime": Init((dims.model_dim, dims.num_heads), std=dims.field_std),
            "level": Init((dims.num_heads, 1), value=dims.level),
            "beta": Init((dims.num_heads, 1, 1), value=inverse_softplus(1.0)),
        }

    def __call__(self, p, x, scores, draw):
        from torch.nn.functional import softplus

        e = softplus(x.linear(p["lifetime"]).movedim(-1, 2) + p["level"][:, None])  # (N, B, H, S)
        return -softplus(p["beta"])[:, None] * (ages(scores) - e[..., None, :]).relu()  # (N, B, H, T, S)


@register("bottleneck", paper="FPA's special case without a walk or levels; its start is ours")
@dataclass(frozen=True)
class Bottleneck(Bias):
    """b_ts = beta_h min(0, min_{s<u<=t} gamma_u), gamma_u = w_h . x_u + c_h: FPA with delta = 0, g = gamma, psi = 0.

    c_h starts at minus the offset that FPA's psi starts at. Backward with softmin weights, as in FPA.
    """

    surrogate = ("gate",)

    def parameters(self, dims):
        return {
            "gate": Init((dims.model_dim, dims.num_heads), std=dims.field_std),
            "level": Init((dims.num_heads, 1), value=-dims.level),
            "beta": Init((dims.num_heads, 1, 1), value=inverse_softplus(1.0)),
        }

    def __call__(self, p, x, scores, draw):
        from torch.nn.functional import softplus

        from attnprobe.kernels.fpa import path_bias

        gamma = x.linear(p["gate"]).movedim(-1, 2) + p["level"][:, None]  # (N, B, H, S)
        return path_bias(gamma, gamma.new_zeros(1), softplus(p["beta"])[:, None], rows=scores.shape[-2])  # (N, B, H, T, S)

"""Biases of the path between key and query: FPA takes the deepest dip of a field below the key's level, its ablations do not."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.bias.age import inverse_softplus
from attnprobe.probes.mixers.parts import Bias, FieldBias, Init
from attnprobe.probes.registry import register


def parameters(dims):
    """The parameters of every path bias: (delta, g, h) = W x, an offset c on psi, and beta = softplus(b) starting at 1."""
    return {
        "field": Init((dims.model_dim, 3 * dims.num_heads), std=dims.field_std),
        "level": Init((dims.num_heads, 1), value=dims.level),
        "beta": Init((dims.num_heads, 1, 1), value=inverse_softplus(1.0)),
    }


def field_and_level(p, x):
    """phi = W + g, psi = W + h + c, each (N, B, H, S), with W = cumsum(delta) and (delta, g, h) linear in x; beta (N, 1, H, 1, 1) > 0."""
    import torch

    H = p["level"].shape[1]
    delta, g, h = x.linear(p["field"]).unflatten(-1, (3, H)).movedim(-1, 2).unbind(-1)  # each (N, B, H, S)
    W = delta.cumsum(-1)
    return W + g, W + h + p["level"][:, None], torch.nn.functional.softplus(p["beta"])[:, None]


@register("fpa", paper="FPA (field path attention)")
@dataclass(frozen=True)
class Fpa(FieldBias):
    """b_ts = beta min(0, min_{s<u<=t} phi_u - psi_s); backward with softmin weights of temperature 1."""

    field = True
    surrogate = ("field",)

    def parameters(self, dims):
        return parameters(dims)

    def fields(self, p, x):
        phi, psi, beta = field_and_level(p, x)
        return phi, psi, beta[..., 0, 0]

    def __call__(self, p, x, scores, draw):
        from attnprobe.kernels.fpa import path_bias

        phi, psi, beta = self.fields(p, x)
        return path_bias(phi, psi, beta[..., None, None], rows=scores.shape[-2])


@register("fpa-hard", paper="FPA, ablation: the gradient of the minimum goes to the minimiser alone")
@dataclass(frozen=True)
class FpaHard(Bias):
    """FPA with the plain gradient of the minimum (ties: the earliest)."""

    field = True

    def parameters(self, dims):
        return parameters(dims)

    def __call__(self, p, x, scores, draw):
        from attnprobe.kernels.fpa import path_bias

        phi, psi, beta = field_and_level(p, x)
        return path_bias(phi, psi, beta, rows=scores.shape[-2], soft=False)


@register("fpa-sum", paper="FPA, ablation: the sum of the dips in place of the deepest")
@dataclass(frozen=True)
class FpaSum(Bias):
    """b_ts = beta sum_{s<u<=t} min(0, phi_u - psi_s)."""

    field = True

    def parameters(self, dims):
        return parameters(dims)

    def __call__(self, p, x, scores, draw):
        from attnprobe.kernels.fpa import path_sum_bias

        phi, psi, beta = field_and_level(p, x)
        return path_sum_bias(phi, psi, beta, rows=scores.shape[-2])


@register("fpa-nopsi", paper="FPA, ablation: no level of the key")
@dataclass(frozen=True)
class FpaNoPsi(Bias):
    """FPA with the constant c_h for psi_s: every key has the same level. The field's h is drawn, so that starts agree, and unused."""

    field = True
    surrogate = ("field",)

    def parameters(self, dims):
        return parameters(dims)

    def __call__(self, p, x, scores, draw):
        from attnprobe.kernels.fpa import path_bias

        phi, _, beta = field_and_level(p, x)
        return path_bias(phi, p["level"][:, None], beta, rows=scores.shape[-2])


@register("fpa-qlevel", paper="FPA, ablation: the query's level in place of the key's")
@dataclass(frozen=True)
class FpaQueryLevel(Bias):
    """b_ts = beta min(0, min_{s<u<=t} phi_u - psi_t)."""

    field = True
    surrogate = ("field",)

    def parameters(self, dims):
        return parameters(dims)

    def __call__(self, p, x, scores, draw):
        from attnprobe.kernels.fpa import path_bias

        phi, psi, beta = field_and_level(p, x)
        return path_bias(phi, psi, beta, rows=scores.shape[-2], of_query=True)

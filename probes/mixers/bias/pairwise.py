"""Biases that sum a mask of pairs along the path: what each later token took from a key, one matrix a layer, shared by its heads."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Bias, Init
from attnprobe.probes.registry import register

RANK = 16  # of the maps a, c that a mask has of its own
KEEP = 3.0  # DCP's offset at the start: a pair keeps sigmoid(3) = .95; the authors' code starts at 5


def maps(dims):
    """The maps a and c of a mask that does not read the heads' scores."""
    return {name: Init((dims.model_dim, RANK), std=dims.pair_std) for name in ("later", "key")}


def pairs(p, x):
    """a_u . c_s / sqrt(16): (N, B, U, S)."""
    return x.linear(p["later"]) @ x.linear(p["key"]).mT * RANK**-0.5


def along_path(R, rows, own_row):
    """sum of R_us over s < u <= t, or over s < u < t where the query's own row does not count, for the last `rows` queries.

    R (N, B, U, S) with all rows u; returns (N, B, 1, rows, S).
    """
    R = R.tril(-1)
    total = R.sum(-2, keepdim=True) if rows == 1 else R.cumsum(-2)[..., -rows:, :]
    return (total if own_row else total - R[..., -rows:, :])[:, :, None]


@register("selective", paper="Leviathan, Kalman, Matias 2024, Selective Attention; maps=own is ours")
@dataclass(frozen=True)
class Selective(Bias):
    """b_ts = -sum of R_us along the path: what later tokens select against a key.

    maps=head0 (published): R = relu(scores of head 0), the first token is spared, and the query's own row does not count.
    maps=own, for oracle queries and tiny heads: R_us = relu(a_u . c_s / 4 + r0) with a, c in R^16 and r0 learned; the query's
    row counts and no token is spared.
    """

    maps: str = "head0"

    def __post_init__(self):
        if self.maps not in ("head0", "own"):
            raise ValueError(f"selective: maps must be head0 (published) or own, not {self.maps!r}")

    @property
    def every_row(self):
        return self.maps == "head0"

    def parameters(self, dims):
        return {} if self.maps == "head0" else {**maps(dims), "offset": Init((1, 1), value=dims.pair)}

    def __call__(self, p, x, scores, draw):
        import torch

        rows, S = scores.shape[-2:]
        if self.maps == "own":
            return -along_path((pairs(p, x) + p["offset"][:, None]).relu(), rows, own_row=True)
        later = torch.arange(S, device=scores.device) > 0
        return -along_path(scores[:, :, 0].relu() * later, rows, own_row=False)


@register("dcp", paper="Anagnostidis et al. 2023, Dynamic Context Pruning; plain sigmoid, no sparsity loss, no carry over layers")
@dataclass(frozen=True)
class Dcp(Bias):
    """b_ts = sum_{s<u<=t} log sigmoid(a_u . c_s / 4 + beta): each later token keeps a key with some probability.

    Published: an alpha-sigmoid, alpha annealed from 1 up, a sparsity loss, and a mask carried on from layer to layer.
    """

    def parameters(self, dims):
        return {**maps(dims), "keep": Init((1, 1), value=KEEP)}

    def __call__(self, p, x, scores, draw):
        from torch.nn.functional import logsigmoid

        return along_path(logsigmoid(pairs(p, x) + p["keep"][:, None]), scores.shape[-2], own_row=True)

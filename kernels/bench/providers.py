"""Who computes attention of each kind: our kernels, torch's own, FlexAttention, and Selective Attention by a mask of pairs.

The power norm's keys are read as they are: what filters them, as in pn_fir_tau, is no part of its kernel.
"""

import contextlib
from dataclasses import dataclass

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from attnprobe.kernels.bench.fields import CLOSED
from attnprobe.kernels.fox.fused import attention as fox
from attnprobe.kernels.fpa.fused import attention as fpa
from attnprobe.kernels.fpa.sparse_table import levels_for, lowest_table
from attnprobe.kernels.power_norm.fused import attention as power_norm
from attnprobe.kernels.softmax.fused import attention as softmax
from attnprobe.kernels.stochastic import fused as stochastic
from attnprobe.kernels.stochastic import window_of

MASKS = 2**31  # bytes of a materialised bias, at most


def sdpa(backend):
    """torch's own softmax attention, on a GPU by one backend alone."""

    def build(x):
        def run():
            with sdpa_kernel(backend) if x.q.is_cuda else contextlib.nullcontext():
                return torch.nn.functional.scaled_dot_product_attention(x.q, x.k, x.v, is_causal=True)

        return run

    return build


def flex(x):
    """FPA by FlexAttention, compiled where there is a GPU: its score_mod takes each minimum from the table by two look-ups."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    T = x.q.shape[2]
    level_of = torch.tensor([max(0, i.bit_length() - 1) for i in range(2 ** levels_for(T))], device=x.q.device)
    lowest = lowest_table(x.phi.detach(), levels_for(T))
    psi, beta = x.psi.detach(), x.beta.detach()

    def score_mod(score, b, h, t, s):
        level = level_of[t ^ s]
        m = torch.minimum(lowest[b, h, level, t], lowest[b, h, level, s])
        return score + torch.where(s < t, beta[h] * torch.clamp(m - psi[b, h, s], max=0), 0.0)

    mask = create_block_mask(lambda b, h, t, s: s <= t, None, None, T, T, device=x.q.device)
    if x.q.is_cuda:
        torch._dynamo.reset()  # past a limit of recompilations it would run uncompiled, unsaid
    compiled = torch.compile(flex_attention, dynamic=False) if x.q.is_cuda else flex_attention
    return lambda: compiled(x.q, x.k, x.v, score_mod=score_mod, block_mask=mask)


def selected(x):
    """Selective Attention's bias (B, 1, T, T): minus the sum along the path of relu of head 0's scores, own row and first token spared."""
    scores = (x.q[:, :1] @ x.k[:, :1].mT * x.q.shape[-1] ** -0.5).relu().tril(-1)
    first = torch.arange(scores.shape[-1], device=scores.device) > 0
    taken = scores * first
    return taken - taken.cumsum(-2)


def selective(x):
    """Selective Attention by a materialised bias, as its mask of pairs must be."""
    if (needed := 2 * x.q.shape[0] * x.q.shape[2] ** 2 * 4) > MASKS:
        raise MemoryError(f"a mask of pairs takes {needed / 2**30:.0f} GiB here")

    def run():
        T = x.q.shape[2]
        causal = torch.ones(T, T, dtype=torch.bool, device=x.q.device).tril()
        bias = selected(x).masked_fill(~causal, -float("inf")).expand(-1, x.q.shape[1], -1, -1)
        return torch.nn.functional.scaled_dot_product_attention(x.q, x.k, x.v, attn_mask=bias)

    return run


def sa(x, tiles=None):
    """The permutation is trusted, as in training: a check of it would be timed with the kernels."""
    return lambda: stochastic.attention(x.q, x.k, x.v, x.perm, window=window_of(x.window), tiles=tiles, trusted=True)


def swa(x, tiles=None):
    return lambda: stochastic.sliding(x.q, x.k, x.v, w=x.window, tiles=tiles)


def gated(x, tiles=None):
    return lambda: stochastic.gated(x.q, x.k, x.v, x.perm, tuple(x.gates), w=x.window, tiles=tiles, trusted=True)


@dataclass(frozen=True)
class Provider:
    """kind: what is computed, of those in `errors.EXACT`; build: Inputs -> a function of nothing that gives o (B, H, T, D).

    leaves: the Inputs that o is differentiated by; on_cpu: whether it can be, on a CPU. `build` raises MemoryError, with the
    reason, where a case is too large for it.
    """

    kind: str
    build: object
    leaves: tuple = ("q", "k", "v")
    on_cpu: bool = True


def ours(kind, attention, *fields, **options):
    """One of our kernels: attention(q, k, v, *fields, tiles=, **options)."""

    def build(x, tiles=None):
        return lambda: attention(x.q, x.k, x.v, *(getattr(x, field) for field in fields), tiles=tiles, **options)

    return Provider(kind, build, ("q", "k", "v", *fields))


PROVIDERS = {
    "sdpa flash": Provider("softmax", sdpa(SDPBackend.FLASH_ATTENTION)),
    "sdpa cudnn": Provider("softmax", sdpa(SDPBackend.CUDNN_ATTENTION)),
    "softmax": ours("softmax", softmax),
    "fox": ours("fox", fox, "log_f"),
    "fpa": ours("fpa", fpa, "phi", "psi", "beta"),
    "flex fpa": Provider("fpa", flex, on_cpu=False),  # no gradient for the field: FlexAttention would add it by atomics
    "fpa pruned": ours("fpa", fpa, "phi", "psi", "beta", prune=CLOSED),
    "selective": Provider("selective", selective),
    "power norm": ours("power norm", power_norm, "tau"),
    "sa": Provider("sa", sa),
    "swa": Provider("swa", swa),
    "gated": Provider("gated", gated, ("q", "k", "v", "gates")),
}

"""FPA's forward against PyTorch's FlexAttention, in eager mode, whose score_mod takes each pair's minimum from the sparse table."""

import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from attnprobe.kernels import loop
from attnprobe.kernels.fpa.fused import attention
from attnprobe.kernels.fpa.sparse_table import levels_for, lowest_table
from attnprobe.kernels.launch import Tiles

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")

DEVICE = "cpu" if loop.INTERPRETED else "cuda"


def flex(q, k, v, phi, psi, beta):
    """FPA by FlexAttention: the bias of a pair is made of two look-ups, as a compiled score_mod would."""
    T = q.shape[2]
    lowest = lowest_table(phi, levels_for(T))
    level_of = torch.tensor([max(0, x.bit_length() - 1) for x in range(2 ** levels_for(T))], device=q.device)

    def score_mod(score, b, h, t, s):
        level = level_of[t ^ s]
        m = torch.minimum(lowest[b, h, level, t], lowest[b, h, level, s])
        bias = beta[h] * torch.where(s < t, torch.clamp(m - psi[b, h, s], max=0), 0.0)
        return torch.where(s <= t, score + bias, -float("inf"))

    return flex_attention(q, k, v, score_mod=score_mod, enable_gqa=q.shape[1] != k.shape[1])


@pytest.mark.parametrize(("T", "G", "amplitude"), [(1, 2, 1.0), (33, 2, 1.0), (70, 1, 0.3), (64, 2, 20.0)])
def test_fpa_s_forward_is_that_of_flex_attention(T, G, amplitude):
    generator = torch.Generator().manual_seed(T)

    def normal(*shape):
        return torch.randn(shape, generator=generator).to(DEVICE)

    q, k, v = (normal(2, heads, T, 16) for heads in (2, G, G))
    walk, beta = amplitude * normal(2, 2, T).cumsum(-1), torch.rand(2, generator=generator).to(DEVICE) + 0.5
    fields = walk + 0.3 * normal(2, 2, T), walk + 0.3 * normal(2, 2, T)
    ours, theirs = attention(q, k, v, *fields, beta, tiles=Tiles(32, 16, 16)), flex(q, k, v, *fields, beta)
    assert torch.isfinite(ours).all()
    assert (ours - theirs).norm() <= 1e-6 * theirs.norm()
    if T > 1:
        plain = flex(q, k, v, torch.full_like(walk, 1e6), fields[1], beta)
        assert (plain - theirs).norm() > 0.01 * theirs.norm(), "the bias acts"

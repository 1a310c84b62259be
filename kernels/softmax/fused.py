"""Causal softmax attention in Triton: the loop without a bias."""

import torch

from attnprobe.kernels import launch, listing, loop


def attention(q, k, v, *, scale=None, tiles=None):
    """softmax over s <= t of scale q_t . k_s, times v: (B, H, T, D).

    Shapes: q (B, H, T, D), k and v (B, G, T, D), G dividing H (query head h reads head h // (H / G)); fp32, fp16 or bf16; D up
    to 128; strided views are read as they are. scale: D^-1/2 unless given. tiles: a launch.Tiles. Differentiable once.
    """
    return Attention.apply(q, k, v, scale, tiles)


def kernels(head_dim, dtype):
    """What `compile` compiles of this module."""
    yield from listing.of_loop("softmax", loop.NONE.value, head_dim, dtype)
    yield from listing.of_row_dots(head_dim, dtype)


class Attention(torch.autograd.Function):
    """See `attention`."""

    @staticmethod
    def forward(ctx, q, k, v, scale, tiles):
        problem = launch.problem(q, k, v, scale, tiles)
        ctx.settings = problem.scale, problem.tiles
        o, rest, lse = launch.forward(problem, launch.Bias())
        ctx.save_for_backward(problem.q, problem.k, problem.v, o, rest, lse)
        return o

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, do):
        q, k, v, o, rest, lse = ctx.saved_tensors
        problem = launch.Problem(q, k, v, *ctx.settings)
        return *launch.backward(problem, launch.Bias(), o, rest, lse, do, launch.BiasGradient()), None, None

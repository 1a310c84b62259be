"""FoX (Lin et al. 2025) in Triton: the loop with the bias F_t - F_s."""

import torch

from attnprobe.kernels import launch, listing, loop


def attention(q, k, v, log_f, *, scale=None, tiles=None):
    """softmax over s <= t of scale q_t . k_s + sum_{s<u<=t} log f_u, times v: (B, H, T, D).

    Shapes: log_f (B, H, T), each <= 0, by query head; the others as in `softmax.fused.attention`. Differentiable once.
    """
    return Attention.apply(q, k, v, log_f, scale, tiles)


def kernels(head_dim, dtype):
    """What `compile` compiles of this module."""
    yield from listing.of_loop("fox", loop.AGE.value, head_dim, dtype)


class Attention(torch.autograd.Function):
    """See `attention`."""

    @staticmethod
    def forward(ctx, q, k, v, log_f, scale, tiles):
        problem = launch.problem(q, k, v, scale, tiles)
        ctx.settings, ctx.dtype = (problem.scale, problem.tiles), log_f.dtype
        F = launch.padded(launch.by_position("log_f", log_f, q).cumsum(-1) * loop.LOG2E.value, problem)
        o, rest, lse = launch.forward(problem, launch.Bias(loop.AGE.value, F=F))
        ctx.save_for_backward(problem.q, problem.k, problem.v, o, rest, lse, F)
        return o

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, do):
        q, k, v, o, rest, lse, F = ctx.saved_tensors
        problem = launch.Problem(q, k, v, *ctx.settings)
        found = launch.BiasGradient(by_key=torch.empty_like(lse), by_query=torch.empty_like(lse))
        d = launch.backward(problem, launch.Bias(loop.AGE.value, F=F), o, rest, lse, do, found)
        d_F = (found.by_query - found.by_key)[..., : q.shape[2]]  # d log f_u = sum_{t>=u} dF_t
        return *d, d_F.flip(-1).cumsum(-1).flip(-1).to(ctx.dtype), None, None

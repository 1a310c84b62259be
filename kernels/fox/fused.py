"""FoX (Lin et al. 2025) in Triton: the loop with the bias F_t - F_s."""

import torch

from attnprobe.kernels import launch, listing, loop, skip


def attention(q, k, v, log_f, *, scale=None, tiles=None, prune=None):
    """softmax over s <= t of scale q_t . k_s + sum_{s<u<=t} log f_u, times v: (B, H, T, D).

    Shapes: log_f (B, H, T), each <= 0, by query head; the others as in `softmax.fused.attention`. Differentiable once.

    prune: tiles whose every bias is below this, in nats, are left out, forward and backward; the bound on what this changes
    is as in `fpa.fused.attention`.
    """
    return Attention.apply(q, k, v, log_f, scale, tiles, prune)


def dead_lists(F, problem, prune):
    """The lists without the tiles whose highest bias, that of their first query and last key, is below prune; F (B, H, P)."""
    first, last, before = (x.to(F.device) for x in skip.corners(problem.tiles, F.shape[-1]))
    highest = F[..., first, None] - F[..., None, last]  # (B, H, I, J)
    return skip.lists((highest < prune * loop.LOG2E.value) & before, None, problem, in_runs=False)


def kernels(head_dim, dtype):
    """What `compile` compiles of this module."""
    for label, prunes in (("fox", False), ("fox pruned", True)):
        yield from listing.of_loop(label, loop.AGE.value, head_dim, dtype, prunes)


class Attention(torch.autograd.Function):
    """See `attention`."""

    @staticmethod
    def forward(ctx, q, k, v, log_f, scale, tiles, prune):
        launch.check_prune(prune)
        problem = launch.problem(q, k, v, scale, tiles)
        F = launch.padded(launch.by_position("log_f", log_f, q).cumsum(-1) * loop.LOG2E.value, problem)
        ctx.settings, ctx.dtype = (problem.scale, problem.tiles), log_f.dtype
        ctx.skip = None if prune is None else dead_lists(F, problem, prune)
        o, rest, lse = launch.forward(problem, launch.Bias(loop.AGE.value, F=F, skip=ctx.skip))
        ctx.save_for_backward(problem.q, problem.k, problem.v, o, rest, lse, F)
        return o

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, do):
        q, k, v, o, rest, lse, F = ctx.saved_tensors
        problem = launch.Problem(q, k, v, *ctx.settings)
        found = launch.BiasGradient(by_key=torch.empty_like(lse), by_query=torch.empty_like(lse))
        d = launch.backward(problem, launch.Bias(loop.AGE.value, F=F, skip=ctx.skip), o, rest, lse, do, found)
        d_F = (found.by_query - found.by_key)[..., : q.shape[2]]  # d log f_u = sum_{t>=u} dF_t
        return *d, d_F.flip(-1).cumsum(-1).flip(-1).to(ctx.dtype), None, None, None

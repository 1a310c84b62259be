"""FPA in Triton: the loop with the path bias, whose minima and shares come from disjoint sparse tables.

The tables and the gradient back through them are torch; the loop does what is quadratic in T. As in `reference`, the value is
the hard minimum and the gradient the softmin's at temperature 1, and the outer minimum passes one iff m < psi.
"""

import torch

from attnprobe.kernels import launch, listing, loop
from attnprobe.kernels.fpa import sparse_table


def attention(q, k, v, phi, psi, beta, *, scale=None, tiles=None, exact=True):
    """softmax over s <= t of scale q_t . k_s + beta min(0, min_{s<u<=t} phi_u - psi_s), times v: (B, H, T, D).

    Shapes: phi, psi (B, H, T) by query head, beta positive and broadcastable to (B, H); the others as in
    `softmax.fused.attention`. exact: False takes the softmin shares of the gradient of phi from the GPU's hyperbolic tangent, within
    2^-12 of a share, for fewer instructions. Differentiable once.
    """
    return Attention.apply(q, k, v, phi, psi, beta, scale, tiles, exact)


def kernels(head_dim, dtype):
    """What `compile` compiles of this module."""
    yield from listing.of_loop("fpa", loop.PATH.value, head_dim, dtype)


class Attention(torch.autograd.Function):
    """See `attention`."""

    @staticmethod
    def forward(ctx, q, k, v, phi, psi, beta, scale, tiles, exact):
        problem = launch.problem(q, k, v, scale, tiles)
        ctx.settings, ctx.exact = (problem.scale, problem.tiles), exact
        ctx.dtypes, ctx.beta_shape = (phi.dtype, psi.dtype, beta.dtype), beta.shape
        phi, psi = (launch.padded(launch.by_position(name, x, q), problem) for name, x in (("phi", phi), ("psi", psi)))
        beta = by_head(beta, q)
        L = max(sparse_table.levels_for(q.shape[2]), problem.tiles.levels)
        bias = launch.Bias(loop.PATH.value, psi=psi, beta=beta, lowest=sparse_table.lowest_table(phi, L))
        o, rest, lse = launch.forward(problem, bias)
        ctx.save_for_backward(problem.q, problem.k, problem.v, o, rest, lse, phi, psi, beta, bias.lowest)
        return o

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, do):
        q, k, v, o, rest, lse, phi, psi, beta, lowest = ctx.saved_tensors
        problem = launch.Problem(q, k, v, *ctx.settings)
        found = launch.BiasGradient(
            exact=ctx.exact, mass=sparse_table.mass_table(phi, lowest.shape[-2]) * loop.LOG2E.value,
            by_key=torch.empty_like(lse), by_query=torch.empty_like(lse),
            cells=torch.zeros_like(lowest),  # those that no pair reads hold nothing
        )  # fmt: skip
        d = launch.backward(problem, launch.Bias(loop.PATH.value, psi=psi, beta=beta, lowest=lowest), o, rest, lse, do, found)
        d_phi, d_psi = ((beta[..., None] * x)[..., : q.shape[2]] for x in (sparse_table.given_to_field(phi, found.cells), -found.by_key))
        d_beta = found.by_query[..., : q.shape[2]].sum(-1).sum_to_size(ctx.beta_shape)
        return *d, *(x.to(dtype) for x, dtype in zip((d_phi, d_psi, d_beta), ctx.dtypes, strict=True)), None, None, None


def by_head(beta, q):
    """beta as contiguous fp32 (B, H)."""
    launch.on_one_device(q, beta)
    try:
        return beta.float().expand(q.shape[:2]).contiguous()
    except RuntimeError as error:
        raise ValueError(f"beta must be broadcastable to (B, H) = {tuple(q.shape[:2])}, not {tuple(beta.shape)}") from error

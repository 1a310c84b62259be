"""FPA in Triton: the loop with the path bias, whose minima and shares come from disjoint sparse tables.

The tables and the gradient back through them are kernels of their own. As in `reference`, the value is
the hard minimum and the gradient the softmin's at temperature 1, and the outer minimum passes one iff m < psi.
"""

import torch

from attnprobe.kernels import arguments, launch, listing, loop, skip
from attnprobe.kernels.fpa import fused_tables, sparse_table
from attnprobe.kernels.fpa.tiles import ALIVE, DEAD, tiles_of


def attention(q, k, v, phi, psi, beta, *, scale=None, tiles=None, exact=True, prune=None):
    """softmax over s <= t of scale q_t . k_s + beta min(0, min_{s<u<=t} phi_u - psi_s), times v: (B, H, T, D).

    Shapes: phi, psi (B, H, T) by query head, beta positive and broadcastable to (B, H); the others as in
    `softmax.fused.attention`. exact: False takes the softmin shares of the gradient of phi from the GPU's hyperbolic tangent, within
    2^-12 of a share, for fewer instructions. Differentiable once.

    prune: tiles whose every bias is below this, in nats, are left out, forward and backward, so that the gradients are those of
    the function computed. A row whose left-out keys had the share mu of its weight (at most their number times
    e^(prune + their highest content logit - that of s = t)) moves by at most 2 mu max |v_s|; the gradients of its logits
    by at most 6 mu max |do_t . v_s| in sum, and so those of phi and psi by beta times the sum of that over rows. Ours. Tiles with no
    bias at all, no later field below their keys' levels, go through softmax's loop, last: the same to rounding. -inf leaves none out.
    """
    return Attention.apply(q, k, v, phi, psi, beta, scale, tiles, exact, prune)


def kernels(head_dim, dtype):
    """What `compile` compiles of this module."""
    for label, prunes in (("fpa", False), ("fpa pruned", True)):
        yield from listing.of_loop(label, loop.PATH.value, head_dim, dtype, prunes)
    _, *inexact = listing.of_loop("fpa inexact", loop.PATH.value, head_dim, dtype, exact=False)  # the forward pass is the same
    yield from inexact


def class_lists(classes, problem):
    """The lists of these classes of tiles."""
    return skip.lists(classes == DEAD, classes == ALIVE, problem, in_runs=True)


class Attention(torch.autograd.Function):
    """See `attention`."""

    @staticmethod
    def forward(ctx, q, k, v, phi, psi, beta, scale, tiles, exact, prune):
        arguments.floating(phi=phi, psi=psi, beta=beta)
        arguments.flag("exact", exact)
        launch.check_prune(prune)
        problem = launch.problem(q, k, v, scale, tiles)
        ctx.settings, ctx.exact = (problem.scale, problem.tiles), exact
        ctx.dtypes, ctx.beta_shape = (phi.dtype, psi.dtype, beta.dtype), beta.shape
        phi, psi = (launch.padded(launch.by_position(name, x, q), problem) for name, x in (("phi", phi), ("psi", psi)))
        beta = launch.by_head("beta", beta, q)
        L = max(sparse_table.levels_for(q.shape[2]), problem.tiles.levels)
        lowest = fused_tables.lowest_table(phi, L)
        ctx.skip = None if prune is None else class_lists(tiles_of(lowest, psi, beta, problem, prune), problem)
        bias = launch.Bias(loop.PATH.value, psi=psi, beta=beta, lowest=lowest, skip=ctx.skip)
        o, rest, lse = launch.forward(problem, bias)
        ctx.save_for_backward(problem.q, problem.k, problem.v, o, rest, lse, phi, psi, beta, lowest)
        return o

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, do):
        q, k, v, o, rest, lse, phi, psi, beta, lowest = ctx.saved_tensors
        problem = launch.Problem(q, k, v, *ctx.settings)
        found = launch.BiasGradient(
            exact=ctx.exact, mass=fused_tables.mass_table(phi, lowest.shape[-2]),
            by_key=torch.empty_like(lse), by_query=torch.empty_like(lse),
            cells=torch.zeros_like(lowest),  # those that no pair reads hold nothing
        )  # fmt: skip
        d = launch.backward(
            problem, launch.Bias(loop.PATH.value, psi=psi, beta=beta, lowest=lowest, skip=ctx.skip), o, rest, lse, do, found
        )
        given = fused_tables.given_to_field(phi, found.mass, found.cells)
        d_phi, d_psi = ((beta[..., None] * x)[..., : q.shape[2]] for x in (given, -found.by_key))
        d_beta = found.by_query[..., : q.shape[2]].sum(-1).sum_to_size(ctx.beta_shape)
        return *d, *(x.to(dtype) for x, dtype in zip((d_phi, d_psi, d_beta), ctx.dtypes, strict=True)), None, None, None, None

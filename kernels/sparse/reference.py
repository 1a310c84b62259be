"""Sparsemax and 1.5-entmax by sorting, with their gradients in closed form."""

import torch

from attnprobe.kernels import arguments

BELOW = -2.0  # less than max - 1, where both thresholds lie at the lowest: a weight there is 0


def sparsemax(scores, mask):
    """The point of the simplex nearest to the scores: p = relu(x - tau), tau such that the row sums to 1. Martins & Astudillo 2016.

    Shapes: scores (..., T, S); mask boolean, broadcastable to it, at least one allowed in each row; returns (..., T, S).

    >>> sparsemax(torch.tensor([[1.0, 0.6, -3.0]]), torch.tensor([[True, True, True]]))
    tensor([[0.7000, 0.3000, 0.0000]])
    """
    return Sparsemax.apply(below_the_maximum(scores, mask))


def entmax15(scores, mask):
    """The weights that maximise p . x plus Tsallis' entropy of order 1.5: p = relu(x / 2 - tau)^2. Peters, Niculae & Martins 2019.

    Shapes as in `sparsemax`. The threshold from the sorted scores: with M and V the mean and the sum of squared deviations of
    the k largest x / 2, tau_k = M - sqrt((1 - V) / k); k is the largest with tau_k below the k-th.
    """
    return Entmax15.apply(below_the_maximum(scores, mask) / 2)


def below_the_maximum(scores, mask):
    """Scores less the row's largest allowed one, a constant that changes no weight; masked keys at -inf."""
    arguments.masked(scores, mask)
    scores = scores.masked_fill(~mask, -float("inf"))
    return scores - scores.amax(-1, keepdim=True).detach()


def threshold(tau, x):
    """The tau_k of the support's size k: the last k, from 1, with tau_k below the k-th largest x. tau, x (..., S), x descending."""
    k = (tau < x).sum(-1, keepdim=True)
    return tau.gather(-1, k - 1)


class Sparsemax(torch.autograd.Function):
    """relu(x - tau) of x (..., S) <= 0 with maximum 0; on the support the gradient is projected to sum 0."""

    @staticmethod
    def forward(ctx, x):
        x = x.clamp(min=BELOW)
        ordered = x.sort(-1, descending=True).values
        k = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
        p = (x - threshold((ordered.cumsum(-1) - 1) / k, ordered)).relu()
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, grad):
        (p,) = ctx.saved_tensors
        support = (p > 0).to(grad.dtype)
        return support * (grad - (grad * support).sum(-1, keepdim=True) / support.sum(-1, keepdim=True))


class Entmax15(torch.autograd.Function):
    """relu(z - tau)^2 of z (..., S) <= 0 with maximum 0; dp/dz = 2 (diag(s) - s s^T / sum s) with s = sqrt(p)."""

    @staticmethod
    def forward(ctx, z):
        z = z.clamp(min=BELOW)
        ordered = z.sort(-1, descending=True).values
        k = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
        mean = ordered.cumsum(-1) / k
        deviations = ordered.square().cumsum(-1) - k * mean.square()
        tau = mean - ((1 - deviations) / k).clamp(min=0).sqrt()
        s = (z - threshold(tau, ordered)).relu()
        ctx.save_for_backward(s)
        return s.square()

    @staticmethod
    def backward(ctx, grad):
        (s,) = ctx.saved_tensors
        return 2 * s * (grad - (grad * s).sum(-1, keepdim=True) / s.sum(-1, keepdim=True))

"""How far each provider is from float64, outputs and gradients."""

import torch

from attnprobe.kernels.bench.cases import detached, inputs
from attnprobe.kernels.bench.providers import PROVIDERS, selected
from attnprobe.kernels.fox import forget_bias
from attnprobe.kernels.fpa import path_bias
from attnprobe.kernels.power_norm import power_norm
from attnprobe.kernels.softmax import masked_softmax
from attnprobe.kernels.stochastic import allowed, gated, halves, window_of


def causal(x):
    T = x.q.shape[2]
    return torch.ones(T, T, dtype=torch.bool, device=x.q.device).tril()


def scores(x):
    return x.q @ x.k.mT * x.q.shape[-1] ** -0.5


def biased(x, bias=0.0):
    """Causal softmax attention under a bias (B, H or 1, T, T), whose entries above the diagonal are not defined."""
    return masked_softmax(scores(x) + bias, causal(x)) @ x.v


def normed(x):
    return power_norm(scores(x), causal(x), x.tau[:, None, None], "exp") @ x.v


def windowed(x, slots, window):
    return masked_softmax(scores(x), allowed(slots, window, x.q.shape[2])) @ x.v


def shuffled(x, w):
    return windowed(x, x.perm.argsort(-1), window_of(w))


def sliding(x, w):
    return windowed(x, torch.arange(x.q.shape[2], device=x.q.device), (w - 1, 0))


def both(x):
    """The shuffled and the sliding window of half of w each, behind their gates."""
    of_shuffled, of_sliding = halves(x.window)
    return gated((shuffled(x, of_shuffled), sliding(x, of_sliding)), tuple(x.gates))


# kind -> o (B, H, T, D) by the definition
EXACT = {
    "softmax": biased,
    "fox": lambda x: biased(x, forget_bias(x.log_f, x.q.shape[2])),
    "fpa": lambda x: biased(x, path_bias(x.phi, x.psi, x.beta[:, None, None], x.q.shape[2])),
    "selective": lambda x: biased(x, selected(x)),
    "power norm": normed,
    "sa": lambda x: shuffled(x, x.window),
    "swa": lambda x: sliding(x, x.window),
    "gated": both,
}


def exact(kind, x):
    """o in float64, from the inputs as rounded, and these in float64, which it can be differentiated by."""
    wide = x.of(lambda value: value.detach().double().requires_grad_())
    return EXACT[kind](wide), wide


def check(case, names=PROVIDERS):
    """For each provider the largest relative Frobenius error of o and of every gradient against float64: [{provider, name, error}]."""
    x, found = inputs(case), []
    for name in names:
        provider = PROVIDERS[name]
        theirs, wide = exact(provider.kind, x)
        found.append({"provider": name, "of": "o", "error": relative(provider.build(detached(x))(), theirs)})
        if not (provider.on_cpu or x.q.is_cuda):
            continue
        o = provider.build(x)()
        ours = torch.autograd.grad(o, [getattr(x, leaf) for leaf in provider.leaves], x.do)
        exactly = torch.autograd.grad(theirs, [getattr(wide, leaf) for leaf in provider.leaves], x.do.double())
        for leaf, a, b in zip(provider.leaves, ours, exactly, strict=True):
            found.append({"provider": name, "of": f"d {leaf}", "error": relative(a, b)})
    return found


def relative(ours, theirs):
    """|ours - theirs| / |theirs|; inf where something is not finite, and absolute where theirs is 0."""
    ours, theirs = ours.detach(), theirs.detach()
    error = (ours.double() - theirs).norm() / (theirs.norm() + (theirs.norm() == 0))
    return float(error) if torch.isfinite(ours).all() else float("inf")

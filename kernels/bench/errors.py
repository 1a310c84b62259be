"""How far each provider is from float64, outputs and gradients."""

from dataclasses import replace

import torch

from attnprobe.kernels.bench.cases import detached, inputs
from attnprobe.kernels.bench.providers import PROVIDERS, selected
from attnprobe.kernels.fox import forget_bias
from attnprobe.kernels.fpa import path_bias
from attnprobe.kernels.softmax import masked_softmax


def bias_of(kind, x):
    """The bias of a kind as a matrix (B, H or 1, T, T), or a number; entries above the diagonal are not defined."""
    T = x.q.shape[2]
    return {
        "softmax": lambda: 0.0,
        "fox": lambda: forget_bias(x.log_f, T),
        "fpa": lambda: path_bias(x.phi, x.psi, x.beta[:, None, None], T),
        "selective": lambda: selected(x),
    }[kind]()


def exact(kind, x):
    """o in float64, from the inputs as rounded, and the leaves in float64 that it can be differentiated by, by name."""
    wide = replace(x, **{name: value.detach().double().requires_grad_() for name, value in vars(x).items()})
    T = x.q.shape[2]
    mask = torch.ones(T, T, dtype=torch.bool, device=x.q.device).tril()
    return masked_softmax(wide.q @ wide.k.mT * x.q.shape[-1] ** -0.5 + bias_of(kind, wide), mask) @ wide.v, wide


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

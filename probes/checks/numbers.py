"""Numbers: finite ones at any size and scale, of the type that came in, the same each time, with the gradient they have."""

from __future__ import annotations

import random

import numpy as np
import torch

from attnprobe.probes.checks.case import apart, finite, moved, told
from attnprobe.probes.checks.findings import Failed
from attnprobe.probes.checks.watched import watched
from attnprobe.probes.mixers.attention import content, scoped

SINGLE = 1e-3  # of float32 against float64
HUGE = 100.0  # times queries' and keys' maps, each: scores of 1e4 and more
STEP = 1e-6  # of finite differences
SLOPE = 1e-4  # of a gradient against them
COORDINATES = 24  # of a parameter, whose gradients are taken
HEAD_DIMS = 1, 2, 4


def head_dims(case):
    """Head dimensions 1, 2 and 4 give finite outputs and gradients."""
    for D in HEAD_DIMS:
        outputs_and_gradients(case.of(head_dim=D), f"head_dim {D}")
    return f"outputs and gradients are finite at head_dim {', '.join(map(str, HEAD_DIMS))}"


def dtypes(case):
    """float32 in, float32 out, near what float64 gives; and float64 in, float64 out."""
    for one in (case, case.of(dtype=torch.float32)):
        q, k = one.projected()
        scores = content(q, k)
        causal = torch.ones(case.seq_len, case.seq_len, dtype=torch.bool).tril()
        weights = case.mixer.normaliser(scoped(one.p, "normaliser"), scores, causal)
        for what, out in {"queries": q, "keys": k, "the bias": one.bias(), "weights": weights}.items():
            if out.dtype != one.dtype:
                raise Failed(f"{named(one.dtype)} in, {named(out.dtype)} out, of {what}: give new tensors the dtype of the arguments")
    double, single = case.output(), case.of(dtype=torch.float32).output()
    if found := apart(double, single.double(), SINGLE):
        raise Failed(f"float32 gives {found[2]:.6g} where float64 gives {found[1]:.6g}, at position {found[0][2]}")
    return "float32 and float64 in, the same out, and near each other"


def deterministic(case):
    """Two calls agree bit for bit, draw from no global generator, and leave their arguments as they were."""
    watched(case).output()
    with torch.random.fork_rng(devices=[]):
        states, numpys, pythons = [torch.get_rng_state()], [np.random.get_state()[1:3]], [random.getstate()]
        first, second = case.output(), case.output()
        states.append(torch.get_rng_state()), numpys.append(np.random.get_state()[1:3]), pythons.append(random.getstate())
    if found := moved(first, second):
        raise Failed(f"two equal calls differ: position {found[0][2]} was changed {told(found)}")
    used = {
        "torch's": not torch.equal(*states),
        "numpy's": not np.array_equal(numpys[0][0], numpys[1][0]) or numpys[0][1] != numpys[1][1],
        "Python's": pythons[0] != pythons[1],
    }
    for whose, moved_on in used.items():
        if moved_on:
            raise Failed(f"a call draws from {whose} global generator: only a routing may draw, from its Draw")
    return "two calls agree bit for bit, draw from no global generator and write into no argument"


def gradients(case):
    """Gradients are finite differences, from either side where there is a kink; of surrogates, as declared, nothing is asked."""
    one = case.of(seeds=(0,), batch=1)
    left_out = {f"{axis}.{name}" for axis, part in case.mixer.parts().items() for name in part.surrogate}
    if unknown := left_out - set(one.own):
        raise Failed(f"surrogate names {', '.join(sorted(unknown))}, which no part declares as a parameter")
    values = {name: value.clone() for name, value in one.p.items() if name not in left_out} | ({} if left_out else {"x": one.x.clone()})
    cotangent = one.noise("cotangent", *one.output().shape[1:])

    def loss(given):
        return (one.output({**one.p, **given}, given.get("x")) * cotangent).sum()

    leaves = {name: value.clone().requires_grad_() for name, value in values.items()}
    found = torch.autograd.grad(loss(leaves), list(leaves.values()), materialize_grads=True)
    with torch.no_grad():
        middle = loss(values).item()
        for name, gradient in zip(leaves, found, strict=True):
            check_slopes(name, gradient.flatten(), values, loss, middle)
    surrogates = f"; {', '.join(sorted(left_out))}: surrogates by declaration, not asked" if left_out else ""
    return f"gradients are those of finite differences, float64{surrogates}"


def check_slopes(name, gradient, values, loss, middle):
    """Raise Failed where the gradient of one tensor lies outside the slopes to the left and right of it, at up to COORDINATES places."""
    flat = values[name].view(-1)
    for at in np.unique(np.linspace(0, len(flat) - 1, min(len(flat), COORDINATES)).astype(int)).tolist():
        sides, start = [], flat[at].item()
        for step in (-STEP, STEP):
            flat[at] = start + step
            sides.append((loss(values).item() - middle) / step)
        flat[at] = start
        g, (low, high) = gradient[at].item(), sorted(sides)
        slack = SLOPE * (1 + abs(g))
        if not low - slack <= g <= high + slack:
            where = f"{name}{list(map(int, np.unravel_index(at, values[name].shape)))}"
            raise Failed(f"by {where}: autograd gives {g:.6g}, differences {sum(sides) / 2:.6g} (on purpose? name it in `surrogate`)")


def extremes(case):
    """Scores of 1e4 and more, inputs of 0, equal inputs and huge inputs give finite outputs and gradients, in float32."""
    single = case.of(dtype=torch.float32)
    large = {name: value * HUGE if name in ("query", "key") else value for name, value in single.p.items()}
    equal = single.x[:, :, :1].expand_as(single.x)
    tried = {"scores of 1e4": (large, single.x), "inputs of 0": (single.p, single.x * 0), "equal inputs": (single.p, equal)}
    tried |= {"inputs of 1e3": (single.p, single.x * 1e3), "parameters at their start": (single.of(spread=0.0).p, single.x)}
    for what, (p, x) in tried.items():
        outputs_and_gradients(single, what, p, x)
    return f"outputs and gradients are finite at {', '.join(tried)}, float32"


def outputs_and_gradients(case, what, p=None, x=None):
    """Raise Failed unless outputs, and gradients by every parameter and the input, are finite."""
    leaves = {name: value.clone().requires_grad_() for name, value in (case.p if p is None else p).items()}
    given = (case.x if x is None else x).clone().requires_grad_()
    if case.mixer.bias.adds:
        finite(case.bias(leaves, given).detach().tril(), f"{what}, the bias")
    out = case.output(leaves, given)
    finite(out.detach(), what)
    names = [*leaves, "x"]
    for name, gradient in zip(names, torch.autograd.grad(out.sum(), [*leaves.values(), given], materialize_grads=True), strict=True):
        finite(gradient, f"{what}, the gradient by {name}")


def named(dtype):
    """A dtype's short name."""
    return str(dtype).removeprefix("torch.")

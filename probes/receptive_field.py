"""The receptive field of a model's layers, measured: the share of pairs s <= t for which d h_l[t] / d h_0[s] is not zero.

Gradients are taken in float64, from a copy of the sequence for each position t, against random cotangents: where a routing
leaves no path, every product on the way is 0 and so is the gradient; where there is one, it is not, but for a coincidence.
"""

from __future__ import annotations

import functools

from attnprobe.probes.mixers.parts import Draw
from attnprobe.probes.streams import stream

COPIES = 64  # positions whose gradients are taken at once


def shares(training, spec):
    """Seed -> the share at each layer, for the seeds still in a Training, on each one's first test sequence.

    Under a random routing: the mean over the task's test-time draws.
    """
    import torch

    model, task, step = training.judged[spec], training.task, training.recipe.steps
    p, batch = training.stack.copy(torch.float64), next(training.evaluation.batches(("test",), 1))
    numbers = range(1, task.draws + 1) if model.random else (1,)
    found = {}
    for n, seed in enumerate(training.stack.seeds):
        own = {name: value[n : n + 1] for name, value in p.items()}
        h0 = model.residual(p, batch)[n : n + 1, :1]  # (1, 1, T, M)
        draws = (functools.partial(Draw, (seed,), step=step, split="test", number=number) for number in numbers)
        drawn = [share(reached(model, own, h0, batch, draw, seed)) for draw in draws]
        found[seed] = torch.stack(drawn).mean(0).tolist()
    return found


def reached(model, p, h0, batch, draw, seed):
    """Whether the gradient of position t at layer l with respect to h0 at s is not zero: (layers, T, S) boolean.

    p: the parameters of one seed; h0 (1, 1, T, M); draw: a layer's Draw.
    """
    import torch

    T, M = h0.shape[2:]
    cotangents = torch.from_numpy(stream(seed, "cotangent").standard_normal((T, M))).to(h0)
    parts = []
    for first in range(0, T, COPIES):
        at = torch.arange(first, min(first + COPIES, T), device=h0.device)
        start = h0.detach().expand(1, len(at), T, M).clone().requires_grad_()
        h, seen = start, []
        for i in range(1, len(model.layers) + 1):
            h = model.block(i, p, h, batch, draw, T)
            told = (h[0, torch.arange(len(at)), at] * cotangents[at]).sum()  # copy i speaks of position at[i] alone
            (gradient,) = torch.autograd.grad(told, start, retain_graph=True)
            seen.append((gradient[0] != 0).any(-1))  # (copies, S)
        parts.append(torch.stack(seen))
    return torch.cat(parts, 1)


def share(reach):
    """The share of the pairs s <= t that are reached: (layers, T, S) -> (layers,), float64."""
    T = reach.shape[1]
    return reach.tril().sum((1, 2)).double() / (T * (T + 1) / 2)

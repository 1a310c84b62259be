"""Where a trained head would attend if its query stood at each position of one sequence: the attention map of an oracle's query.

A task with an oracle's query asks once, at the last position. The map's other rows ask the same query earlier, of the keys written so
far, so that one sees when the path between closes.
"""

from __future__ import annotations

import dataclasses
import functools


def trained_map(task, spec, head_dim, seed, recipe, batch, progress=lambda step: None):
    """Train one seed of an arm alone, then ask: (T, S) lists of weights, in row t 0 for positions after t and for what is no key.

    batch: one example, a numpy Batch of a task of one layer and one head whose query is an oracle's.
    Raises ValueError where the seed diverges.
    """
    from attnprobe.probes.train import BLOCK, Training

    training = Training(task, spec, head_dim, (seed,), recipe, "cpu", None)
    for first in range(0, recipe.steps, BLOCK):
        last = min(first + BLOCK, recipe.steps)
        training.block(first, last)
        progress(last)
        if not training.stack.seeds:
            raise ValueError(f"arm {spec}@{head_dim}: seed {seed} diverged; draw another, by --seed")
    return asked(training, spec, batch)


def asked(training, spec, batch):
    """The map of the one seed in a Training: (T, S) lists."""
    import torch

    from attnprobe.probes.batch import stack
    from attnprobe.probes.mixers.parts import Draw

    model, p = training.judged[spec], training.stack.copy(torch.float64)
    given = stack([batch], training.device, torch.float64)
    T = given.tokens.shape[-1]
    draw = functools.partial(Draw, training.stack.seeds, step=training.recipe.steps, split="test", number=1)
    found = torch.zeros(T, T, dtype=torch.float64)
    with torch.no_grad():
        for t in range(T):
            weights = model(p, up_to(given, t), draw).exp()  # (1, 1, 1, 1, t + 1)
            found[t, : t + 1] = weights[0, 0, 0, 0] * given.keys[: t + 1]
    return found.tolist()


def up_to(batch, t):
    """A stacked Batch cut after position t."""
    cut = {name: getattr(batch, name)[..., : t + 1] for name in ("tokens", "keys", "key_tokens")}
    return dataclasses.replace(batch, **cut)

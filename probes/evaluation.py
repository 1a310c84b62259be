"""Evaluation: the data that a stack of seeds is looked at and judged on, and its scores, traces and heads there, in float64."""

from __future__ import annotations

import functools
import itertools

from attnprobe.probes.batch import stack as stacked
from attnprobe.probes.judging import over_chunks, scores
from attnprobe.probes.mixers.parts import Draw
from attnprobe.probes.streams import stream
from attnprobe.probes.trace import followed

CANDIDATE, CONFIRM = 256, 1024  # sequences on which a seed may leave, and on which it is then judged
SAME_HEAD = 1e-9  # a head's offsets count as fixed if they vary by less than this, relative to the largest


def fresh(step):
    """Path and size of the sequences that seeds that may leave are judged on: drawn anew for each step, so never looked at before."""
    return ("test", "confirm", step), CONFIRM


def chosen(seeds, mask):
    """The seeds where mask (N,) is True."""
    return tuple(itertools.compress(seeds, mask.tolist()))


def draws(seeds, step, split, number=1):
    """layer -> Draw of these seeds."""
    return functools.partial(Draw, seeds, step=step, split=split, number=number)


class Evaluation:
    """Looks at a Stack of seeds, whichever are in it, on a task's evaluation data."""

    def __init__(self, task, stack, device):
        self.task, self.stack, self.device = task, stack, device

    def batches(self, path, size, seeds=None):
        """Stacked batches of the evaluation data of `seeds`, by default all in the stack, chunk by chunk."""
        import torch

        chunks = (self.task.evaluation(stream(seed, *path), size) for seed in seeds or self.stack.seeds)
        for found in zip(*chunks, strict=True):
            yield stacked(found, self.device, torch.float64)

    def score(self, model, step, path, size, which=None):
        """Each metric (N,), float64, weights and sums in float64, of seeds where `which`; see judging.over_chunks."""
        import torch

        which = torch.ones(len(self.stack.seeds), dtype=torch.bool) if which is None else which
        seeds = chosen(self.stack.seeds, which)
        p = {name: value[which] for name, value in self.stack.copy(torch.float64).items()}
        draw = functools.partial(draws, seeds, step, "test")
        with torch.no_grad():
            return over_chunks(self.task, ((batch, scores(self.task, model, p, batch, draw)) for batch in self.batches(path, size, seeds)))

    def followed(self, model, step):
        """What the task traces, on the fixed evaluation set: name -> (N,)."""
        import torch

        with torch.no_grad():
            draw = draws(self.stack.seeds, step, "test")
            return followed(model, self.stack.copy(torch.float64), self.batches(("test",), CANDIDATE), draw, self.task.traced)

    def heads(self, model, step):
        """For tasks that ask for it, each seed's head as {keys: S x D, offsets: S} at the last row, where both are the same
        for every example of the first evaluation chunk (so that theory can say which sets it could realise); else None."""
        import torch

        if not self.task.heads:
            return [None] * len(self.stack.seeds)
        batch = next(self.batches(("test",), self.task.test_size))
        with torch.no_grad():
            keys, offsets = model.head(self.stack.copy(torch.float64), batch, draws(self.stack.seeds, step, "test"))
        keys, offsets = keys[:, :, 0, batch.keys], offsets[:, :, 0, batch.keys]  # (N, B or 1, S, D), (N, B, S)
        return [head_of(*head) for head in zip(keys, offsets, strict=True)]


def head_of(keys, offsets):
    """{keys: S x D, offsets: S} of one seed, or None where they differ between examples: (B or 1, S, D), (B, S)."""
    for x in (keys, offsets):
        if float((x - x[:1]).abs().max()) > SAME_HEAD * max(1.0, float(x.abs().max())):
            return None
    return {"keys": keys[0].tolist(), "offsets": offsets[0].tolist()}

"""train_seeds: the only optimiser loop. All seeds of an arm train as one model with a leading seed axis."""

from __future__ import annotations

import functools
import hashlib
import itertools
import math

from attnprobe.probes.batch import stack
from attnprobe.probes.judging import scores
from attnprobe.probes.mixers.parts import Draw
from attnprobe.probes.model import Model
from attnprobe.probes.stack import Stack
from attnprobe.probes.streams import stream
from attnprobe.probes.trace import followed

BLOCK = 50  # steps whose data one sample() call draws; part of every task's version
CANDIDATE, CONFIRM = 256, 1024  # sequences on which a seed may leave, and on which it is then judged
KEPT, KEPT_TOKENS = 512, 1 << 17  # blocks that a process keeps for its next arms, and the tokens of the largest that it keeps
SAME_HEAD = 1e-9  # a head's offsets count as fixed if they vary by less than this, relative to the largest


@functools.lru_cache(maxsize=KEPT)
def kept_block(task, seed, index, rows):
    """Block `index` of a seed's training data: the same for every arm, so drawn once for all that this process trains."""
    return task.sample(stream(seed, "train", index), rows)


def head_of(keys, offsets):
    """{keys: S x D, offsets: S} of one seed, or None where they differ between examples: (B or 1, S, D), (B, S)."""
    for x in (keys, offsets):
        if float((x - x[:1]).abs().max()) > SAME_HEAD * max(1.0, float(x.abs().max())):
            return None
    return {"keys": keys[0].tolist(), "offsets": offsets[0].tolist()}


def chosen(seeds, mask):
    """The seeds where mask (N,) is True."""
    return tuple(itertools.compress(seeds, mask.tolist()))


def fresh(step):
    """Path and size of the sequences that seeds that may leave are judged on: drawn anew for each step, so never looked at before."""
    return ("test", "confirm", step), CONFIRM


def finite(points):
    """[[step, value], ...] with None for what is not finite."""
    return [[at, value if math.isfinite(value) else None] for at, value in points]


def train_seeds(task, spec, head_dim, seeds, recipe, device="cpu", progress=lambda step: None, dtype=None):
    """Train one arm on all `seeds` at once and judge each.

    Args: task: a Task; spec: Spec, judged under its swap where it has one; seeds: ids, each >= 0;
    progress: called with the number of finished steps at each block.
    Returns one dict a seed, in the order of `seeds`: seed, status "solved" | "unsolved" | "failed", score (dict of floats),
    steps, losses [[step, mean training loss since the last point], ...], curve [[step, metric], ...] of the evaluations in
    training, traces (name -> [[step, value], ...]), data_hash, head (or None) and, where a loss, gradient norm or metric was
    not finite, failure {step, quantity}; a failed seed leaves the stack, the others go on.
    """
    return train_once(task, (spec,), head_dim, seeds, recipe, device, progress, dtype)[spec]


def train_once(task, specs, head_dim, seeds, recipe, device="cpu", progress=lambda step: None, dtype=None):
    """Train what several specs share, once, and judge it under each: spec -> results as of `train_seeds`."""
    return Training(task, specs[0], head_dim, seeds, recipe, device, dtype, specs).run(progress)


class Training:
    """One arm in training: the stack of seeds that are still in it, and the results of those that are not.

    specs: under which the weights are judged, `spec` alone by default; all are trained alike.
    """

    def __init__(self, task, spec, head_dim, seeds, recipe, device, dtype, specs=None):
        import torch

        self.task, self.recipe, self.device = task, recipe, torch.device(device)
        self.dtype = dtype or torch.float32
        self.model = Model(task.model, spec.trained, head_dim, device)
        self.judged = {one: Model(task.model, one.judged, head_dim, device) if one.swap else self.model for one in specs or (spec,)}
        self.stack = Stack(self.model.parameters(), seeds, self.device, self.dtype)
        make = torch.optim.AdamW if recipe.weight_decay else torch.optim.Adam
        self.optimiser = make([self.stack.values], lr=recipe.lr, betas=recipe.betas, weight_decay=recipe.weight_decay, fused=True)
        self.order = tuple(seeds)
        self.hashes = {seed: hashlib.sha256() for seed in seeds}
        self.losses, self.curves = ({seed: [] for seed in seeds} for _ in "ab")
        self.traces = {seed: {} for seed in seeds}
        changes = (mixer.intervention for mixer in spec.of_layers(task.layers))
        self.leaving = not any(change and change.transient for change in changes)
        self.first_norms = {}  # seed -> norm of the first step's gradient, before the clip
        self.results = {one: {} for one in self.judged}

    def run(self, progress):
        """Train to the last step, or until no seed is left; spec -> results in the order of the seeds."""
        self.trace(0)
        for first in range(0, self.recipe.steps, BLOCK):
            last = min(first + BLOCK, self.recipe.steps)
            self.block(first, last)
            progress(last)
            if self.task.leave and self.stack.seeds:
                self.look(last)
            if not self.stack.seeds:
                break
        if self.stack.seeds:
            self.judge(self.recipe.steps)
        return {one: [found[seed] for seed in self.order] for one, found in self.results.items()}

    def block(self, first, last):
        """Steps first..last-1 on one block of data, then record the curve and drop the seeds that diverged."""
        import torch

        data = self.data(first // BLOCK)
        losses, norms = (torch.empty(last - first, len(self.stack.seeds), dtype=self.dtype, device=self.device) for _ in "ab")
        B = self.recipe.batch
        for step in range(first, last):
            i = step - first
            losses[i], norms[i] = self.step(data.examples(i * B, (i + 1) * B), step)
        for n, seed in enumerate(self.stack.seeds):
            self.losses[seed].append([last, losses[:, n].mean().item()])
            self.first_norms.setdefault(seed, norms[0, n].item())
        self.drop_failed({"loss": losses, "gradient norm": norms}, first)

    def data(self, index):
        """Block `index` of every seed in the stack, and the seeds' data hashes taken on."""
        rows = BLOCK * self.recipe.batch
        draw = kept_block if rows * self.model.shape.seq_len <= KEPT_TOKENS else kept_block.__wrapped__
        batches = [draw(self.task, seed, index, rows) for seed in self.stack.seeds]
        for seed, batch in zip(self.stack.seeds, batches, strict=True):
            for array in batch.arrays():
                self.hashes[seed].update(array.tobytes())
        return stack(batches, self.device, self.dtype)

    def step(self, batch, step):
        """One optimiser step of every seed; returns losses and gradient norms, each (N,)."""
        loss = self.task.loss(self.model(self.stack.parameters, batch, self.draws(step, "train")), batch)
        self.stack.backward(loss)
        norms = self.stack.clip(self.recipe.clip)
        self.optimiser.param_groups[0]["lr"] = self.recipe.lr_at(step)
        self.optimiser.step()
        return loss.detach(), norms

    def draws(self, step, split, number=1, seeds=None):
        """layer -> Draw, of the seeds in the stack or of these."""
        return functools.partial(Draw, seeds or self.stack.seeds, step=step, split=split, number=number)

    def drop_failed(self, recorded, first):
        """Seeds with a non-finite value in any of `recorded` (name -> (steps, N)) fail at its first step and leave."""
        import torch

        bad = {name: ~torch.isfinite(values) for name, values in recorded.items()}
        failed = torch.stack([b.any(0) for b in bad.values()]).any(0)
        if not failed.any():
            return
        for n, seed in enumerate(self.stack.seeds):
            if failed[n]:
                steps = {name: first + int(b[:, n].int().argmax()) for name, b in bad.items() if b[:, n].any()}
                quantity = min(steps, key=steps.get)
                for one in self.judged:
                    self.finish(one, seed, "failed", {}, steps[quantity], failure={"step": steps[quantity], "quantity": quantity})
        self.stack.keep(~failed, self.optimiser)

    def look(self, step):
        """Score and trace the seeds on the fixed evaluation set; one that passes leaves, unless an intervention still changes."""
        score = self.score(self.model, step, ("test",), CANDIDATE)
        for n, seed in enumerate(self.stack.seeds):
            self.curves[seed].append([step, score[self.task.metric][n].item()])
        self.trace(step)
        candidates = self.task.solved(score)
        if self.leaving and candidates.any():
            self.let_leave(candidates, step)

    def let_leave(self, candidates, step):
        """Seeds where candidates (N,) is True leave if the same weights pass on a second, fresh set; else they train on."""
        import torch

        candidates = torch.as_tensor(candidates)
        score = self.score(self.model, step, *fresh(step), candidates)
        confirmed = torch.as_tensor(self.task.solved(score))
        leavers = candidates.clone()
        leavers[candidates] = confirmed
        if not leavers.any():
            return
        for one, model in self.judged.items():
            trained = model is self.model
            own = {name: v[confirmed] for name, v in score.items()} if trained else self.score(model, step, *fresh(step), leavers)
            self.settle(one, chosen(self.stack.seeds, leavers), own, step)
        self.stack.keep(~leavers, self.optimiser)

    def judge(self, step):
        """Judge the seeds in the stack on evaluation data."""
        path, size = fresh(step) if self.task.leave else (("test",), self.task.test_size)  # ("test",) has been looked at
        heads = self.heads(step)
        for one, model in self.judged.items():
            self.settle(one, self.stack.seeds, self.score(model, step, path, size), step, heads)

    def settle(self, one, seeds, score, step, heads=None):
        """Write down what seeds score under one of the specs; a non-finite metric fails a seed."""
        import torch

        solved = self.task.solved(score)
        for n, seed in enumerate(seeds):
            values = {name: v[n].item() for name, v in score.items()}
            bad = [name for name, v in score.items() if not torch.isfinite(v[n])]
            if bad:
                self.finish(one, seed, "failed", {}, step, failure={"step": step, "quantity": bad[0]})
            else:
                self.finish(one, seed, "solved" if solved[n] else "unsolved", values, step, head=heads[n] if heads else None)

    def score(self, model, step, path, size, which=None):
        """Each metric (N,), float64: the mean over the evaluation's examples, weights and sums in float64; of seeds where `which`."""
        import torch

        which = torch.ones(len(self.stack.seeds), dtype=torch.bool) if which is None else which
        seeds = chosen(self.stack.seeds, which)
        p = {name: value[which] for name, value in self.stack.copy(torch.float64).items()}
        draws, total, seen = functools.partial(self.draws, step, "test", seeds=seeds), {}, 0
        with torch.no_grad():
            for batch in self.evaluation(path, size, seeds):
                n = batch.tokens.shape[1]
                for name, value in scores(self.task, model, p, batch, draws).items():
                    total[name] = total.get(name, 0) + value * n
                seen += n
        first = torch.tensor([self.first_norms[seed] for seed in seeds], dtype=torch.float64)
        return {name: value / seen for name, value in total.items()} | ({"gradient": first} if self.task.gradient else {})

    def trace(self, step):
        """Follow what the task traces, on the fixed evaluation set."""
        import torch

        if not self.task.traced:
            return
        with torch.no_grad():
            batches = self.evaluation(("test",), CANDIDATE)
            found = followed(self.model, self.stack.copy(torch.float64), batches, self.draws(step, "test"), self.task.traced)
        for name, values in found.items():
            for seed, value in zip(self.stack.seeds, values.tolist(), strict=True):
                self.traces[seed].setdefault(name, []).append([step, value])

    def evaluation(self, path, size, seeds=None):
        """Stacked batches of the evaluation data of `seeds`, by default all in the stack, chunk by chunk."""
        import torch

        chunks = (self.task.evaluation(stream(seed, *path), size) for seed in seeds or self.stack.seeds)
        for batches in zip(*chunks, strict=True):
            yield stack(batches, self.device, torch.float64)

    def heads(self, step):
        """For tasks that ask for it, each seed's head as {keys: S x D, offsets: S} at the last row, where both are the same
        for every example of the first evaluation chunk (so that theory can say which sets it could realise); else None."""
        import torch

        none = [None] * len(self.stack.seeds)
        if not self.task.heads:
            return none
        batch = next(self.evaluation(("test",), self.task.test_size))
        with torch.no_grad():
            keys, offsets = self.model.head(self.stack.copy(torch.float64), batch, self.draws(step, "test"))
        keys, offsets = keys[:, :, 0, batch.keys], offsets[:, :, 0, batch.keys]  # (N, B or 1, S, D), (N, B, S)
        return [head_of(*head) for head in zip(keys, offsets, strict=True)]

    def finish(self, one, seed, status, score, steps, head=None, failure=None):
        """Write down a seed's result under one of the specs."""
        self.results[one][seed] = {
            "seed": seed,
            "status": status,
            "score": score,
            "steps": steps,
            "losses": finite(self.losses[seed]),
            "curve": [] if one.swap else finite(self.curves[seed]),  # swapped weights are looked at once, when judged
            "traces": {name: finite(points) for name, points in self.traces[seed].items()},
            "data_hash": self.hashes[seed].hexdigest(),
            "head": head,
            "failure": failure,
        }

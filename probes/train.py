"""train_seeds: the only optimiser loop. All seeds of an arm train as one model with a leading seed axis."""

from __future__ import annotations

import math

from attnprobe.probes.batch import stack
from attnprobe.probes.blocks import BLOCK, blocks
from attnprobe.probes.evaluation import CANDIDATE, Evaluation, chosen, draws, fresh
from attnprobe.probes.journal import Journal
from attnprobe.probes.model import Model
from attnprobe.probes.stack import Stack


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
        self.evaluation = Evaluation(task, self.stack, self.device)
        self.journal = Journal(seeds, self.judged)
        changes = (mixer.intervention for mixer in spec.of_layers(task.layers))
        self.leaving = not any(change and change.transient for change in changes)

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
        return self.journal.in_order()

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
            self.journal.losses[seed].append([last, losses[:, n].mean().item()])
            self.journal.first_norms.setdefault(seed, norms[0, n].item())
        self.drop_failed({"loss": losses, "gradient norm": norms}, first)

    def data(self, index):
        """Block `index` of every seed in the stack, and the seeds' data hashes taken on."""
        batches = blocks(self.task, self.stack.seeds, index, BLOCK * self.recipe.batch, self.model.shape.seq_len)
        for seed, batch in zip(self.stack.seeds, batches, strict=True):
            self.journal.saw(seed, batch)
        return stack(batches, self.device, self.dtype)

    def step(self, batch, step):
        """One optimiser step of every seed; returns losses and gradient norms, each (N,)."""
        loss = self.task.loss(self.model(self.stack.parameters, batch, self.draws(step, "train")), batch)
        self.stack.backward(loss)
        norms = self.stack.clip(self.recipe.clip)
        self.optimiser.param_groups[0]["lr"] = self.recipe.lr_at(step)
        self.optimiser.step()
        return loss.detach(), norms

    def draws(self, step, split, number=1):
        """layer -> Draw, of the seeds in the stack."""
        return draws(self.stack.seeds, step, split, number)

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
                self.journal.fail(seed, steps[quantity], quantity)
        self.stack.keep(~failed, self.optimiser)

    def look(self, step):
        """Score and trace the seeds on the fixed evaluation set; one that passes leaves, unless an intervention still changes."""
        score = self.score(self.model, step, ("test",), CANDIDATE)
        for n, seed in enumerate(self.stack.seeds):
            self.journal.curves[seed].append([step, score[self.task.metric][n].item()])
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
        heads = self.evaluation.heads(self.model, step)
        for one, model in self.judged.items():
            self.settle(one, self.stack.seeds, self.score(model, step, path, size), step, heads)

    def settle(self, one, seeds, score, step, heads=None):
        """Write down what seeds score under one of the specs; a non-finite score fails a seed, but for one of nothing, which it lacks."""
        solved = self.task.solved(score)
        for n, seed in enumerate(seeds):
            values = {name: v[n].item() for name, v in score.items() if name == self.task.metric or not v[n].isnan()}
            bad = [name for name, value in values.items() if not math.isfinite(value)]
            if bad:
                self.journal.fail_under(one, seed, step, bad[0])
            else:
                self.journal.finish(one, seed, "solved" if solved[n] else "unsolved", values, step, head=heads[n] if heads else None)

    def score(self, model, step, path, size, which=None):
        """Each metric (N,) of the seeds in the stack, or of those where `which` (N,): of evaluation data, and the first gradient's norm."""
        import torch

        found = self.evaluation.score(model, step, path, size, which)
        if not self.task.gradient:
            return found
        seeds = self.stack.seeds if which is None else chosen(self.stack.seeds, which)
        return found | {"gradient": torch.tensor([self.journal.first_norms[seed] for seed in seeds], dtype=torch.float64)}

    def trace(self, step):
        """Follow what the task traces."""
        if self.task.traced:
            self.journal.traced(self.stack.seeds, self.evaluation.followed(self.model, step), step)

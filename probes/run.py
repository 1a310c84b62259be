"""run_probe: arms x seeds -> results. What the store already holds is not computed again; arms train side by side."""

from __future__ import annotations

import datetime
import os
import platform
import time
from dataclasses import dataclass

from attnprobe.probes.mixers import intervention
from attnprobe.probes.spec import Spec
from attnprobe.probes.store import Store, identity
from attnprobe.probes.workers import in_processes, in_this_process

MOST_WORKERS = 4  # each holds a copy of torch, 400 MB and more


@dataclass(frozen=True)
class Arm:
    """One row of a comparison: a mechanism, under the name it was asked for by, and a head dimension.

    A control is an arm again at a head dimension that suffices.
    """

    name: str
    spec: Spec
    head_dim: int
    control: bool = False

    def __str__(self):
        return f"{self.name}@{self.head_dim}"


@dataclass(frozen=True)
class Job:
    """What to train once, and where its results go: the seeds that any of `missing`, arms that are trained alike, lacks.

    missing: Arm -> the seeds to store for it.
    """

    task: object
    missing: dict
    recipe: object
    device: str
    threads: int
    store: str

    @property
    def arm(self):
        """The arm that progress is told of."""
        return next(iter(self.missing))

    @property
    def seeds(self):
        """Every seed that some arm lacks, in order."""
        return tuple(sorted(set().union(*self.missing.values())))


@dataclass(frozen=True)
class ArmResult:
    """An arm's stored records by seed, in the order asked for, and how many of them were not computed now."""

    arm: Arm
    records: dict
    reused: int


def default_workers():
    """How many arms to train side by side: one a core that this process may use, at most MOST_WORKERS."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_WORKERS, cores)


def check(task, arm, steps=None):
    """Raise ValueError, with the reason, where an arm or its interventions make no sense on a task, trained for `steps` where given."""
    intervention.check(task, arm.spec, steps)
    task.check(arm.spec, arm.head_dim)


def stored(task, arms, seeds, recipe, device, store):
    """What a store holds: Arm -> {seed: record}, one lookup a seed."""
    return {arm: {seed: record for seed in seeds if (record := store.load(named(task, arm, recipe, seed, device)))} for arm in arms}


def named(task, arm, recipe, seed, device):
    """The identity of one seed's result."""
    return identity(task, arm.spec, arm.head_dim, recipe, seed, "float32", device)


def run_probe(task, arms, seeds, recipe, store, device="cpu", threads=1, workers=1, fresh=False, watch=None):
    """Train what is missing and return an ArmResult an arm, in order.

    Args: task: a Task; arms: Arms; seeds: ids; recipe: a Recipe; store: a Store; device: "cpu" | "cuda"; threads: torch
    threads a worker; workers: processes that train arms side by side (1: in this process); fresh: compute every seed again;
    watch: an object with started(arm, reused, missing), stepped(arm, step), finished(arm), told of progress.
    """
    watch = watch or Silent()
    for arm in arms:
        check(task, arm, recipe.steps)
    held = {arm: {} for arm in arms} if fresh else stored(task, arms, seeds, recipe, device, store)
    missing = lacking(arms, seeds, held)
    for arm in arms:
        watch.started(arm, len(held[arm]), len(missing.get(arm, ())))
    jobs = [Job(task, group, recipe, device, threads, str(store.root)) for group in trained_alike(missing)]
    reused = {arm: len(held[arm]) for arm in arms}
    side_by_side = min(workers, len(jobs))
    for job, records in trained(jobs, side_by_side, watch):
        for arm in job.missing:
            held[arm].update(records[arm])
            watch.finished(arm)
    return [ArmResult(arm, {seed: held[arm][seed] for seed in seeds}, reused[arm]) for arm in arms]


def lacking(arms, seeds, held):
    """Arm -> the seeds that are not held, for the arms that lack any."""
    return {arm: lacks for arm in arms if (lacks := tuple(seed for seed in seeds if seed not in held[arm]))}


def trained_alike(missing):
    """Arm -> seeds, split by what is trained: arms that differ in the routing swapped in afterwards stand together."""
    groups = {}
    for arm, seeds in missing.items():
        groups.setdefault((arm.spec.trained, arm.head_dim), {})[arm] = seeds
    return list(groups.values())


class Silent:
    """A watch that says nothing."""

    def started(self, arm, reused, missing):
        """An arm's stored and missing seeds are known."""

    def stepped(self, arm, step):
        """An arm has finished `step` steps."""

    def finished(self, arm):
        """An arm's results are stored."""


def trained(jobs, workers, watch):
    """Train jobs, side by side if there are two workers or more; yields (job, records) as they finish."""
    if workers > 1:
        return in_processes(train_and_store, jobs, workers, watch)
    return in_this_process(train_and_store, jobs, watch)


def train_and_store(job, progress):
    """Train what a job's arms share, store the seeds that each lacks, return arm -> seed -> record.

    The arms share the seconds evenly, so that they add up to what was spent.
    """
    import torch

    from attnprobe.probes.memory import keep_freed_memory
    from attnprobe.probes.train import train_once

    keep_freed_memory()
    torch.set_num_threads(job.threads)
    start = time.perf_counter()
    specs = tuple(arm.spec for arm in job.missing)
    results = train_once(job.task, specs, job.arm.head_dim, job.seeds, job.recipe, job.device, progress)
    seconds = time.perf_counter() - start
    recorded = {
        "versions": versions(),
        "threads": job.threads,
        "host": platform.node(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "stack_size": len(job.seeds),
        "seconds": seconds / sum(map(len, job.missing.values())),
    }
    store = Store(job.store)

    def saved(arm, result):
        return store.save(named(job.task, arm, job.recipe, result["seed"], job.device), result, recorded)

    return {arm: {r["seed"]: saved(arm, r) for r in results[arm.spec] if r["seed"] in lacks} for arm, lacks in job.missing.items()}


def versions():
    """Versions that a result was computed with."""
    from importlib.metadata import version

    return {"python": platform.python_version(), **{name: version(name) for name in ("attnprobe", "torch", "numpy")}}

"""run_probe: arms x seeds -> results. What the store already holds is not computed again; arms train side by side."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import os
import platform
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnprobe.probes.arm import Arm, once
from attnprobe.probes.arm import arm as read_arm
from attnprobe.probes.arm import seeds as read_seeds
from attnprobe.probes.loading import blaming, known
from attnprobe.probes.mixers import intervention
from attnprobe.probes.recipe import Recipe
from attnprobe.probes.results import ArmResult, Results
from attnprobe.probes.spec import parse
from attnprobe.probes.store import Store, identity
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.task import Task
from attnprobe.probes.workers import in_processes, in_this_process

DEVICES = ("cpu", "cuda")
MOST_WORKERS = 4  # each holds a copy of torch, 400 MB and more


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


def default_workers():
    """How many arms to train side by side: one a core that this process may use, at most MOST_WORKERS."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_WORKERS, cores)


def check_device(device, name="device"):
    """Raise ValueError where a device is unknown or absent; name: what it was given as."""
    if device not in DEVICES:
        raise ValueError(f"{name} must be {' or '.join(DEVICES)}, not {device!r}")
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise ValueError(f"{name} cuda: torch sees no CUDA device here; use {name} cpu")


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


def run_probe(
    task: Task | str,
    arms: Iterable[Arm | str] | None = None,
    seeds: int | str | Iterable[int] = 15,
    recipe: Recipe | None = None,
    store: Store | str | Path | None = None,
    device: str = "cpu",
    threads: int = 1,
    workers: int = 1,
    fresh: bool = False,
    watch: Any = None,
) -> Results:
    """Train what is missing and return the Results, an ArmResult an arm, in order.

    Args: task: a Task, or the name of one; arms: Arms or texts (`rope`, `fir+fpa@8`), by default the task's own; seeds: a count
    (15: 0..14), a range ("100:115"), or ids; recipe: a Recipe, by default the task's; store: a Store or a directory, whose
    results are not computed again, or None to keep nothing; device: "cpu" | "cuda"; threads: torch threads a worker; workers:
    processes that train arms side by side (1: in this process); fresh: compute every seed again; watch: an object with
    started(arm, reused, missing), stepped(arm, step), finished(arm), told of progress.
    Raises ValueError for what makes no sense, before anything is trained.

    >>> from attnprobe.probes import Ladder, Recipe, run_probe
    >>> results = run_probe(Ladder(r=4), ["fpa", "rope"], seeds=2, recipe=Recipe(steps=2, batch=4))
    >>> [(str(found.arm), len(found.records)) for found in results]
    [('fpa@4', 2), ('rope@4', 2)]
    """
    task = known(task, lambda: TASKS[task]()) if isinstance(task, str) else task
    if not isinstance(task, Task):
        raise ValueError(f"task must be a Task, such as Ladder(r=10), or the name of one, not {task!r}")
    asked = listed(task, task.arms if arms is None else arms)
    ids, recipe = asked_seeds(seeds), task.recipe if recipe is None else recipe
    if not isinstance(recipe, Recipe):
        raise ValueError(f"recipe must be a Recipe, such as Recipe(steps=400), or None for the task's, not {recipe!r}")
    for name, value in {"threads": threads, "workers": workers}.items():
        if type(value) is not int or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, not {value!r}")
    check_device(device)
    for one in asked:
        check_home(task, one)
        check(task, one, recipe.steps)
    with kept(store) as held:
        found = trained_arms(task, asked, ids, recipe, held, device, threads, workers, fresh, watch or Silent())
    return Results(task, recipe, tuple(found))


def listed(task, arms):
    """Arms of Arms and texts, each mechanism and head dimension once. Raises ValueError."""
    if isinstance(arms, str):
        raise ValueError(f"arms is a list of arms, such as [{arms!r}], not the text {arms!r}")
    arms = list(arms) if isinstance(arms, Iterable) else arms
    if not isinstance(arms, list) or not all(isinstance(one, str | Arm) for one in arms):
        raise ValueError(f"arms is a list of texts and Arms, such as ['fpa', 'rope@12'], not {arms!r}")
    asked = once(known(one, lambda one=one: read_arm(one, task.head_dim)) if isinstance(one, str) else one for one in arms)
    if not asked:
        raise ValueError("arms must name at least one arm")
    return asked


def asked_seeds(seeds):
    """The ids that a count, a range as text, or ids mean, each >= 0. Raises ValueError."""
    if isinstance(seeds, int | str):
        return read_seeds(str(seeds), "seeds")
    if not isinstance(seeds, Iterable):
        raise ValueError(f"seeds must be a count, a range such as '100:115', or ids, not {seeds!r}")
    ids = tuple(seeds)
    if not ids or len(set(ids)) < len(ids) or not all(type(seed) is int and seed >= 0 for seed in ids):
        raise ValueError(f"seeds must be different integers >= 0, at least one, not {ids!r}")
    return ids


def check_home(task, arm):
    """Raise ValueError where a task or a part is defined in the script that runs: a result is named by the code of modules."""
    for value in (task, *(part for layer in arm.spec.layers for part in layer.parts().values())):
        if type(value).__module__ == "__main__":
            name = type(value).__name__
            raise ValueError(
                f"{name} is defined in __main__, and results are named by the code of files that can be imported: move it to one"
            )


@contextlib.contextmanager
def kept(store):
    """A Store: the one given, that of a directory, or for None one that is gone afterwards."""
    if isinstance(store, Store):
        yield store
    elif not isinstance(store, str | Path | None):
        raise ValueError(f"store must be a Store, the path of a directory, or None to keep nothing, not {store!r}")
    elif store is not None:
        yield Store(store)
    else:
        with tempfile.TemporaryDirectory(prefix="attnprobe-") as root:
            yield Store(root)


def trained_arms(task, arms, seeds, recipe, store, device, threads, workers, fresh, watch):
    """`run_probe` on values that are checked."""
    held = {arm: {} for arm in arms} if fresh else stored(task, arms, seeds, recipe, device, store)
    missing = lacking(arms, seeds, held)
    if missing:
        store.check_writable()
    for arm, lacks in missing.items():
        for seed in lacks:
            store.check_free(named(task, arm, recipe, seed, device))
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
    warm_up(job.device)
    start = time.perf_counter()
    specs = tuple(arm.spec for arm in job.missing)
    with blaming(job.task, specs):
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


@functools.cache
def warm_up(device):
    """Train a smallest model for a step, once a process and device, and drop it: what torch does at first is no arm's training."""
    from attnprobe.probes.train import train_seeds

    task = TASKS["ladder"](r=2)
    train_seeds(task, parse("fpa"), 2, (0,), dataclasses.replace(task.recipe, steps=1, batch=2), device)


def versions():
    """Versions that a result was computed with."""
    from importlib.metadata import version

    return {"python": platform.python_version(), **{name: version(name) for name in ("attnprobe", "torch", "numpy")}}

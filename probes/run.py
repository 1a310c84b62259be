"""run_probe: arms x seeds -> results. What the store already holds is not computed again; arms train side by side."""

from __future__ import annotations

import datetime
import os
import platform
import time
import traceback
from collections import deque
from dataclasses import dataclass

from attnprobe.probes.spec import Spec
from attnprobe.probes.store import Store, identity

MOST_WORKERS = 4  # each holds a copy of torch, about 300 MB


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
    """What to train: one arm's seeds, and where its results go."""

    task: object
    arm: Arm
    seeds: tuple[int, ...]
    recipe: object
    device: str
    threads: int
    store: str


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
        task.check(arm.spec, arm.head_dim)
    held = {arm: {} for arm in arms} if fresh else stored(task, arms, seeds, recipe, device, store)
    jobs = []
    for arm in arms:
        missing = tuple(seed for seed in seeds if seed not in held[arm])
        watch.started(arm, len(held[arm]), len(missing))
        if missing:
            jobs.append(Job(task, arm, missing, recipe, device, threads, str(store.root)))
    reused = {arm: len(held[arm]) for arm in arms}
    side_by_side = min(workers, len(jobs))
    for job, records in in_processes(jobs, side_by_side, watch) if side_by_side > 1 else in_this_process(jobs, watch):
        held[job.arm].update(records)
        watch.finished(job.arm)
    return [ArmResult(arm, {seed: held[arm][seed] for seed in seeds}, reused[arm]) for arm in arms]


class Silent:
    """A watch that says nothing."""

    def started(self, arm, reused, missing):
        """An arm's stored and missing seeds are known."""

    def stepped(self, arm, step):
        """An arm has finished `step` steps."""

    def finished(self, arm):
        """An arm's results are stored."""


def train_and_store(job, progress):
    """Train a job's arm, store each seed, return seed -> record."""
    import torch

    from attnprobe.probes.train import train_seeds

    torch.set_num_threads(job.threads)
    start = time.perf_counter()
    results = train_seeds(job.task, job.arm.spec, job.arm.head_dim, job.seeds, job.recipe, job.device, progress)
    seconds = time.perf_counter() - start
    recorded = {
        "versions": versions(),
        "threads": job.threads,
        "host": platform.node(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "stack_size": len(job.seeds),
        "seconds": seconds / len(job.seeds),
    }
    store = Store(job.store)
    return {
        result["seed"]: store.save(named(job.task, job.arm, job.recipe, result["seed"], job.device), result, recorded) for result in results
    }


def versions():
    """Versions that a result was computed with."""
    from importlib.metadata import version

    return {"python": platform.python_version(), **{name: version(name) for name in ("attnprobe", "torch", "numpy")}}


def in_this_process(jobs, watch):
    """Train jobs one after the other; yields (job, records)."""
    for job in jobs:
        yield job, train_and_store(job, lambda step, arm=job.arm: watch.stepped(arm, step))


def in_processes(jobs, workers, watch):
    """Train jobs in `workers` processes; yields (job, records) as they finish.

    A worker whose parent is gone fails at its next progress message, so a killed run leaves no process behind.
    """
    import multiprocessing
    from multiprocessing.connection import wait

    context = multiprocessing.get_context("spawn")
    waiting, running, processes = deque(jobs), {}, []
    try:
        for _ in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            processes.append(process)
            running[ours] = waiting.popleft()
            ours.send(running[ours])
        while running:
            for connection in wait(list(running)):
                job = running[connection]
                try:
                    kind, value = connection.recv()
                except EOFError:
                    raise OSError(f"the process that trained {job.arm} died; what was stored is kept, run the same command again") from None
                if kind == "step":
                    watch.stepped(job.arm, value)
                    continue
                if kind == "error":
                    raise value
                if waiting:
                    running[connection] = waiting.popleft()
                    connection.send(running[connection])
                else:
                    del running[connection]
                    connection.close()
                yield job, value
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def work(connection):
    """A worker: train the jobs that come over the connection until it closes."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    try:
        while True:
            job = connection.recv()
            try:
                records = train_and_store(job, lambda step: connection.send(("step", step)))
            except Exception as error:  # the parent raises it; its own traceback would not show where it came from
                error.add_note(traceback.format_exc())
                connection.send(("error", error))
                return
            connection.send(("done", records))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return

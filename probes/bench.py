"""Measures training: stacked seeds against a loop over the same seeds, same code, same work, one process, interleaved."""

from __future__ import annotations

import time
from dataclasses import replace

from attnprobe.probes.stats import median
from attnprobe.probes.train import train_seeds


def training(task, arms, seeds, recipe, rounds, progress=lambda arm: None):
    """For each Arm: {arm, mixer, head_dim, ratio, seconds}: the median over rounds of loop time / stacked time, and stacked seconds.

    Every round trains each arm once as a stack and once seed by seed, evaluation and data included, so that drift of the
    machine falls on both sides. One torch thread.
    """
    import torch

    torch.set_num_threads(1)
    warm = replace(recipe, steps=min(10, recipe.steps))
    for arm in arms:
        for some in (seeds, seeds[:1]):
            train_seeds(task, arm.spec, arm.head_dim, some, warm)
    times = {arm: ([], []) for arm in arms}
    for _ in range(rounds):
        for arm in arms:
            stacked, loop = times[arm]
            stacked.append(seconds(lambda arm=arm: train_seeds(task, arm.spec, arm.head_dim, seeds, recipe)))
            loop.append(seconds(lambda arm=arm: [train_seeds(task, arm.spec, arm.head_dim, [seed], recipe) for seed in seeds]))
            progress(arm)
    return [
        {
            "arm": str(arm),
            "mixer": str(arm.spec),
            "head_dim": arm.head_dim,
            "ratio": median([b / a for a, b in zip(stacked, loop, strict=True)]),
            "seconds": median(stacked),
        }
        for arm, (stacked, loop) in times.items()
    ]


def seconds(function):
    """Wall seconds of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def yardstick(repeats=5, size=1024):
    """GFLOP a process-second of a float32 size^3 matrix product on one thread, the best of `repeats`."""
    import torch

    torch.set_num_threads(1)
    a = torch.ones(size, size)
    a @ a
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        a @ a
        best = min(best, time.process_time() - start)
    return 2 * size**3 / best / 1e9

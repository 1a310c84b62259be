"""Measures this suite: each figure is a ratio of two things timed in turn, in one process, on one thread."""

from __future__ import annotations

import time
from dataclasses import replace

from attnprobe.probes.memory import keep_freed_memory
from attnprobe.probes.stats import median
from attnprobe.probes.train import BLOCK, Training, train_seeds


def training(task, arms, seeds, recipe, rounds, progress=lambda arm: None):
    """For each Arm: {arm, mixer, head_dim, ratio, seconds}: the median over rounds of loop time / stacked time, and stacked seconds.

    Every round trains each arm once as a stack and once seed by seed, evaluation and data included, so that drift of the
    machine falls on both sides. One torch thread.
    """
    import torch

    keep_freed_memory()
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
            "ratio": median(ratios(loop, stacked)),
            "seconds": median(stacked),
        }
        for arm, (stacked, loop) in times.items()
    ]


def like_zoology(task, arms, steps, rounds):
    """For each Arm: {arm, mixer, seconds, yardstick, scaled, ratio}: one optimiser step of one seed of a ZoologyBasic task.

    seconds: process seconds a step, the median over rounds, without the data that an earlier arm has drawn; yardstick: see there,
    measured between the rounds; scaled: seconds at Zoology's yardstick; ratio: scaled over the middle of Zoology's own. One thread.
    """
    import torch

    from attnprobe.probes.zoology import SECONDS, YARDSTICK

    keep_freed_memory()
    torch.set_num_threads(1)
    recipe = replace(task.recipe, steps=steps * (rounds + 1))
    runs = {arm: Training(task, arm.spec, arm.head_dim, (0,), recipe, "cpu", None) for arm in arms}
    times, speeds = {arm: [] for arm in arms}, [yardstick()]
    for round_ in range(rounds + 1):
        for arm, run in runs.items():
            start = time.process_time()
            for first in range(round_ * steps, (round_ + 1) * steps, BLOCK):
                run.block(first, min(first + BLOCK, (round_ + 1) * steps))
            times[arm].append((time.process_time() - start) / steps)
        speeds.append(yardstick())
    speed = median(speeds)
    found = []
    for arm, spent in times.items():
        seconds = median(spent[1:])  # the first round warms up
        scaled = seconds * speed / YARDSTICK
        own = {"seconds": seconds, "yardstick": speed, "scaled": scaled, "ratio": scaled / median(SECONDS)}
        found.append({"arm": str(arm), "mixer": str(arm.spec)} | own)
    return found


def bias(lengths, rows, rounds):
    """For each T: {T, forward, both}: FPA's bias over the softmax of equally many scores (rows, T, T), one thread.

    forward, and both passes (both): the median over rounds of the time of the one divided by the time of the other; rounds
    alternate the four, so that each finds the cache as the others leave it, as in training.
    """
    import torch

    from attnprobe.kernels.fpa import path_bias

    keep_freed_memory()
    torch.set_num_threads(1)
    found = []
    for T in lengths:
        generator = torch.Generator().manual_seed(0)
        phi, psi = (torch.randn(rows, T, generator=generator).cumsum(-1).requires_grad_() for _ in "ab")
        beta = torch.ones(rows, 1, 1, requires_grad=True)
        scores, grad = (torch.randn(rows, T, T, generator=generator) for _ in "ab")
        scores.requires_grad_()
        pieces = {
            "softmax": lambda scores=scores: scores.softmax(-1),
            "fpa": lambda phi=phi, psi=psi, beta=beta, T=T: path_bias(phi, psi, beta, T),
        }
        inputs = {"softmax": (scores,), "fpa": (phi, psi, beta)}
        times = {(name, both): [] for name in pieces for both in (False, True)}
        for _ in range(rounds + 1):
            for (name, both), spent in times.items():
                start = time.process_time()
                out = pieces[name]()
                if both:
                    torch.autograd.grad(out, inputs[name], grad)
                spent.append(time.process_time() - start)
        forward, both = (median(ratios(times["fpa", x][1:], times["softmax", x][1:])) for x in (False, True))
        found.append({"T": T, "forward": forward, "both": both})
    return found


def ratios(a, b):
    """Element by element."""
    return [x / y for x, y in zip(a, b, strict=True)]


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

"""`--dry-run`: the arms of a run, what is stored, and what the rest would cost, measured on a few steps."""

import time

from rich import box
from rich.table import Table

WARM, TIMED = 5, 20  # steps


def step_seconds(task, arm, seeds, recipe, device, threads, warm=WARM, timed=TIMED):
    """Seconds a training step of the stacked seeds takes here: the median of `timed` steps after `warm`."""
    import torch

    from attnprobe.probes.loading import blaming
    from attnprobe.probes.stats import median

    torch.set_num_threads(threads)
    with blaming(task, [arm.spec]):
        return median(step_times(task, arm, seeds, recipe, device, warm + timed)[warm:])


def step_times(task, arm, seeds, recipe, device, steps):
    """Seconds of each of the first steps of the stacked seeds."""
    from attnprobe.probes.train import Training

    training = Training(task, arm.spec, arm.head_dim, seeds, recipe, device, None)
    data, B = training.data(0), recipe.batch
    times = []
    for i in range(steps):
        start = time.perf_counter()
        _, norms = training.step(data.examples(i * B, (i + 1) * B), 0)
        norms.sum().item()  # waits for a device
        times.append(time.perf_counter() - start)
    return times


def wall(costs, workers):
    """(seconds, jobs side by side) of jobs that take `costs` seconds each, at best."""
    side_by_side = max(1, min(workers, len(costs)))
    return max([sum(costs) / side_by_side, *costs]), side_by_side


def show(task, arms, seeds, recipe, store, device, threads, fresh, workers):
    """Print the plan."""
    from attnprobe.cli.shell import console
    from attnprobe.probes.run import Job, lacking, stored, trained_alike

    held = {arm: {} for arm in arms} if fresh else stored(task, arms, seeds, recipe, device, store)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, justify in {"arm": "left", "d": "right", "stored": "right", "to train": "right", "estimate": "right"}.items():
        table.add_column(heading, justify=justify)
    missing, estimates, costs = lacking(arms, seeds, held), {}, []
    for job in (Job(task, group, recipe, device, threads, str(store.root)) for group in trained_alike(missing)):
        costs.append(recipe.steps * step_seconds(task, job.arm, job.seeds, recipe, device, threads))
        estimates |= dict.fromkeys(job.missing, "with the former") | {job.arm: f"{costs[-1]:.1f} s"}
    for arm in arms:
        cells = str(arm.head_dim), f"{len(held[arm])} of {len(seeds)}", str(len(missing.get(arm, ()))), estimates.get(arm, "-")
        table.add_row(f"{arm.name}{' (control)' * arm.control}", *cells)
    out = console()
    out.print(table)
    if not costs:
        out.print(f"all is stored, and nothing is to be trained. Results: {store.root}", highlight=False)
        return
    seconds, side_by_side = wall(costs, workers)
    out.print(
        f"{sum(costs):.0f} s of training, about {seconds:.0f} s with {side_by_side} worker{'s' * (side_by_side > 1)}, "
        f"measured on {TIMED} steps an arm; evaluation and start-up come on top. Results: {store.root}",
        highlight=False,
    )

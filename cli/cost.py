"""What runs would cost, measured on a few steps of every arm, and what of them is stored."""

import time
from dataclasses import replace
from types import SimpleNamespace

LONG = 60  # seconds of training; a shorter run is started without a word
SHORT = LONG / 4  # if all were like the first arm: the others, taken not to be four times slower, are not measured
FEW = 4_000_000  # tokens in training a worker that take no LONG: the slowest arm of the suite's tasks reads 77,000 a second
GLANCE = {"warm": 2, "timed": 5}  # steps
STOPPED = "evaluation comes on top, and what is finished is kept if you stop it"


class Meter:
    """Seconds of trainings, from a few steps of each kind."""

    def __init__(self, **steps):
        self.steps, self.known = steps, {}

    def __call__(self, job):
        """Seconds of one Job."""
        from attnprobe.cli.dry_run import step_seconds

        kind = job.task, job.arm.spec.trained, job.arm.head_dim, len(job.seeds), job.recipe.batch
        if kind not in self.known:
            self.known[kind] = step_seconds(job.task, job.arm, job.seeds, job.recipe, job.device, job.threads, **self.steps)
        return job.recipe.steps * self.known[kind]


def trainings(task, arms, seeds, recipe, store, device="cpu", threads=1, fresh=False):
    """The Jobs of a run: what its store lacks."""
    from attnprobe.probes.run import Job, lacking, stored, trained_alike

    held = {arm: {} for arm in arms} if fresh else stored(task, arms, seeds, recipe, device, store)
    return [Job(task, group, recipe, device, threads, str(store.root)) for group in trained_alike(lacking(arms, seeds, held))]


def stages(task, arms, seeds, recipe, store, grid=None, **where):
    """The Jobs of a run, in lists that are trained one after the other: a list, or with a grid one a rate and one of the reported seeds.

    grid: of lr_grid.read. The rate of the reported seeds is not known yet: those are counted that the store lacks where it holds most.
    """
    from attnprobe.probes.run import trained_alike

    if grid is None:
        return [trainings(task, arms, seeds, recipe, store, **where)]
    rates, selection = grid

    def at(lr, some, ids):
        return trainings(task, some, ids, replace(recipe, lr=lr), store, **where)

    alike = [tuple(group) for group in trained_alike(dict.fromkeys(arms, seeds))]
    reported = [min((at(lr, group, seeds) for lr in rates), key=lacks) for group in alike]
    return [*(at(lr, arms, selection) for lr in rates), [job for jobs in reported for job in jobs]]


def jobs(task, arms, seeds, recipe):
    """The Jobs of arms that are trained whatever a store holds, one after the other, in this process."""
    from attnprobe.probes.run import Job

    return [[Job(task, {arm: seeds}, recipe, "cpu", 1, "")] for arm in arms]


def lacks(jobs):
    """How many seeds Jobs train."""
    return sum(len(seeds) for job in jobs for seeds in job.missing.values())


def elapsed(costs, workers):
    """(seconds, how many pools of workers are started, most workers side by side): costs: seconds a Job, in a list a stage."""
    from attnprobe.cli.dry_run import wall

    walls = [wall(stage, workers) for stage in costs if stage]
    return sum(seconds for seconds, _ in walls), sum(n > 1 for _, n in walls), max((n for _, n in walls), default=1)


def startup():
    """Seconds until a worker can train, measured on one that has nothing to do."""
    from attnprobe.probes.run import Silent
    from attnprobe.probes.workers import in_processes

    start = time.perf_counter()
    list(in_processes(ready, [SimpleNamespace(arm="nothing")], 1, Silent()))
    return time.perf_counter() - start


def ready(job, progress):
    """What a worker does before its first training."""
    from attnprobe.probes.run import warm_up

    warm_up("cpu")


def estimate(runs, seeds, store, workers, grid=None):
    """Yield a line a run and one for all. runs: (title, task, arms, recipe)."""
    from attnprobe.cli.dry_run import TIMED

    meter, costs = Meter(), []
    for title, task, arms, recipe in runs:
        jobs = stages(task, arms, seeds, recipe, store, grid)
        costs += (own := [[meter(job) for job in stage] for stage in jobs])
        asked = len(arms) * (len(seeds) + (len(grid[0]) * len(grid[1]) if grid else 0))
        seconds = sum(map(sum, own))
        left = f", about {seconds:.0f} s of training" if seconds else ""
        there = asked - sum(map(lacks, jobs))
        yield f"{title}: {len(arms)} arm{'s' * (len(arms) > 1)}, {there} of {asked} seeds stored{left}"
    if total := sum(map(sum, costs)):
        seconds, pools, most = elapsed(costs, workers)
        start = pools * startup() if pools else 0.0
        side_by_side = f", about {seconds + start:.0f} s with {most} workers, {start:.0f} s of it their start-up" if pools else ""
        among = f"; {len(grid[0])} rates on {len(grid[1])} selection seeds are in it" if grid else ""
        yield f"{total:.0f} s of training{side_by_side}, measured on {TIMED} steps an arm{among}; evaluation comes on top"


def warning(jobs, workers, after=STOPPED, leave=False, few=None):
    """A line that says how long Jobs, in lists that follow each other, will take, measured; None where that is not LONG.

    after: what is said last; leave: seeds may leave before the last step; few: tokens a worker that take no LONG, by default FEW.
    """
    from attnprobe.cli.dry_run import wall

    every = [job for stage in jobs for job in stage]
    tokens = sum(len(job.seeds) * job.recipe.steps * job.recipe.batch * job.task.model.seq_len for job in every)
    if not every or tokens < (FEW if few is None else few) * min(workers, max(map(len, jobs))):
        return None
    meter = Meter(**GLANCE)
    if wall([meter(every[0])] * len(every), workers)[0] < SHORT:
        return None
    seconds, pools, most = elapsed([[meter(job) for job in stage] for stage in jobs], workers)
    if seconds <= LONG:
        return None
    seconds += pools * startup() if pools else 0.0
    count, with_workers = f"{len(every)} training{'s' * (len(every) > 1)}", f"{most} worker{'s' * (most > 1)}"
    early = ", less where seeds leave early" * leave
    return f"{count}: about {duration(seconds)} with {with_workers}, measured on {GLANCE['timed']} steps each{early}; {after}"


def repeated(measure, times):
    """A line that says how long `times` calls will take, measured on one of them; None where that is not LONG."""
    start = time.perf_counter()
    measure()
    seconds = times * (time.perf_counter() - start)
    return f"about {duration(seconds)}, measured on its first rounds" if seconds > LONG else None


def duration(seconds):
    """90 s, 12 min, 3.5 h."""
    for size, unit, least in ((3600, "h", 2), (60, "min", 2)):
        if seconds >= least * size:
            value = seconds / size
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{seconds:.0f} s"

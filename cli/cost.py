"""What runs would cost, measured on a few steps of every arm, and what of them is stored."""

LONG = 60  # seconds of training; a shorter run is started without a word
SHORT = LONG / 4  # if all were like the first arm: the others, taken not to be four times slower, are not measured
FEW = 4_000_000  # tokens in training a worker that take no LONG: the slowest arm of the suite's tasks reads 77,000 a second
GLANCE = {"warm": 2, "timed": 5}  # steps


def estimate(runs, seeds, store, workers):
    """Yield a line a run and one for all. runs: (title, task, arms, recipe)."""
    from attnprobe.cli.dry_run import TIMED, step_seconds
    from attnprobe.probes.run import Job, lacking, stored, trained_alike

    total = 0.0
    for title, task, arms, recipe in runs:
        held = stored(task, arms, seeds, recipe, "cpu", store)
        jobs = (Job(task, group, recipe, "cpu", 1, str(store.root)) for group in trained_alike(lacking(arms, seeds, held)))
        seconds = sum(recipe.steps * step_seconds(task, job.arm, job.seeds, recipe, "cpu", 1) for job in jobs)
        there = sum(map(len, held.values()))
        total += seconds
        left = f", about {seconds:.0f} s of training" if seconds else ""
        yield f"{title}: {len(arms)} arm{'s' * (len(arms) > 1)}, {there} of {len(arms) * len(seeds)} seeds stored{left}"
    if total:
        side_by_side = f", about {total / workers:.0f} s with {workers} workers" if workers > 1 else ""
        yield f"{total:.0f} s of training{side_by_side}, measured on {TIMED} steps an arm; evaluation and start-up come on top"


def warning(task, arms, seeds, recipe, device, threads, fresh, workers, store):
    """A line that says what is to be trained and how long it will take, measured; None where that is not LONG."""
    from attnprobe.cli.dry_run import step_seconds, wall
    from attnprobe.probes.run import Job, lacking, stored, trained_alike

    held = {arm: {} for arm in arms} if fresh else stored(task, arms, seeds, recipe, device, store)
    jobs = [Job(task, group, recipe, device, threads, str(store.root)) for group in trained_alike(lacking(arms, seeds, held))]
    if sum(len(job.seeds) for job in jobs) * recipe.steps * recipe.batch * task.model.seq_len < FEW * min(workers, len(jobs)):
        return None
    costs = []
    for job in jobs:
        costs.append(recipe.steps * step_seconds(task, job.arm, job.seeds, recipe, device, threads, **GLANCE))
        if wall([costs[0]] * len(jobs), workers)[0] < SHORT:
            return None
    seconds, side_by_side = wall(costs, workers)
    if seconds <= LONG:
        return None
    trainings, with_workers = f"{len(jobs)} training{'s' * (len(jobs) > 1)}", f"{side_by_side} worker{'s' * (side_by_side > 1)}"
    return (
        f"{trainings}: about {duration(seconds)} with {with_workers}, measured on {GLANCE['timed']} steps each"
        f"{', less where seeds leave early' * task.leave}; evaluation comes on top, and what is finished is kept if you stop it"
    )


def duration(seconds):
    """90 s, 12 min, 3.5 h."""
    for size, unit, least in ((3600, "h", 2), (60, "min", 2)):
        if seconds >= least * size:
            value = seconds / size
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{seconds:.0f} s"

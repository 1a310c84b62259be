"""What several runs would cost, measured on a few steps of every arm, and what of them is stored."""


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

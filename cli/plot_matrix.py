"""What `probe plot matrix` does: find the stored cells of tasks by mechanisms, hold them against theory, write the figure."""

import dataclasses
import shlex
from collections import Counter

from attnprobe.cli import inputs
from attnprobe.cli.matrix import cell, plan
from attnprobe.cli.matrix_command import split
from attnprobe.cli.plot_options import asked
from attnprobe.cli.plots import output, stored
from attnprobe.probes.named_mixers import NAMED, named
from attnprobe.probes.run import ArmResult
from attnprobe.probes.tasks import TASKS

MOST = 16  # columns that are drawn unasked: more are narrower than their numbers
USUAL_SEEDS = "5"  # of a matrix that is proposed


def draw_matrix(tasks, mixers, seeds, steps, store, out):
    """Read the stored cells, draw."""
    from attnprobe.cli.plots import matrix

    output.check_path(out)
    names = tuple(dict.fromkeys(split(tasks) if tasks is not None else TASKS))
    found = {name: stored.find(store, question(TASKS[name](), seeds, steps)) for name in names}
    every = tuple(dict.fromkeys(named(text) for text in split(mixers))) if mixers is not None else there(found.values())
    chosen = every if mixers is not None else every[:MOST]
    cells = {name: stored_cells(one, chosen) for name, one in found.items()}
    kept = [name for name in names if any(not one["refused"] for one in cells[name])]
    if not kept:
        options = {"--tasks": tasks, "--mixers": mixers, "--seeds": seeds or USUAL_SEEDS, "--steps": steps, "--store": store}
        line = shlex.join(
            ["probe", "matrix", *(word for flag, value in options.items() if value is not None for word in (flag, str(value)))]
        )
        raise ValueError(f"{stored.absent(found.values(), store, 'cell of this matrix')}; {line} makes them")
    drawn = [found[name] for name in kept]
    ids = inputs.seeds(seeds) if seeds is not None else stored.union(drawn)
    if None in (tasks, mixers, seeds):
        more = [mixer.name for mixer in every[MOST:]] if mixers is None else []
        beside = ", ".join([*([text] if (text := stored.others(found.values())) else []), *more])
        stored.told(f"{', '.join(mixer.name for mixer in chosen)} on {', '.join(kept)}; seeds {stored.spans(ids)}", beside)
    stored.passed(found.values(), store)
    shown = names if tasks is not None else kept
    made = {
        "seeds": ids,
        "mixers": [dataclasses.asdict(mixer) for mixer in chosen],
        "tasks": shown,
        "cells": [one for name in shown for one in cells[name]],
    }
    output.made(matrix.draw(matrix.gather(made, next((one.cut for one in drawn if one.cut), ""))), out)


def question(task, seeds, steps):
    """What the matrix asks of a task's results: its own options and head dimension."""
    return asked(task, {"head_dim": task.head_dim, "steps": steps}, None, seeds)


def there(found):
    """The mechanisms with any stored cell: the named ones in their order, then the others, those of most tasks first."""
    used, others = set(), Counter()
    for one in found:
        arms, specs = plan(one.asked.task, NAMED).arms, {str(arm.spec) for arm in one.arms}
        used |= {mixer for mixer, arm in arms.items() if str(arm.spec) in specs}
        others.update(sorted(specs - {str(arm.spec) for arm in arms.values()}))
    return (*(mixer for mixer in NAMED if mixer in used), *(named(text) for text, _ in others.most_common()))


def stored_cells(found, mixers):
    """A task's cells that are stored, and those that the task refuses."""
    row, specs = plan(found.asked.task, mixers), {str(arm.spec) for arm in found.arms}
    results = {mixer: ArmResult(arm, found.records(arm)[None], 0) for mixer, arm in row.arms.items() if str(arm.spec) in specs}
    return [cell(row, mixer, results.get(mixer)) for mixer in mixers if mixer in results or mixer in row.refused]

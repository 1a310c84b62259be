"""What `probe plot ladder` and `probe plot matrix` do: find stored results, hold them against theory, write the figure."""

import dataclasses
import shlex

from attnprobe.cli import inputs
from attnprobe.cli.plots import output, stored
from attnprobe.probes.tasks import TASKS


def draw_ladder(arm, head_dim, slot, seeds, steps, store, out):
    """Read every stored r of the ladder, draw."""
    from attnprobe.cli.plots import ladder

    output.check_path(out)
    task, ids = TASKS["ladder"], inputs.seeds(seeds)
    if slot not in ("balanced", "plain"):
        raise ValueError(f"--slot must be balanced or plain, not {slot!r}")
    arms = inputs.arms(task(), arm, inputs.head_dim(head_dim, "--head-dim"), None, control=False)
    if other := [str(one) for one in arms if one.head_dim != head_dim]:
        raise ValueError(f"--arm {other[0]}: all arms are drawn at one head dimension, {head_dim}; give it by --head-dim")
    records = stored.told(store, "ladder")
    found = {one.name: {} for one in arms}
    for r in sorted({record["identity"]["options"]["r"] for record in records.values()}):
        at = task(r=r, slot=slot)
        for one, held in stored.pick(records, at, arms, ids, recipe(at, steps)).items():
            found[one.name][r] = list(held.values())
    if not any(found.values()):
        changed = {"head_dim": head_dim} if head_dim != task.head_dim else {}
        changed |= {"steps": steps} if steps is not None else {}
        line = stored.run_line(["run"], task(r=6, slot=slot), {"r": 6, "arm": arm or [], **changed, "seeds": seeds, "store": store})
        raise ValueError(f"{store} holds no run of the ladder for these arms and seeds; make some, at several r: {line}")
    output.made(ladder.draw(ladder.gather(found, head_dim, slot)), out)


def draw_matrix(tasks, mixers, seeds, steps, store, out):
    """Read the stored cells, draw."""
    from attnprobe.cli.matrix import plan
    from attnprobe.cli.matrix_command import split
    from attnprobe.cli.plots import matrix
    from attnprobe.probes.named_mixers import NAMED, named

    output.check_path(out)
    ids = inputs.seeds(seeds)
    chosen = tuple(dict.fromkeys(named(text) for text in split(mixers))) if mixers is not None else NAMED
    names = tuple(dict.fromkeys(split(tasks) if tasks is not None else TASKS))
    rows = [plan(TASKS[name](), chosen) for name in names]
    cells = {row.task.name: stored_cells(row, chosen, ids, steps, stored.told(store, row.task.name)) for row in rows}
    there = [name for name in names if any(not cell["refused"] for cell in cells[name])]
    if not there:
        asked = {"--tasks": tasks, "--mixers": mixers, "--seeds": seeds, "--steps": steps, "--store": store}
        line = shlex.join(["probe", "matrix", *(word for flag, value in asked.items() if value is not None for word in (flag, str(value)))])
        raise ValueError(f"{store} holds no cell of this matrix; {line} makes them")
    kept = names if tasks is not None else there
    made = {
        "seeds": ids,
        "mixers": [dataclasses.asdict(mixer) for mixer in chosen],
        "tasks": kept,
        "cells": [cell for name in kept for cell in cells[name]],
    }
    output.made(matrix.draw(matrix.gather(made)), out)


def stored_cells(row, mixers, seeds, steps, records):
    """A row's cells that are stored, and those that the task refuses."""
    from attnprobe.cli.matrix import cell
    from attnprobe.probes.run import ArmResult

    found = stored.pick(records, row.task, row.distinct, seeds, recipe(row.task, steps))
    results = {mixer: ArmResult(row.arms[mixer], found[row.arms[mixer]], 0) for mixer in mixers if row.arms.get(mixer) in found}
    return [cell(row, mixer, results.get(mixer)) for mixer in mixers if mixer in results or mixer in row.refused]


def recipe(task, steps):
    """A task's recipe, with another number of steps where one is given."""
    return task.recipe if steps is None else dataclasses.replace(task.recipe, steps=steps)

"""A matrix as one value: named mechanisms by tasks, how many seeds each cell solves, and what theory says of it."""

from dataclasses import dataclass

from attnprobe.cli.lr_grid import RULE
from attnprobe.cli.report import contradiction, versions
from attnprobe.cli.verdict import verdict
from attnprobe.probes.named_mixers import form
from attnprobe.probes.run import Arm
from attnprobe.probes.spec import parse
from attnprobe.probes.stats import clopper_pearson, median

SCHEMA = 1
THEORY = {"can": "can", "bound": "cannot", "none": None}  # of doing all of the task, or exactly


@dataclass(frozen=True)
class Row:
    """One task's cells before training: mechanism -> its Arm here, or the reason why the task refuses it."""

    task: object
    arms: dict
    refused: dict

    @property
    def distinct(self):
        """The arms to train, each once."""
        return tuple(dict.fromkeys(self.arms.values()))


def plan(task, mixers):
    """The Row of a task."""
    arms, refused = {}, {}
    for mixer in mixers:
        try:
            spec = form(mixer, task)
            arms[mixer] = Arm(str(spec), spec, task.head_dim)
        except ValueError as error:
            refused[mixer] = str(error)
    return Row(task, arms, refused)


def cells(row, results, mixers):
    """A cell a mechanism, as plain data. results: ArmResults of the row's arms."""
    found = {result.arm: result for result in results}
    return [cell(row, mixer, found.get(row.arms.get(mixer))) for mixer in mixers]


def cell(row, mixer, result):
    """One cell; result: None where the task refuses the mechanism."""
    task = row.task
    blank = {
        "task": task.name, "mixer": mixer.name, "spec": None, "form": None, "head_dim": None, "solved": None, "n": None, "failed": [],
        "interval": None, "metric": task.metric, "median": None, "theory": None, "text": None, "seconds": 0.0, "refused": None,
    }  # fmt: skip
    if result is None:
        return blank | {"refused": row.refused[mixer]}
    outcome = {seed: record["result"] for seed, record in result.records.items()}
    values = [r["score"][task.metric] for r in outcome.values() if r["status"] != "failed"]
    solved, n = sum(r["status"] == "solved" for r in outcome.values()), len(outcome)
    said = verdict(task, result.arm)
    return blank | {
        "spec": str(result.arm.spec), "form": kind(mixer, result.arm.spec), "head_dim": result.arm.head_dim, "solved": solved, "n": n,
        "failed": [seed for seed, r in outcome.items() if r["status"] == "failed"], "interval": list(clopper_pearson(solved, n)),
        "median": median(values) if values else None, "theory": THEORY["none" if said.assumption else said.kind], "text": said.text,
        "seconds": sum(record["recorded"]["seconds"] for record in result.records.values()),
    }  # fmt: skip


def kind(mixer, spec):
    """ "usual" form of a mechanism, "other" form, or "rotary": with positions that it does not name."""
    written = [str(parse(text)) for text in mixer.forms]
    return "rotary" if str(spec) not in written else "usual" if str(spec) == written[0] else "other"


def build(rows, results, mixers, seeds):
    """The matrix. results: ArmResults a row."""
    found = [result for arms in results for result in arms]
    return {
        "schema": SCHEMA,
        "seeds": list(seeds),
        "versions": versions(found),
        "mixers": [{"name": mixer.name, "forms": list(mixer.forms), "what": mixer.what} for mixer in mixers],
        "tasks": [row.task.name for row in rows],
        "cells": [one for row, arms in zip(rows, results, strict=True) for one in cells(row, arms, mixers)],
        "contradictions": [line for row, arms in zip(rows, results, strict=True) for r in arms if (line := contradiction(row.task, r))],
    }


def with_rates(made, grid, points):
    """A matrix with the learning rates that were chosen, and every point; grid: of lr_grid.read, or None."""
    if grid is None:
        return made | {"lr_grid": None}
    rates = {(point["task"], point["mixer"]): point["lr"] for point in points if point["chosen"]}
    cells = [cell | {"lr": rates.get((cell["task"], cell["spec"]))} for cell in made["cells"]]
    return made | {"cells": cells, "lr_grid": {"rates": list(grid[0]), "seeds": list(grid[1]), "rule": RULE, "points": points}}

"""Whether what a task declares of itself holds: the rules that solve it from its tokens, and what readers of less score."""

from __future__ import annotations

import torch

from attnprobe.probes.batch import stack
from attnprobe.probes.checks.findings import Failed, Note
from attnprobe.probes.judging import over_chunks
from attnprobe.probes.streams import stream

READ = 8192  # sequences that readers read
NEAR = 0.02  # of the score that a reader is stated to have: over 3 standard deviations of a share of READ
EXACT = 1e-6  # of a perfect score


def readers(task):
    """The exact reader scores perfectly, or the Bayes reader as stated, and solves; every shortcut scores as stated and does not."""
    if not task.readers:
        return Note("the task declares no `readers`: neither an exact reader nor shortcuts were tried")
    if not task.readers.keys() & {"exact", "bayes"}:
        names = ", ".join(task.readers)
        raise Failed(
            f"readers name {names} and no 'exact' one, which solves the task from its tokens, or 'bayes', where they leave a doubt"
        )
    told = []
    for name, (rule, stated) in task.readers.items():
        score = over_chunks(task, read(task, rule))
        check_reader(task, name, score, stated)
        told.append(f"{name} {round(score[task.metric].item(), 9):.3g}")
    return f"{task.metric}: {', '.join(told)}"


def read(task, rule):
    """(stacked Batch, scores) of a rule on each chunk of an evaluation."""
    for batch in task.evaluation(stream(0, "test"), READ):
        stacked = stack([batch], "cpu", torch.float64)
        yield stacked, task.score(task.as_output(rule(batch)), stacked)


def check_reader(task, name, score, stated):
    """Raise Failed unless a reader that is to solve the task does, and a shortcut does not, each with the score that it is to have."""
    got, solved = score[task.metric].item(), bool(torch.as_tensor(task.solved(score)).all())
    if name == "exact":
        perfect = 0.0 if task.better == "low" else 1.0
        if abs(got - perfect) > EXACT or not solved:
            raise Failed(f"the exact reader has {task.metric} {got:.6g}, not {perfect:g}: target and tokens disagree")
        return
    who = "the bayes reader" if name == "bayes" else f"the shortcut {name}"
    if abs(got - stated) > NEAR:
        raise Failed(f"{who} has {task.metric} {got:.3g}, where {stated:g} is stated")
    if solved != (name == "bayes"):
        raise Failed(f"{who} {'solves' if solved else 'does not solve'} the task with {task.metric} {got:.3g}")

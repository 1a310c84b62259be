"""The learning rate of an arm, chosen on seeds that are not reported: never the best of the seeds that are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from attnprobe.probes.stats import median


@dataclass(frozen=True)
class Point:
    """An arm's outcome at one learning rate on the selection seeds. median: of the metric, over seeds that did not fail, or None."""

    lr: float
    solved: int
    median: float | None
    results: dict


def choose(points, better):
    """The Point that is chosen: most seeds solved, then the better median ("low" or "high"; none is worst), then the smaller rate."""
    sign = -1 if better == "high" else 1

    def rank(point):
        return -point.solved, math.inf if point.median is None else sign * point.median, point.lr

    return min(points, key=rank)


def search(task, arms, rates, seeds, recipe, train):
    """Arm -> [Point], one a rate. train: (arms, seeds, recipe) -> ArmResults."""
    points = {arm: [] for arm in arms}
    for lr in rates:
        for result in train(arms, seeds, replace(recipe, lr=lr)):
            points[result.arm].append(point(task, lr, result))
    return points


def point(task, lr, result):
    """The Point of an ArmResult."""
    found = {seed: record["result"] for seed, record in result.records.items()}
    values = [r["score"][task.metric] for r in found.values() if r["status"] != "failed"]
    return Point(lr, sum(r["status"] == "solved" for r in found.values()), median(values) if values else None, found)


def report_on(arms, chosen, seeds, recipe, train):
    """ArmResults in the order of the arms, each trained at the rate that `chosen` (Arm -> lr) gives it."""
    found = {}
    for lr in sorted(set(chosen.values())):
        alike = [arm for arm in arms if chosen[arm] == lr]
        found |= {result.arm: result for result in train(alike, seeds, replace(recipe, lr=lr))}
    return [found[arm] for arm in arms]

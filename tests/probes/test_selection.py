"""A learning rate is chosen by selection seeds alone: by solved count, then the median, then the smaller rate."""

from dataclasses import replace

import pytest

from attnprobe.probes.run import Arm, ArmResult
from attnprobe.probes.selection import Point, choose, report_on, search
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks import TASKS

TASK = TASKS["ladder"](r=4)
ARMS = [Arm(name, parse(name), 4) for name in ("fpa", "rope")]


@pytest.mark.parametrize(
    ("points", "better", "expected"),
    [
        ([(0.003, 2, 0.5), (0.01, 3, 0.9)], "low", 0.01),  # more seeds solved, though a worse median
        ([(0.003, 3, 0.5), (0.01, 3, 0.4)], "low", 0.01),  # the better median
        ([(0.003, 3, 0.5), (0.01, 3, 0.4)], "high", 0.003),
        ([(0.01, 3, 0.4), (0.003, 3, 0.4)], "low", 0.003),  # the smaller rate
        ([(0.003, 0, None), (0.01, 0, 9.0)], "low", 0.01),  # all seeds failed: worst
        ([(0.003, 0, None), (0.01, 0, 0.0)], "high", 0.01),
    ],
)
def test_the_order_of_choice(points, better, expected):
    assert choose([Point(*point, {}) for point in points], better).lr == expected


def record(seed, status, kl):
    return {"result": {"seed": seed, "status": status, "score": {"kl": kl} if status != "failed" else {}}}


def trainer(asked, kl_of):
    """A stand-in for training, which writes down what it was asked for."""

    def train(arms, seeds, recipe):
        asked.append((recipe.lr, tuple(arm.name for arm in arms), tuple(seeds)))
        kls = {(arm, seed): kl_of(arm.name, recipe.lr, seed) for arm in arms for seed in seeds}
        return [
            ArmResult(arm, {s: record(s, "solved" if kls[arm, s] <= 0.1 else "unsolved", kls[arm, s]) for s in seeds}, 0) for arm in arms
        ]

    return train


def test_what_the_reported_seeds_do_does_not_move_the_choice():
    """rope is better at .003 on selection seeds 1000.., and at .01 on the reported 100..; .003 is chosen. fpa: .01 everywhere."""

    def kl_of(name, lr, seed):
        good = 0.01 if name == "fpa" else (0.003 if seed >= 1000 else 0.01)
        return 0.05 if lr == good else 0.5

    asked = []
    train = trainer(asked, kl_of)
    points = search(TASK, ARMS, (0.003, 0.01), (1000, 1001), TASK.recipe, train)
    assert asked == [(0.003, ("fpa", "rope"), (1000, 1001)), (0.01, ("fpa", "rope"), (1000, 1001))]
    chosen = {arm: choose(found, "low").lr for arm, found in points.items()}
    assert {arm.name: lr for arm, lr in chosen.items()} == {"fpa": 0.01, "rope": 0.003}
    asked.clear()
    results = report_on(ARMS, chosen, (100, 101), TASK.recipe, train)
    assert asked == [(0.003, ("rope",), (100, 101)), (0.01, ("fpa",), (100, 101))]
    assert [result.arm.name for result in results] == ["fpa", "rope"]
    assert [r["result"]["status"] for r in results[1].records.values()] == ["unsolved", "unsolved"]  # reported as it is


def test_a_failed_seed_counts_as_unsolved_and_not_in_the_median():
    def train(arms, seeds, recipe):
        return [ArmResult(arm, {0: record(0, "failed", None), 1: record(1, "solved", 0.02)}, 0) for arm in arms]

    (point,) = search(TASK, ARMS[:1], (0.01,), (0, 1), replace(TASK.recipe), train)[ARMS[0]]
    assert (point.solved, point.median) == (1, 0.02)

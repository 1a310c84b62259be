"""Swapped routings: weights trained once and judged under each, stored apart, and trained again only for what is missing."""

import time
from dataclasses import dataclass, replace

import pytest
import torch

from attnprobe.probes import train
from attnprobe.probes.run import Arm, Silent, run_probe, trained_alike
from attnprobe.probes.spec import parse
from attnprobe.probes.store import Store
from attnprobe.probes.tasks.latch import Latch
from attnprobe.probes.train import Training, train_once, train_seeds

TASK = Latch(seq_len=16, layers=2)
RECIPE = replace(TASK.recipe, steps=60, batch=4, warm_up=5)
SPECS = tuple(map(parse, ("rope", "rope>swa(w=4)", "rope>sa(w=4)", "rope>swa(w=16)", "rope>moba(block=4)")))
ARMS = [Arm(str(spec), spec, 16) for spec in SPECS]


def test_one_training_is_judged_under_each_routing():
    results = train_once(TASK, SPECS, 16, (0, 1), RECIPE)
    plain = train_seeds(TASK, SPECS[0], 16, (0, 1), RECIPE)
    assert results[SPECS[0]] == plain
    scores = {str(spec): [r["score"]["accuracy"] for r in found] for spec, found in results.items()}
    assert scores["rope>swa"] == scores["rope"]  # a window of all 16 tokens is full
    assert len({tuple(found) for found in scores.values()}) == 4
    for found in results.values():
        assert [(r["seed"], r["data_hash"], r["curve"]) for r in found] == [(r["seed"], r["data_hash"], r["curve"]) for r in plain]


def test_a_swapped_result_is_that_of_the_trained_weights_in_a_model_of_that_routing():
    t = Training(TASK, SPECS[0], 16, (0, 1), RECIPE, "cpu", None, SPECS)
    results = t.run(lambda step: None)
    swapped = Training(TASK, parse("rope+swa(w=4)"), 16, (0, 1), RECIPE, "cpu", None)
    swapped.stack.values.data.copy_(t.stack.values.data)
    swapped.journal.first_norms = t.journal.first_norms
    score = swapped.score(swapped.model, RECIPE.steps, ("test",), TASK.test_size)
    assert [r["score"]["accuracy"] for r in results[SPECS[1]]] == score["accuracy"].tolist()


@dataclass(frozen=True)
class Infinite(Latch):
    """A latch whose loss is infinite for the second seed of a stack."""

    def loss(self, output, batch):
        return super().loss(output, batch) * torch.where(torch.arange(len(output)) == 1, torch.inf, 1.0)


def test_a_seed_that_fails_in_training_fails_under_every_routing():
    results = train_once(Infinite(seq_len=16, layers=2), SPECS[:3], 16, (4, 7), replace(RECIPE, steps=2))
    for found in results.values():
        assert [r["status"] for r in found][1] == "failed"
        assert found[1]["failure"] == {"step": 0, "quantity": "loss"}
        assert found[0]["status"] == "unsolved"


@dataclass(frozen=True)
class Leaving(Latch):
    """A latch that every seed solves at the first evaluation."""

    leave = True

    def solved(self, score):
        return score["accuracy"] > 0


def test_a_seed_that_leaves_is_judged_under_every_routing_when_it_does():
    results = train_once(Leaving(seq_len=16, layers=2), SPECS[:3], 16, (4, 7), replace(RECIPE, steps=100))
    for found in results.values():
        assert [(r["status"], r["steps"]) for r in found] == [("solved", 50), ("solved", 50)]
    accuracies = {r["score"]["accuracy"] for found in results.values() for r in found}
    assert len(accuracies) == 6


class Watch(Silent):
    def __init__(self):
        self.started_with, self.done = [], []

    def started(self, arm, reused, missing):
        self.started_with.append((str(arm), reused, missing))

    def finished(self, arm):
        self.done.append(str(arm))


@pytest.fixture
def trainings(monkeypatch):
    """What train_once is called with: (specs, seeds) a call."""
    calls, real = [], train.train_once

    def counted(task, specs, head_dim, seeds, *rest):
        calls.append((tuple(map(str, specs)), seeds))
        return real(task, specs, head_dim, seeds, *rest)

    monkeypatch.setattr(train, "train_once", counted)
    return calls


def run(store, arms=ARMS, seeds=(0, 1), **options):
    watch = Watch()
    found = run_probe(TASK, arms, seeds, RECIPE, store, watch=watch, **options)
    return {str(r.arm): {seed: record["result"] for seed, record in r.records.items()} for r in found}, watch, found


def test_arms_that_share_training_are_trained_once_and_stored_apart(tmp_path, trainings):
    other, start = Arm("rope+swa(w=4)", parse("rope+swa(w=4)"), 16), time.perf_counter()
    results, watch, found = run(Store(tmp_path), [*ARMS, other])
    wall = time.perf_counter() - start
    assert [specs for specs, _ in trainings] == [tuple(map(str, SPECS)), ("rope+swa(w=4)",)]
    assert watch.done == [str(arm) for arm in [*ARMS, other]]
    assert len(list(tmp_path.rglob("*.json"))) == 12
    assert {record["identity"]["arm_name"] for r in found for record in r.records.values()} == {*map(str, SPECS), "rope+swa(w=4)"}
    seconds = [record["recorded"]["seconds"] for r in found[:5] for record in r.records.values()]
    assert len(set(seconds)) == 1  # of one training, shared evenly
    assert 0.2 * wall < sum(seconds) < wall
    again, watch, _ = run(Store(tmp_path), [*ARMS, other])
    assert again == results
    assert len(trainings) == 2
    assert watch.started_with[1] == ("rope>swa(w=4)@16", 2, 0)


def test_a_missing_swap_is_trained_again_for_its_seeds_alone_and_what_is_stored_stays(tmp_path, trainings):
    whole, _, found = run(Store(tmp_path))
    victims = [(r.arm, seed) for r, seed in ((found[1], 0), (found[4], 1))]
    before = {}
    for path in tmp_path.rglob("*.json"):
        before[path] = path.stat().st_mtime_ns
    for r, seed in ((found[1], 0), (found[4], 1)):
        Store(tmp_path).path(r.records[seed]["identity"]).unlink()
    again, watch, _ = run(Store(tmp_path))
    assert trainings[1:] == [(tuple(str(arm.spec) for arm, _ in victims), (0, 1))]
    assert again == whole
    kept = [path for path in before if path.stat().st_mtime_ns == before[path]]
    assert len(kept) == len(before) - 2
    assert watch.done == [str(arm) for arm, _ in victims]


def test_swapped_arms_train_in_workers_as_in_one_process(tmp_path):
    alone, _, _ = run(Store(tmp_path / "one"), [*ARMS[:2], Arm("rope+swa", parse("rope+swa(w=4)"), 16)])
    beside, _, _ = run(Store(tmp_path / "two"), [*ARMS[:2], Arm("rope+swa", parse("rope+swa(w=4)"), 16)], workers=2)
    assert beside == alone


def test_arms_are_trained_alike_where_they_differ_in_their_swap_alone():
    arms = [Arm(text, parse(text), d) for text, d in (("rope>sa", 16), ("fox", 16), ("rope", 16), ("rope>sa", 8), ("fox>swa", 16))]
    groups = trained_alike(dict.fromkeys(arms, (0,)))
    assert [[str(arm) for arm in group] for group in groups] == [["rope>sa@16", "rope@16"], ["fox@16", "fox>swa@16"], ["rope>sa@8"]]


def test_the_first_of_a_group_need_not_be_what_is_trained(tmp_path):
    swapped, _, _ = run(Store(tmp_path / "swapped"), [ARMS[1]])
    whole, _, _ = run(Store(tmp_path / "whole"))
    assert swapped[str(ARMS[1])] == whole[str(ARMS[1])]

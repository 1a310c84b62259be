"""`check_task` passes the suite's tasks, and catches each kind of wrong task with a line that says what and where."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from attnprobe.probes.checks.readers import readers as read
from attnprobe.probes.checks.shortcut import share
from attnprobe.probes.checks.task import CHECKS, check_task, lines_run
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.copy import LENGTH, Copy
from attnprobe.probes.tasks.latch import Latch
from attnprobe.probes.tasks.mqar import Mqar

FAST = ("copy", "mqar", "ladder", "unanswerable", "latch", "flip-flop")


def failures(task):
    return {finding.check: finding.text for finding in check_task(task) if finding.status == "FAIL"}


@pytest.mark.parametrize("name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in TASKS])
def test_every_task_of_the_suite_passes_every_check(name):
    found = check_task(TASKS[name]())
    assert [finding.check for finding in found] == list(CHECKS)
    assert not [finding for finding in found if finding.status == "FAIL"]


READERS = [
    *((name, {}) for name in TASKS),
    *(("two-walks", {"r": r}) for r in (5, 12)),
    ("ladder", {"r": 20}),
    ("duration", {"durations": "fixed"}),
    ("push-pop", {"ask": "top"}),
    ("assignment", {"statements": "equations"}),
    ("latch", {"seq_len": 32}),
    ("topic", {"seq_len": 64}),
    ("recall", {"pairs": 5, "keys": 9, "values": 3}),
    ("sink", {"bos": "value"}),
    ("decoys", {"pairs": 20}),
    ("mqar", {"stacked": True}),
    ("mqar", {"vocabulary": 256, "pairs": 8, "seq_len": 64}),
]


@pytest.mark.parametrize(("name", "options"), READERS, ids=str)
def test_every_task_declares_a_reader_that_solves_it_and_shortcuts_that_score_what_it_says(name, options):
    """Raises Failed else. Only topic's tokens leave a doubt: no reader of it is perfect."""
    task = TASKS[name](**options)
    read(task)
    assert [reader for reader in ("exact", "bayes") if reader in task.readers] == ["bayes" if name == "topic" else "exact"]
    assert len(task.readers) >= 2


def test_what_could_not_be_asked_is_a_note():
    found = {finding.check: finding for finding in check_task(TASKS["ladder"]())}
    assert {check for check, finding in found.items() if finding.status == "note"} == {"leakage", "collisions"}
    assert found["readers"].text == "kl: exact 0, uniform 0.64"  # E log(10 / (1 + k)), k of 9 by coins
    assert failures(wrong(readers={})) == {}
    assert {finding.check: finding.status for finding in check_task(wrong(readers={}))}["readers"] == "note"
    found = {finding.check: finding for finding in check_task(Copy())}
    assert found["readers"].text.startswith("accuracy: exact 1, majority 0.06")
    assert {finding.check: finding.status for finding in check_task(Mqar())}["collisions"] == "ok"


def wrong(sample=None, base=Copy, **facts):
    """A task whose sample(rng, n) is sample(task, rng, n, right), right being the base's."""

    @dataclass(frozen=True)
    class Wrong(base):
        def sample(self, rng, n):
            right = super().sample
            return sample(self, rng, n, right) if sample else right(rng, n)

    for key, value in facts.items():
        setattr(Wrong, key, value)
    Wrong.name = "wrong"
    return Wrong()


def changed(batch, **arrays):
    return replace(batch, **arrays)


def looped(task, rng, n, right):
    rows = [right(rng, 1) for _ in range(n)]
    return changed(rows[0], tokens=np.concatenate([b.tokens for b in rows]), target=np.concatenate([b.target for b in rows]))


def random_side(task, rng, n, right):
    batch = right(rng, n)
    few = batch.tokens % 2  # so few sequences that some repeat
    return changed(batch, tokens=few, target=batch.target)


def train_again(self, rng, size):
    yield self.sample(stream(0, "train", 0), 50 * self.recipe.batch)


def growing(self, rng, size, calls=[]):  # noqa: B006
    calls.append(1)
    yield self.sample(np.random.default_rng(len(calls)), size)


def colliding(task, rng, n, right):
    """A filler after the pairs is the first key again."""
    batch = right(rng, n)
    tokens = batch.tokens.copy()
    free = [np.flatnonzero(row[task.first : -1] == 0) + task.first for row in tokens]
    for row, at in zip(tokens, free, strict=True):
        row[at[0]] = row[0]
    return changed(batch, tokens=tokens)


def given_away(task, rng, n, right):
    """The token at position 5 is the answer."""
    batch = right(rng, n)
    tokens = batch.tokens.copy()
    tokens[:, 5] = batch.target
    return changed(batch, tokens=tokens)


def mixed_loss(self, output, batch):
    return Copy.loss(self, output, batch).mean().expand(output.shape[0])


def readers(**rules):
    def said(task, rule):
        return lambda batch: task.said(rule(batch))

    return property(lambda self: {name: (said(self, rule), stated) for name, (rule, stated) in rules.items()})


WRONG = {
    "it ignores its stream": (
        wrong(lambda task, rng, n, right: right(np.random.default_rng(0), n)),
        "stream",
        r"seeds 0 and 1 have the same data: sample\(rng, n\) ignores rng",
    ),
    "it has three streams of data for every seed": (
        wrong(lambda task, rng, n, right: right(np.random.default_rng(int(rng.integers(3))), n)),
        "stream",
        r"block \d of seed 0 has the data of block \d of seed 0: 64 streams give 3 different blocks",
    ),
    "its answer stands at a fixed position": (
        wrong(given_away, Latch),
        "one position",
        r"the token at position 5 alone tells 100\.0% of the answers \(one fixed answer is 1\d\.\d% of them\): from 9\d\.\d% on",
    ),
    "its answers are one": (
        wrong(lambda task, rng, n, right: changed(b := right(rng, n), target=b.target * 0), Latch),
        "one position",
        r"alone tells 100\.0% of the answers \(one fixed answer is 100\.0% of them\)",
    ),
    "it draws from numpy's global generator": (
        wrong(
            lambda task, rng, n, right: changed(b := right(rng, n), tokens=np.where(np.random.random(b.tokens.shape) < 0.1, 0, b.tokens))
        ),
        "stream",
        r"tokens differs between two draws of one stream",
    ),
    "its data depend on torch's global seed": (
        wrong(lambda task, rng, n, right: right(np.random.default_rng([torch.initial_seed() % 99, *rng.integers(0, 9, 9)]), n)),
        "stream",
        r"tokens differs between two draws of one stream",
    ),
    "its data depend on the number of threads": (
        wrong(lambda task, rng, n, right: right(np.random.default_rng([torch.get_num_threads(), *rng.integers(0, 9, 9)]), n)),
        "stream",
        r"tokens differs between two draws of one stream",
    ),
    "it loops over its examples": (
        wrong(looped),
        "vectorised",
        r"sample runs \d+ lines of Python for 16 examples and \d+ for 256: it loops over them",
    ),
    "it gives another number of examples": (
        wrong(lambda task, rng, n, right: right(rng, n + 1)),
        "batch",
        r"sample\(rng, 1\): tokens holds 2 examples",
    ),
    "a token is outside the vocabulary": (
        wrong(lambda task, rng, n, right: changed(b := right(rng, n), tokens=b.tokens + 1)),
        "batch",
        r"token 18 in example 0, position 9: the vocabulary is 0\.\.17",
    ),
    "its tokens are no integers": (
        wrong(lambda task, rng, n, right: changed(b := right(rng, n), tokens=b.tokens / 2)),
        "batch",
        "tokens are integers, not float64",
    ),
    "it evaluates what it trains on": (
        wrong(evaluation=train_again),
        "leakage",
        r"100\.0% of the evaluated sequences stand among \d+ training sequences of the same seed",
    ),
    "its evaluation is another each time": (wrong(evaluation=growing), "evaluation", "two evaluations of one stream differ"),
    "it evaluates fewer than asked": (
        wrong(evaluation=lambda self, rng, size: iter([self.sample(rng, size // 2)])),
        "evaluation",
        r"evaluation\(rng, 100\) holds 50 examples",
    ),
    "its answer depends on what is not read": (
        wrong(random_side),
        "contradictions",
        r"examples \d+ and \d+ read the same and have other targets",
    ),
    "its fillers are keys": (
        wrong(colliding, Mqar),
        "collisions",
        r"example 0, position \d+: the scored token \d+ stands before 2 other tokens",
    ),
    "it mixes its seeds": (wrong(loss=mixed_loss), "scores", "the loss or a score of two seeds is not what each has alone"),
    "its loss is one number": (
        wrong(loss=lambda self, output, batch: Copy.loss(self, output, batch).mean()),
        "scores",
        r"loss of 2 seeds is \d\.\d+: one finite number a seed",
    ),
    "it decides by a score that it does not give": (
        wrong(
            score=lambda self, output, batch: {"right": Copy.score(self, output, batch)["accuracy"]}, solved=lambda self, s: s["right"] > 1
        ),
        "scores",
        r"score\(\) has no 'accuracy', which the task decides by or shows; it has right",
    ),
    "its exact reader errs": (
        wrong(readers=readers(exact=(lambda batch: np.full((len(batch.tokens), LENGTH), 3), 1.0))),
        "readers",
        r"the exact reader has accuracy 0\.\d+, not 1: target and tokens disagree",
    ),
    "its target is another's": (
        wrong(
            lambda task, rng, n, right: changed(
                b := right(rng, n), target=(b.target + (b.tokens[:, :1] * 0 + (b.tokens[:, 1:2] == 3))) % 16
            )
        ),
        "readers",
        r"the exact reader has accuracy 0\.9\d+, not 1",
    ),
    "a shortcut scores other than stated": (
        wrong(readers=property(lambda self: Copy.readers.fget(self) | {"majority": (Copy.readers.fget(self)["majority"][0], 0.3)})),
        "readers",
        r"the shortcut majority has accuracy 0\.06\d*, where 0\.3 is stated",
    ),
    "a shortcut solves it": (
        wrong(readers=property(lambda self: Copy.readers.fget(self) | {"peek": Copy.readers.fget(self)["exact"]})),
        "readers",
        "the shortcut peek solves the task with accuracy 1",
    ),
    "its Bayes reader scores other than stated": (
        wrong(readers=property(lambda self: {"bayes": (Copy.readers.fget(self)["exact"][0], 0.9)})),
        "readers",
        r"the bayes reader has accuracy 1, where 0\.9 is stated",
    ),
    "its Bayes reader does not solve it": (
        wrong(readers=property(lambda self: {"bayes": Copy.readers.fget(self)["majority"]})),
        "readers",
        r"the bayes reader does not solve the task with accuracy 0\.06",
    ),
    "it has shortcuts and no exact reader": (
        wrong(readers=property(lambda self: {"majority": Copy.readers.fget(self)["majority"]})),
        "readers",
        "readers name majority and no 'exact' one",
    ),
    "its picture is short": (
        wrong(picture=lambda self, batch: iter([("token", ["a", "b"])])),
        "picture",
        "the row 'token' has 2 cells for 17 positions",
    ),
    "it raises": (wrong(lambda task, rng, n, right: 1 / 0), "batch", r"raises ZeroDivisionError: .*\(test_check_task.py, line \d+\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_task_is_caught_with_what_and_where(name):
    task, check, message = WRONG[name]
    found = failures(task)
    assert check in found, found
    assert re.search(message, found[check]), found[check]


def test_few_sequences_are_a_note_that_counts_them():
    """Of three streams, or of sequences of 16 kinds, half or more are known from another seed, which tells nothing of leakage."""
    few = wrong(lambda task, rng, n, right: right(np.random.default_rng(int(rng.integers(3))), n))
    sixteen = wrong(lambda task, rng, n, right: changed(b := right(rng, n), tokens=np.repeat(b.tokens[:, 3:4], b.tokens.shape[1], 1)))
    for task, distinct in ((few, r"\d{4}"), (sixteen, "16")):
        (found,) = [finding for finding in check_task(task) if finding.check == "leakage"]
        assert found.status == "note"
        assert re.search(rf"few sequences, .* among 20800 training sequences of the same seed \({distinct} distinct\), and", found.text), (
            found
        )
    (found,) = [finding for finding in check_task(Copy()) if finding.check == "leakage"]
    assert found.text.endswith("0.0% among another seed's: chance up to 0.5%")


def test_a_position_is_read_by_no_answer_before_it_and_answers_not_asked_count_for_nothing():
    """Both answers are the token at position 2, and the first is asked at position 0, where it is not yet read."""
    tokens = np.random.default_rng(0).integers(0, 4, (4000, 3))
    answers, at = tokens[:, [2, 2]], np.array([[0, 2]]).repeat(4000, 0)
    every = np.ones((4000, 2), bool)
    late = share(tokens[:, 2:], answers, every, np.where(at >= 2, at, -1))
    assert late == pytest.approx(0.625, abs=0.02)  # (1/4 + 1) / 2
    assert share(tokens[:, 2:], answers, every & [False, True], np.where(at >= 2, at, -1)) == 1


def test_lines_are_counted_at_any_depth():
    """`inner(n)` runs its for line n + 1 times and its body n times; with the call, 2 n + 2."""

    def inner(n):
        for _ in range(n):
            pass

    def outer(n):
        inner(n)

    assert lines_run(lambda: outer(3)) - lines_run(lambda: outer(1)) == 4

"""The tasks of earlier work, read token by token: an exact reader at 100 %, shortcuts at what the docstrings say."""

from collections import Counter

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import stack
from attnprobe.probes.judging import over_chunks
from attnprobe.probes.tasks.flip_flop import FlipFlop

CASES = ("flip-flop", "copy", "count", "assignment", "assignment, equations", "mqar", "mqar, stacked", "mqar, large")


def words(task, batch, i):
    """Example i as strings, with the names that the docstrings use."""
    tokens = [int(token) for token in batch.tokens[i]]
    if task.name == "mqar":
        half = task.vocabulary // 2
        names = ["." if t == 0 else f"k{t}" if t < half else f"v{t - half}" for t in tokens]
        if task.stacked:
            return [(a, f"v{b - half}" if b else ".") for a, b in zip(names, map(int, batch.side["beside"][i]), strict=True)]
        return names
    names = {
        "flip-flop": [*"wri01"],
        "copy": [*"abcdefghijklmnop", "bos", "|"],
        "count": ["a", "b", "c", "bos"],
        "assignment": [*"xyz0123=;?"],
    }[task.name]
    return [names[token] for token in tokens]


def read_flip_flop(sequence):
    """The bit that stands after each read, None at the other slots."""
    held, answers = None, []
    for instruction, bit in zip(sequence[::2], sequence[1::2], strict=True):
        held = bit if instruction == "w" else held
        answers.append(int(held) if instruction == "r" else None)
    return answers


def read_copy(sequence):
    at = sequence.index("|")
    symbols = sequence[1:at]
    return [ord(symbols[0]) - ord("a"), *(ord(symbols[symbols.index(symbol) + 1]) - ord("a") for symbol in sequence[at + 1 :])]


def read_count(sequence):
    return [min(6, sequence[: t + 1].count(sequence[t])) - 1 for t in range(1, len(sequence))]


def statements_of(sequence):
    """(variable, value) in order."""
    end = sequence.index("?")
    step = 4 if "=" in sequence else 2
    return [(sequence[i], int(sequence[i + step // 2])) for i in range(0, end, step)], sequence[end + 1 :: 2]


def read_assignment(sequence):
    given, asked = statements_of(sequence)
    return [dict(given)[variable] for variable in asked]


def pairs_of(task, sequence):
    """key -> value, and the later positions that hold a key."""
    if task.stacked:
        pairs = dict(sequence[: task.pairs])
        return pairs, [(t, key) for t, (key, _) in enumerate(sequence) if key != "." and t >= task.pairs]
    pairs = dict(zip(sequence[: 2 * task.pairs : 2], sequence[1 : 2 * task.pairs : 2], strict=True))
    return pairs, [(t, key) for t, key in enumerate(sequence) if key != "." and t >= 2 * task.pairs]


def read_mqar(task, sequence, at):
    pairs, queries = pairs_of(task, sequence)
    answers = {t: int(pairs[key][1:]) for t, key in queries}
    assert sorted(answers) == sorted(at)
    return [answers[t] for t in at]


def solve(task, batch, i):
    """The exact answers of example i at its scored positions, read from the tokens alone."""
    sequence = words(task, batch, i)
    if task.name == "mqar":
        return read_mqar(task, sequence, batch.scored[i].tolist())
    return {"flip-flop": read_flip_flop, "copy": read_copy, "count": read_count, "assignment": read_assignment}[task.name](sequence)


def scored(task, batch, answers):
    """The scores of answers (n, K), None where there is none, given as logits."""
    stacked = stack([batch], "cpu", torch.float64)
    classes = torch.tensor([[0 if a is None else int(a) for a in row] for row in answers])
    return task.score(torch.nn.functional.one_hot(classes, task.classes)[None].double(), stacked)


def score(task, chunks, answer):
    """The scores of answer(batch, i) over an evaluation, its chunks averaged as in training."""
    judged = ((stack([b], "cpu", torch.float64), scored(task, b, [answer(b, i) for i in range(len(b.tokens))])) for b in chunks)
    return {name: value.item() for name, value in over_chunks(task, judged).items()}


@pytest.mark.parametrize("case", CASES)
def test_an_exact_reader_of_the_tokens_has_every_score_at_1(classic, classic_data, case):
    task = classic[case]
    train, chunks = classic_data(case)
    got = score(task, chunks, lambda batch, i: solve(task, batch, i))
    for name, value in got.items():
        assert value == pytest.approx(1, abs=1e-12), name
    for i in range(200):
        known = [None if answer == task.nothing else answer for answer in train.target[i].tolist()]
        assert known == solve(task, train, i)


def flip_flop_shortcuts(task, train, chunks):
    yield "majority", lambda batch, i: [0] * 16
    yield "the slot before", lambda batch, i: [0, *(batch.tokens[i, 1:-2:2] - 3)]
    yield "first write", lambda batch, i: [batch.tokens[i, 1] - 3] * 16
    yield "unigram", lambda batch, i: [int((batch.tokens[i, 1 : 2 * s : 2] == 4).mean() > 0.5) if s else 0 for s in range(16)]


def copy_shortcuts(task, train, chunks):
    yield "majority", lambda batch, i: [0] * 8
    yield "unigram", lambda batch, i: [batch.tokens[i, 3]] * 8
    yield "last write", lambda batch, i: [batch.tokens[i, 8]] * 8
    rng = np.random.default_rng(0)
    yield "position", lambda batch, i: [rng.choice(batch.tokens[i, 1 + place : 9]) for place in range(8)]


def count_shortcuts(task, train, chunks):
    yield "majority", lambda batch, i: [np.bincount(train.target.ravel()).argmax()] * 12
    table = [np.bincount(column).argmax() for column in train.target.T]
    yield "position", lambda batch, i: table
    yield "recent", lambda batch, i: [int((batch.tokens[i, max(1, t - 3) : t + 1] == batch.tokens[i, t]).sum()) - 1 for t in range(1, 13)]


def assignment_shortcuts(task, train, chunks):
    def read(choose):
        return lambda batch, i: [choose(given, variable) for given, asked in [statements_of(words(task, batch, i))] for variable in asked]

    def frequent(values):
        return Counter(values).most_common(1)[0][0]

    yield "majority", read(lambda given, variable: 0)
    yield "unigram", read(lambda given, variable: frequent([value for _, value in given]))
    yield "last write", read(lambda given, variable: given[-1][1])
    yield "first value", read(lambda given, variable: next(value for name, value in given if name == variable))
    yield "own most frequent", read(lambda given, variable: frequent([value for name, value in given if name == variable]))


def mqar_shortcuts(task, train, chunks):
    def read(choose):
        def answer(batch, i):
            pairs, _ = pairs_of(task, words(task, batch, i))
            values = [int(value[1:]) for value in pairs.values()]
            at = batch.scored[i]
            return [choose(values, int((at < t).sum())) for t in at]

        return answer

    yield "majority", read(lambda values, place: 0)
    yield "unigram", read(lambda values, place: values[1])
    yield "last write", read(lambda values, place: values[-1])
    yield "position", read(lambda values, place: values[place])


SHORTCUTS = {
    "flip-flop": flip_flop_shortcuts,
    "copy": copy_shortcuts,
    "count": count_shortcuts,
    "assignment": assignment_shortcuts,
    "mqar": mqar_shortcuts,
}
STATED = {
    ("flip-flop", "majority"): 0.50,
    ("flip-flop", "the slot before"): 0.61,
    ("flip-flop", "first write"): 0.71,
    ("flip-flop", "unigram"): 0.71,
    ("copy", "majority"): 0.06,
    ("copy", "unigram"): 0.12,
    ("copy", "last write"): 0.12,
    ("copy", "position"): 0.34,
    ("count", "majority"): 0.25,
    ("count", "position"): 0.42,
    ("count", "recent"): 0.50,
    ("assignment", "majority"): 0.25,
    ("assignment", "unigram"): 0.42,
    ("assignment", "last write"): 0.50,
    ("assignment", "first value"): 0.37,
    ("assignment", "own most frequent"): 0.48,
    ("mqar", "majority"): 0.03,
    ("mqar", "unigram"): 0.25,
    ("mqar", "last write"): 0.25,
    ("mqar", "position"): 0.30,
}


@pytest.mark.parametrize("case", CASES)
def test_shortcuts_score_what_the_docstring_says_and_solve_nothing(classic, classic_data, case):
    task = classic[case]
    names = []
    for name, answer in SHORTCUTS[task.name](task, *classic_data(case)):
        got = score(task, classic_data(case)[1], answer)["accuracy"]
        assert got < 0.8
        assert not task.solved({"accuracy": torch.tensor(got)})
        if (case, name) in STATED:
            assert got == pytest.approx(STATED[case, name], abs=0.02)
            assert f"{STATED[case, name]:.2f}" in type(task).__doc__
        names.append(name)
    assert case not in SHORTCUTS or {name for known, name in STATED if known == case} == set(names)


def test_flip_flop_s_accuracy_leaves_the_sparse_tail_out(classic_data):
    task, batch = FlipFlop(), classic_data("flip-flop")[1][0]
    right = [solve(task, batch, i) for i in range(len(batch.tokens))]
    spoilt = [[1 - a if a is not None and batch.side["sparse"][i] else a for a in row] for i, row in enumerate(right)]
    got = scored(task, batch, spoilt)
    assert (got["accuracy"], got["sparse"], got["accuracy@5+"]) == (1, 0, 1)

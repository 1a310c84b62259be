"""The tasks of earlier work: targets by their definitions, an exact reader at 100 %, shortcuts at what the docstrings say, no leak."""

import functools
from collections import Counter

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import stack
from attnprobe.probes.judging import over_chunks
from attnprobe.probes.spec import parse
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.assignment import Assignment, assignments
from attnprobe.probes.tasks.copy import Copy
from attnprobe.probes.tasks.count import Count
from attnprobe.probes.tasks.flip_flop import OF_HUNDRED, FlipFlop
from attnprobe.probes.tasks.mqar import Mqar, distinct

CASES = {
    "flip-flop": FlipFlop(),
    "copy": Copy(),
    "count": Count(),
    "assignment": Assignment(),
    "assignment, equations": Assignment(statements="equations"),
    "mqar": Mqar(),
    "mqar, stacked": Mqar(stacked=True, seq_len=16),
    "mqar, large": Mqar(seq_len=256, vocabulary=1024, pairs=16),
}


@functools.cache
def train_and_test(case):
    """20000 training sequences and the first 1024 or more of the evaluation, joined."""
    task = CASES[case]
    chunks = list(task.evaluation(stream(0, "test"), 1024))
    assert sum(len(chunk.tokens) for chunk in chunks) == 1024 * (1 + (task.name == "flip-flop"))
    return task.sample(stream(0, "train", 0), 20000), chunks


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
def test_an_exact_reader_of_the_tokens_has_every_score_at_1(case):
    task = CASES[case]
    train, chunks = train_and_test(case)
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
def test_shortcuts_score_what_the_docstring_says_and_solve_nothing(case):
    task = CASES[case]
    names = []
    for name, answer in SHORTCUTS[task.name](task, *train_and_test(case)):
        got = score(task, train_and_test(case)[1], answer)["accuracy"]
        assert got < 0.8
        assert not task.solved({"accuracy": torch.tensor(got)})
        if (case, name) in STATED:
            assert got == pytest.approx(STATED[case, name], abs=0.02)
            assert f"{STATED[case, name]:.2f}" in type(task).__doc__
        names.append(name)
    assert case not in SHORTCUTS or {name for known, name in STATED if known == case} == set(names)


def joined(batch):
    """Every sequence's tokens, both of a position where there are two."""
    return np.concatenate([batch.tokens, *([batch.side["beside"]] if "beside" in batch.side else [])], 1)


def seen_words(batch):
    return set(map(bytes, joined(batch)))


SMALL = {"count": 0.014, "flip-flop": 0.008}  # too few likely sequences to hold any out, as their docstrings say: share seen again


@pytest.mark.parametrize("case", CASES)
def test_no_evaluated_sequence_is_seen_in_training_where_there_are_enough(case):
    task = CASES[case]
    recipe, seen = task.recipe, set()
    for block in range(-(-recipe.steps // 50) if task.name != "mqar" else 4):
        seen |= seen_words(task.sample(stream(0, "train", block), 50 * recipe.batch))
    for path in (("test",), ("test", "confirm")):
        found = [word in seen for batch in task.evaluation(stream(0, *path), 1024) for word in map(bytes, joined(batch))]
        assert np.mean(found) == pytest.approx(SMALL.get(case, 0), abs=0.01 if case in SMALL else 0)


@pytest.mark.parametrize("case", CASES)
def test_sampling_is_a_function_of_its_arguments(case):
    task = CASES[case]
    for n in (1, 2, 7):
        one, two, other = (task.sample(stream(seed, "train", 0), n) for seed in (3, 3, 4))
        assert all(len(array) == n for array in one.arrays())
        assert all(np.array_equal(a, b) for a, b in zip(one.arrays(), two.arrays(), strict=True))
        assert seen_words(one) != seen_words(other)


@pytest.mark.parametrize("case", CASES)
def test_a_picture_has_a_cell_a_position(case):
    task = CASES[case]
    rows = list(task.picture(task.sample(stream(0, "train", 0), 1)))
    assert rows[0][0] == "token"
    assert {len(cells) for _, cells in rows} == {task.seq_len}


def test_flip_flop_draws_instructions_with_the_chances_it_states_and_a_sparse_tail_of_as_many_sequences():
    train, chunks = train_and_test("flip-flop")
    for tokens, ignored in ((train.tokens, 0.8), (FlipFlop().draw(stream(0, "x"), 20000, OF_HUNDRED).tokens, 0.98)):
        inner = tokens[:, 2:-2:2]
        assert (inner == 2).mean() == pytest.approx(ignored, abs=0.005)
        assert (inner == 0).mean() == pytest.approx((1 - ignored) / 2, abs=0.005)
        assert (tokens[:, 0] == 0).all()
        assert (tokens[:, -2] == 1).all()
    for batch in chunks:
        sparse = batch.side["sparse"]
        assert sparse.sum() * 2 == len(sparse)
        inner = batch.tokens[:, 2:-2:2] == 2
        assert inner[sparse].mean() > 0.95 > 0.85 > inner[~sparse].mean()


def test_flip_flop_s_accuracy_leaves_the_sparse_tail_out():
    task, batch = FlipFlop(), train_and_test("flip-flop")[1][0]
    right = [solve(task, batch, i) for i in range(len(batch.tokens))]
    spoilt = [[1 - a if a is not None and batch.side["sparse"][i] else a for a in row] for i, row in enumerate(right)]
    got = scored(task, batch, spoilt)
    assert (got["accuracy"], got["sparse"], got["accuracy@5+"]) == (1, 0, 1)


def test_flip_flop_by_hand():
    """Slots since the last write at the reads of w1 i0 r1 w0 ... r0: a read of the slot before has distance 1."""
    train, _ = train_and_test("flip-flop")
    for i in range(200):
        instructions = [*train.tokens[i, ::2]]
        for slot, instruction in enumerate(instructions):
            if instruction == 1:
                last = max(s for s in range(slot) if instructions[s] == 0)
                assert train.side["since"][i, slot] == slot - last


def test_assignments_are_every_sequence_that_names_each_variable():
    """3^8 - 3 * 2^8 + 3 = 5796, by inclusion and exclusion."""
    table = assignments()
    assert len(np.unique(table, axis=0)) == len(table) == 5796
    assert all(set(row) == {0, 1, 2} for row in table.tolist())
    train, _ = train_and_test("assignment")
    times = np.sort(train.side["times"], 1)
    assert (times.sum(1) == 8).all()
    assert np.bincount(train.tokens[:, 1:16:2].ravel() - 3) / (8 * len(train.tokens)) == pytest.approx(np.full(4, 0.25), abs=0.005)


@pytest.mark.parametrize("case", ["mqar", "mqar, stacked", "mqar, large"])
def test_mqar_s_fillers_are_no_key_and_its_keys_values_and_places_are_distinct(case):
    task, half = CASES[case], CASES[case].vocabulary // 2
    train, _ = train_and_test(case)
    context, after = train.tokens[:, : task.first], train.tokens[:, task.first :].astype(int)
    keys = context[:, :: task.span].astype(int)
    assert ((keys >= 1) & (keys < half)).all()
    assert all(len(set(row)) == task.pairs for row in keys[:500].tolist())
    assert all(len(set(row)) == task.pairs for row in train.target[:500].tolist())
    assert ((train.target >= 0) & (train.target < half)).all()
    assert ((after > 0).sum(1) == task.pairs).all()
    assert after.max() < half
    assert (np.sort(after, 1)[:, -task.pairs :] == np.sort(keys, 1)).all()
    assert ((train.scored - task.first) % task.span == 0).all()
    counts = np.bincount(keys.ravel(), minlength=half)[1:]
    assert counts.std() < 3 * counts.mean() ** 0.5


def test_mqar_s_gaps_follow_the_power_law_without_replacement():
    """The first pair's gap g has chance g^(a-1) / sum; the second's, given the first's f, the same among the others."""
    train, _ = train_and_test("mqar")
    gaps = train.side["gap"]
    chance = np.arange(1, 13) ** (0.01 - 1)
    chance /= chance.sum()
    assert np.bincount(gaps[:, 0], minlength=12) / len(gaps) == pytest.approx(chance, abs=0.012)
    rest = np.where(np.eye(12, dtype=bool), 0, chance) / (1 - chance)[:, None]
    assert np.bincount(gaps[:, 1], minlength=12) / len(gaps) == pytest.approx(chance @ rest, abs=0.012)
    flat = Mqar(gap_exponent=1.0).sample(stream(0, "train", 0), 20000).side["gap"]
    assert np.bincount(flat[:, 0]) / len(flat) == pytest.approx(np.full(12, 1 / 12), abs=0.01)


def test_distinct_draws_every_ordered_pair_alike():
    drawn = distinct(stream(0, "x"), 60000, 4, 2)
    counts = Counter(map(tuple, drawn.tolist()))
    assert len(counts) == 12
    assert min(counts.values()) / 60000 == pytest.approx(1 / 12, abs=0.005)
    assert sorted(distinct(stream(0, "y"), 1, 5, 5)[0].tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary": 63}, "vocabulary must be even"),
        ({"vocabulary": 2}, "from 4 to 8192, not 2"),
        ({"vocabulary": 8, "pairs": 4}, "pairs must be from 1 to 3, not 4"),
        ({"seq_len": 15}, "seq_len must be from 16"),
        ({"seq_len": 7, "stacked": True}, "seq_len must be from 8"),
        ({"seq_len": 2000}, "to 1024, not 2000"),
        ({"layers": 0}, "layers must be from 1 to 8, not 0"),
        ({"gap_exponent": 0.0}, "gap_exponent must be from 0.001 to 2, not 0.0"),
        ({"init_std": float("nan")}, "init_std must be from"),
        ({"field_std": 0.0}, "field_std must be from 0.0001 to 1, not 0.0"),
    ],
)
def test_a_bad_size_of_mqar_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Mqar(**options)


def test_mqar_s_defaults_follow_its_form():
    assert (Mqar().layers, Mqar(stacked=True).layers, Mqar(layers=3).layers) == (2, 1, 3)
    assert Mqar(init_std=0.1) == Mqar(init_std=0.1, field_std=0.1)
    assert Mqar(layers=3).arms == ("softmax", "fpa", "softmax/fpa/fpa")
    assert Mqar(stacked=True).arms == ("softmax", "fpa")
    for task in (Mqar(), Mqar(layers=4), Mqar(stacked=True)):
        for arm in task.arms:
            task.check(parse(arm), 32)


@pytest.mark.parametrize("case", CASES)
def test_the_loss_is_the_mean_cross_entropy_over_the_answers_that_are_asked(case):
    task = CASES[case]
    batch = stack([task.sample(stream(seed, "x"), 5) for seed in (0, 1)], "cpu", torch.float64)
    logits = torch.randn(*batch.target.shape, task.classes, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for n, loss in enumerate(task.loss(logits, batch).tolist()):
        terms = []
        for i in range(5):
            for j, answer in enumerate(batch.target[n, i].tolist()):
                if answer != task.nothing:
                    row = logits[n, i, j].numpy()
                    terms.append(np.log(np.exp(row).sum()) - row[answer])
        assert loss == pytest.approx(np.mean(terms), rel=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_a_model_starts_as_the_recipe_says(case):
    """Weights N(0, std), output projections over sqrt(2 layers), FPA's levels and FoX's gates at 0, one head of the model's width."""
    task = CASES[case]
    shape, std = task.model, 0.03 if task.name == "mqar" else 0.1
    assert (shape.key_std, shape.init_std, shape.field_std, shape.level, shape.forget) == (std, std, std, 0, 0)
    assert shape.output_std == pytest.approx(std / (2 * task.layers) ** 0.5)
    assert (shape.num_heads, shape.model_dim, task.head_dim, shape.layers) == (1, 32, 32, task.layers)
    assert (shape.mlp, shape.positions) == ((0, "learned") if task.name == "mqar" else (64, "none"))
    assert shape.rows == task.seq_len - task.first
    recipe = task.recipe
    assert (recipe.lr, recipe.betas, recipe.clip, recipe.warm_up, recipe.floor) == (0.005, (0.9, 0.99), 1.0, 50, 0.1)
    assert recipe.batch == (32 if task.name in ("mqar", "copy") else 16)
    assert recipe.weight_decay == (0.1 if task.name == "mqar" else 0.0)


@pytest.mark.parametrize("name", ["flip-flop", "copy", "count", "assignment", "mqar"])
def test_a_spec_of_too_many_layers_is_refused(name):
    with pytest.raises(ValueError, match="names 3 layers and the model has 2"):
        TASKS[name]().check(parse("rope/fpa/fpa"), 32)


def test_a_window_longer_than_the_sequence_is_refused():
    with pytest.raises(ValueError, match="swa: w must be at most 17, the length of the sequence, not 18"):
        TASKS["copy"]().check(parse("rope+swa(w=18)"), 32)
    TASKS["copy"]().check(parse("rope+swa(w=17)"), 32)

"""The tasks of earlier work: what they draw, their losses and models, and what they refuse."""

from collections import Counter

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import stack
from attnprobe.probes.spec import parse
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.assignment import assignments
from attnprobe.probes.tasks.flip_flop import OF_HUNDRED, FlipFlop
from attnprobe.probes.tasks.mqar import Mqar, distinct

CASES = ("flip-flop", "copy", "count", "assignment", "assignment, equations", "mqar", "mqar, stacked", "mqar, large")


def joined(batch):
    """Every sequence's tokens, both of a position where there are two."""
    return np.concatenate([batch.tokens, *([batch.side["beside"]] if "beside" in batch.side else [])], 1)


def seen_words(batch):
    return set(map(bytes, joined(batch)))


SMALL = {"count": 0.014, "flip-flop": 0.008}  # too few likely sequences to hold any out, as their docstrings say: share seen again


@pytest.mark.parametrize("case", CASES)
def test_no_evaluated_sequence_is_seen_in_training_where_there_are_enough(classic, case):
    task = classic[case]
    recipe, seen = task.recipe, set()
    for block in range(-(-recipe.steps // 50) if task.name != "mqar" else 4):
        seen |= seen_words(task.sample(stream(0, "train", block), 50 * recipe.batch))
    for path in (("test",), ("test", "confirm")):
        found = [word in seen for batch in task.evaluation(stream(0, *path), 1024) for word in map(bytes, joined(batch))]
        assert np.mean(found) == pytest.approx(SMALL.get(case, 0), abs=0.01 if case in SMALL else 0)


@pytest.mark.parametrize("case", CASES)
def test_sampling_is_a_function_of_its_arguments(check_data, classic, case):
    task = classic[case]
    check_data(task)


@pytest.mark.parametrize("case", CASES)
def test_a_picture_has_a_cell_a_position(check_picture, classic, case):
    task = classic[case]
    check_picture(task)


def test_flip_flop_draws_instructions_with_the_chances_it_states_and_a_sparse_tail_of_as_many_sequences(classic_data):
    train, chunks = classic_data("flip-flop")
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


def test_flip_flop_by_hand(classic_data):
    """Slots since the last write at the reads of w1 i0 r1 w0 ... r0: a read of the slot before has distance 1."""
    train, _ = classic_data("flip-flop")
    for i in range(200):
        instructions = [*train.tokens[i, ::2]]
        for slot, instruction in enumerate(instructions):
            if instruction == 1:
                last = max(s for s in range(slot) if instructions[s] == 0)
                assert train.side["since"][i, slot] == slot - last


def test_assignments_are_every_sequence_that_names_each_variable(classic_data):
    """3^8 - 3 * 2^8 + 3 = 5796, by inclusion and exclusion."""
    table = assignments()
    assert len(np.unique(table, axis=0)) == len(table) == 5796
    assert all(set(row) == {0, 1, 2} for row in table.tolist())
    train, _ = classic_data("assignment")
    times = np.sort(train.side["times"], 1)
    assert (times.sum(1) == 8).all()
    assert np.bincount(train.tokens[:, 1:16:2].ravel() - 3) / (8 * len(train.tokens)) == pytest.approx(np.full(4, 0.25), abs=0.005)


@pytest.mark.parametrize("case", ["mqar", "mqar, stacked", "mqar, large"])
def test_mqar_s_fillers_are_no_key_and_its_keys_values_and_places_are_distinct(classic, classic_data, case):
    task, half = classic[case], classic[case].vocabulary // 2
    train, _ = classic_data(case)
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


def test_mqar_s_gaps_follow_the_power_law_without_replacement(classic_data):
    """The first pair's gap g has chance g^(a-1) / sum; the second's, given the first's f, the same among the others."""
    train, _ = classic_data("mqar")
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
def test_the_loss_is_the_mean_cross_entropy_over_the_answers_that_are_asked(classic, case):
    task = classic[case]
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
def test_a_model_starts_as_the_recipe_says(classic, case):
    """Weights N(0, std), output projections over sqrt(2 layers), FPA's levels and FoX's gates at 0, one head of the model's width."""
    task = classic[case]
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

"""Family A's tasks: what a context holds, what an exact solver and each shortcut score, and what the scores mean."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from attnprobe.probes import recall_baselines as baselines
from attnprobe.probes.batch import stack
from attnprobe.probes.model import Seen
from attnprobe.probes.spec import parse
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks import TASKS

TASK = {name: TASKS[name] for name in ("recall", "unanswerable", "decoys", "score-shift", "sink")}
CASES = [*(cls() for cls in TASK.values()), TASK["sink"](bos="value"), TASK["recall"](pairs=5, keys=9, values=3)]
SILENT = [task for task in CASES if task.absent]


def name_of(task):
    return f"{task.name}{task.context}"


def sampled(task, n=400, seed=3):
    return task.sample(stream(seed, "train", 0), n)


@pytest.mark.parametrize("task", CASES, ids=name_of)
def test_an_answer_is_the_value_after_the_asked_key_read_token_by_token(task):
    batch = sampled(task)
    for tokens, target in zip(batch.tokens.tolist(), batch.target.tolist(), strict=True):
        body, asked = tokens[task.start : task.context], tokens[task.context :]
        pairs = dict(zip(body[::2], body[1::2], strict=True))
        assert len(pairs) == task.pairs + task.decoys  # distinct keys
        assert tokens[: task.start] == [task.keys + task.values] * task.start
        assert [pairs[key] - task.keys if key in pairs else task.values for key in asked] == target
        assert len(set(asked)) == task.rows
        assert sum(value == task.values for value in target) == task.absent


@pytest.mark.parametrize("task", CASES, ids=name_of)
def test_context_positions_are_the_keys_and_the_last_rows_are_scored(task):
    batch = sampled(task, 2)
    assert batch.keys.tolist() == [True] * task.context + [False] * task.rows
    assert batch.scored.tolist() == list(range(task.context, task.context + task.rows))
    assert task.model.seq_len == batch.tokens.shape[1]


def test_a_decoy_s_own_key_is_never_asked_for_and_each_asked_key_has_one_decoy():
    task = TASK["decoys"]()
    batch = sampled(task)
    amount, mix = batch.side["amount"], batch.side["mix"]
    assert not amount[:, task.context :].any()
    assert not amount[:, 1 : task.context : 2].any()
    for row in range(len(batch.tokens)):
        at = np.flatnonzero(amount[row])
        asked = batch.tokens[row, task.context :]
        assert sorted(mix[row, at]) == sorted(asked)
        assert not set(batch.tokens[row, at]) & set(asked)
        assert set(amount[row, at]) == {batch.side["eps"][row]}


def test_every_eps_is_drawn_in_training_and_stands_equally_often_in_the_evaluation():
    task = TASK["decoys"]()
    eps = np.float32(task.amounts)
    assert set(sampled(task).side["eps"]) == set(eps)
    for chunk in task.evaluation(stream(0, "test"), 256):
        assert [int((chunk.side["eps"] == e).sum()) for e in eps] == [32] * 4


@pytest.mark.parametrize("task", CASES, ids=name_of)
def test_asked_pairs_and_rows_stand_everywhere_with_equal_chance(task):
    """Slots and rows uniform: each count within 5 standard deviations, so that no place gives an answer away."""
    batch = sampled(task, 4000)
    slots = batch.side["slot"][batch.side["slot"] < 255]
    L = task.pairs + task.decoys
    counts = np.bincount(slots, minlength=L)
    assert np.abs(counts - len(slots) / L).max() < 5 * np.sqrt(len(slots) / L)
    if task.absent:
        absent = (batch.target == task.values).mean(0)
        assert np.abs(absent - 0.5).max() < 5 * 0.5 / np.sqrt(4000)


@pytest.mark.parametrize("task", CASES, ids=name_of)
def test_the_slot_of_an_asked_pair_is_where_its_key_stands(task):
    batch = sampled(task, 20)
    keys, _ = baselines.context(task, batch)
    present = batch.target < task.values
    rows, columns = np.nonzero(present)
    assert (keys[rows, batch.side["slot"][rows, columns]] == batch.tokens[:, task.context :][rows, columns]).all()
    assert (batch.side["slot"][~present] == 255).all()


@pytest.mark.parametrize("task", CASES, ids=name_of)
def test_looking_up_solves_every_task(task):
    batch = sampled(task)
    scores = baselines.scores(task, batch, baselines.lookup(task, batch))
    assert scores["present"] == 1
    assert scores.get("hallucination", 0) == 0


def expected(task):
    """The shortcuts' shares by the formula: one of L places is the asked pair's, elsewhere a value is right with chance 1 / V."""
    from attnprobe.theory.recall import majority_ceiling

    L, V = task.pairs + task.decoys, task.values
    place = Fraction(1, L) + Fraction(L - 1, L) / V
    return {"unigram": Fraction(1, V), "last_value": place, "position": place, "majority": majority_ceiling(L, V), "silence": 0}


@pytest.mark.parametrize("task", CASES, ids=name_of)
@pytest.mark.parametrize("shortcut", baselines.SHORTCUTS)
def test_a_shortcut_scores_what_the_docstring_says(task, shortcut):
    batch = sampled(task, 20000)
    scores = baselines.scores(task, batch, baselines.SHORTCUTS[shortcut](task, batch))
    assert scores["present"] == pytest.approx(float(expected(task)[shortcut]), abs=0.01)
    assert scores.get("hallucination", 1) == (0 if shortcut == "silence" and task.absent else 1)


@pytest.mark.parametrize("task", CASES, ids=name_of)
def test_declared_readers_state_the_shares_of_the_formula(task):
    stated = {name.replace(" ", "_"): share for name, (_, share) in task.readers.items()}
    assert stated.pop("exact") == 1
    assert stated.pop("decoy", 0.25) == 0.25
    assert stated == pytest.approx({name: float(share) for name, share in expected(task).items() if task.absent or name != "silence"})


@pytest.mark.parametrize("name", TASK)
def test_the_docstring_states_the_shortcuts_shares(name):
    task = TASK[name]()
    stated = [float(x) for x in re.findall(r"([\d.]+)\s+%", TASK[name].__doc__)]
    for shortcut, share in expected(task).items():
        if task.absent or shortcut != "silence":
            assert any(abs(x - 100 * share) <= 0.06 for x in stated), shortcut


def test_the_decoy_s_value_is_right_as_often_as_any_and_always_a_hallucination():
    task = TASK["decoys"]()
    batch = sampled(task, 20000)
    scores = baselines.scores(task, batch, baselines.decoy(task, batch))
    assert scores["present"] == pytest.approx(0.25, abs=0.01)
    assert scores["hallucination"] == 1


@pytest.mark.parametrize("task", CASES, ids=name_of)
def test_sampling_is_a_function_of_its_arguments_and_test_contexts_are_not_training_contexts(task):
    one, two = sampled(task, 1200), sampled(task, 1200)
    assert all(np.array_equal(a, b) for a, b in zip(one.arrays(), two.arrays(), strict=True))
    test = np.concatenate([b.tokens for b in task.evaluation(stream(3, "test"), 1024)])
    assert len(test) == 1024
    train = {row.tobytes() for row in one.tokens}
    assert not train & {row.tobytes() for row in test}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("recall", {"pairs": 1}, "pairs must be from 2 to 64, not 1"),
        ("unanswerable", {"pairs": 3}, "pairs must be from 4 to 64, not 3: 4 of them are asked for"),
        ("decoys", {"keys": 23}, r"keys must be from 24 \(pairs, decoys and absent keys are distinct\) to 128, not 23"),
        ("recall", {"values": 1}, "values must be from 2"),
        ("score-shift", {"delta": -1.0}, "delta must be 0 or more"),
        ("score-shift", {"delta": float("nan")}, "delta must be 0 or more, and finite"),
    ],
)
def test_bad_options_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        TASK[name](**options)


@pytest.mark.parametrize("name", TASK)
@pytest.mark.parametrize("bias", ["selective", "dcp"])
def test_a_mask_summed_over_rows_is_refused_with_the_reason(name, bias):
    class Stub:
        pass

    Stub.name = bias
    spec = parse("softmax")
    with pytest.raises(ValueError, match=f"{bias} makes no sense on {name}: it sums a mask over the rows"):
        TASK[name]().check(replace(spec, layers=(replace(spec.layers[0], bias=Stub()),)), 64)


def seen(task, batch, codes, weights=None):
    """What a layer gives whose outputs have inner products `codes` (n, rows, V) with the values' embeddings, here unit vectors."""
    K, V = task.keys, task.values
    table = torch.eye(K + V + task.start, dtype=torch.float64)[None]
    output = torch.zeros(1, *batch.target.shape[1:], K + V + task.start, dtype=torch.float64)
    output[..., K : K + V] = torch.tensor(codes, dtype=torch.float64)
    none = torch.zeros(*output.shape[:3], task.context + task.rows, dtype=torch.float64)
    return Seen(output, none if weights is None else weights, table)


def stacked(task, n=2):
    return stack([sampled(task, n)], "cpu", torch.float64)


@pytest.mark.parametrize("task", CASES, ids=name_of)
def test_the_right_embeddings_have_loss_0_and_solve(task):
    batch = stacked(task, 8 if task.amounts else 2)
    if task.amounts:
        batch = stack([next(iter(task.evaluation(stream(0, "test"), 8)))], "cpu", torch.float64)
    codes = torch.nn.functional.one_hot(batch.target[0].long(), task.values + 1)[..., : task.values].double()
    output = seen(task, batch, codes.numpy())
    score = task.score(output, batch)
    assert task.loss(output, batch).item() == 0
    assert score["present"].item() == 1
    assert score.get("hallucination", torch.zeros(1)).item() == 0
    assert task.solved(score).tolist() == [True]
    assert all(v.shape == (1,) for v in score.values())


@pytest.mark.parametrize("task", SILENT, ids=name_of)
def test_a_value_is_given_above_one_half_and_silence_below(task):
    """Every o . e_1 = 0.49: silent throughout, present 0, hallucination 0; 0.51: value 1 throughout, hallucination 1."""
    batch = stacked(task, 4)
    for code, given in ((0.49, 0.0), (0.51, 1.0)):
        codes = np.zeros((4, task.rows, task.values))
        codes[..., 1] = code
        score = task.score(seen(task, batch, codes), batch)
        present = batch.target < task.values
        assert score["hallucination"].item() == given
        assert score["present"].item() == pytest.approx(given * (batch.target == 1)[present].double().mean().item())
        assert not task.solved(score).item()


def test_the_loss_by_hand():
    """o = e_1 / 2 in every row: |o - e_v|^2 = 1/4 where v = 1 is asked for, 1/4 + 1 for another value, 1/4 at an absent key."""
    task = TASK["unanswerable"]()
    batch = stacked(task, 3)
    codes = np.zeros((3, 8, 4))
    codes[..., 1] = 0.5
    other = ((batch.target != 1) & (batch.target < 4)).double().mean().item()
    assert task.loss(seen(task, batch, codes), batch).item() == pytest.approx(0.25 + other)


def test_mass_dead_rows_and_the_sink_by_hand():
    """Present rows: half without weight, half with 1 on the first pair; absent rows: .2 on BOS and .1 elsewhere."""
    task = TASK["sink"]()
    batch = stacked(task, 2)
    weights = torch.zeros(1, 2, 8, task.context + 8, dtype=torch.float64)
    for example in range(2):
        present = torch.nonzero(batch.target[0, example] < 4)[:, 0]
        absent = torch.nonzero(batch.target[0, example] == 4)[:, 0]
        weights[0, example, present[:2], 1] = 1
        weights[0, example, absent, 0] = 0.2
        weights[0, example, absent, 3] = 0.1
    score = task.score(seen(task, batch, np.zeros((2, 8, 4)), weights), batch)
    assert score["dead"].item() == 0.5
    assert score["mass"].item() == pytest.approx(0.3)
    assert score["sink"].item() == pytest.approx(0.2)


def test_every_eps_must_pass_for_a_seed_to_be_solved():
    task = TASK["decoys"]()
    names = [f"{kind}@{eps:g}" for kind in ("present", "hallucination") for eps in task.amounts]
    good = {name: torch.tensor([0.99 if name.startswith("present") else 0.005]) for name in names}
    assert task.solved(good).item()
    for name in names:
        assert not task.solved({**good, name: torch.tensor([0.98 if name.startswith("present") else 0.006])}).item()


def test_a_slice_counts_its_own_rows_alone():
    """Early pairs (slots 0 to 3) answered right, late ones never."""
    task = TASK["recall"]()
    batch = stacked(task, 6)
    codes = torch.nn.functional.one_hot(batch.target[0].long(), 4).double()
    codes = torch.where((batch.side["slot"][0] < 4)[..., None], codes, codes.roll(1, -1))
    score = task.score(seen(task, batch, codes.numpy()), batch)
    assert (score["present@early"].item(), score["present@late"].item(), score["present"].item()) == (1, 0, 0.5)


@pytest.mark.parametrize("task", CASES, ids=name_of)
def test_the_picture_names_tokens_and_answers(task):
    batch = sampled(task, 1)
    rows = dict(task.picture(batch))
    assert len({len(cells) for cells in rows.values()}) == 1
    assert rows["token"][task.start] == f"k{batch.tokens[0, task.start]}"
    assert rows["token"][-1] == f"?k{batch.tokens[0, -1]}"
    assert rows["answer"][-1] == ("-" if batch.target[0, -1] == task.values else f"v{batch.target[0, -1]}")

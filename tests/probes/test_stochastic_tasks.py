"""Latch and topic: what they draw, what readers of less score, and how random routings are judged."""

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import stack
from attnprobe.probes.judging import mean_of_classes, output, scores
from attnprobe.probes.mixers.parts import Draw
from attnprobe.probes.spec import parse
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks.latch import Latch
from attnprobe.probes.tasks.topic import Topic
from attnprobe.probes.tasks.topic import best_share as bayes
from attnprobe.probes.train import Training

TASKS = {"latch": Latch(), "topic": Topic(), "short latch": Latch(seq_len=16), "short topic": Topic(seq_len=16)}
SMALL = Latch(seq_len=16, layers=2)


def drawn(case, n=300, seed=0):
    task = TASKS[case]
    return task, task.sample(stream(seed, "test"), n)


def answers(task, batch, said):
    """Scores of a reader that says `said` (n, rows)."""
    logits = torch.nn.functional.one_hot(torch.as_tensor(np.array(said, dtype=np.int64)), 8)[None].double()
    return {name: value.item() for name, value in task.score(logits, stack([batch], "cpu", torch.float64)).items()}


@pytest.mark.parametrize("case", ["latch", "short latch"])
def test_a_latch_holds_one_value_in_its_first_quarter_and_asks_for_it_ever_after(case):
    task, batch = drawn(case)
    for tokens, answer, place in zip(batch.tokens, batch.target, batch.side["place"], strict=True):
        values = [t for t in range(task.seq_len) if tokens[t] >= 8]
        assert values == [place]
        assert place < task.seq_len / 4
        assert tokens[place] == 8 + answer
    assert set(batch.target) == set(range(8))
    assert set(batch.side["place"]) == set(range(task.seq_len // 4))
    assert set(np.unique(batch.tokens)) == set(range(16))
    assert batch.scored.tolist() == list(range(task.seq_len // 4, task.seq_len))
    assert batch.keys.all()


@pytest.mark.parametrize("case", ["topic", "short topic"])
def test_a_topic_has_evidence_in_its_first_half_alone_and_is_asked_for_in_its_last_quarter(case):
    task, batch = drawn(case)
    half = task.seq_len // 2
    assert ((batch.tokens[:, :half] >= 8) & (batch.tokens[:, :half] < 16)).all()
    assert (batch.tokens[:, half:] < 8).all()
    assert batch.scored.tolist() == list(range(3 * task.seq_len // 4, task.seq_len))
    for tokens, answer, lead in zip(batch.tokens[:20], batch.target, batch.side["lead"], strict=False):
        counts = [sum(t == 8 + c for t in tokens) for c in range(8)]
        own = counts.pop(answer)
        assert lead == own - max(counts)
    share = np.mean(batch.tokens[:, :half] == 8 + batch.target[:, None])
    assert share == pytest.approx(0.3 + 0.7 / 8, abs=0.03)


@pytest.mark.parametrize("case", ["latch", "short latch"])
def test_an_exact_reader_of_a_latch_scores_one(case):
    task, batch = drawn(case)
    read = [max(int(t) for t in tokens) - 8 for tokens in batch.tokens]
    assert set(answers(task, batch, np.repeat(read, task.rows).reshape(-1, task.rows)).values()) == {1.0}


def window_reader(task, w):
    """The exact score of a reader of the last w positions, who guesses where the value is further back."""
    quarter = task.seq_len // 4
    return np.mean([1.0 if t - p < w else 1 / 8 for p in range(quarter) for t in range(quarter, task.seq_len)])


def test_readers_of_less_score_what_latch_s_docstring_says():
    task, batch = drawn("latch", 4000)
    doc = " ".join(Latch.__doc__.split())
    assert f"what three windows of 16 reach, {window_reader(task, 46):.2f}" in doc
    assert f"of the last 16 keys alone {window_reader(task, 16):.2f}" in doc
    constant = answers(task, batch, np.full((4000, task.rows), 3))
    assert constant["accuracy"] == pytest.approx(0.125, abs=0.02)
    common = [np.bincount(tokens[tokens < 8], minlength=8).argmax() for tokens in batch.tokens]
    fillers = answers(task, batch, np.repeat(common, task.rows).reshape(-1, task.rows))
    assert fillers["accuracy"] == pytest.approx(0.125, abs=0.02)


def test_the_bayes_reader_s_computed_score_is_that_of_all_sequences():
    """Against every one of 8^4 sequences of evidence for class 0: chance p^k q^(4-k), ties shared."""
    p, q, total = 0.3 + 0.7 / 8, 0.7 / 8, 0.0
    for evidence in np.ndindex(8, 8, 8, 8):
        counts = np.bincount(evidence, minlength=8)
        best = counts == counts.max()
        total += p ** counts[0] * q ** (4 - counts[0]) * best[0] / best.sum()
    assert bayes(4) == pytest.approx(total, rel=1e-12)


def test_the_bayes_reader_s_score_is_computed_at_the_longest_sequence():
    """512 evidence tokens, whose 512! is no float: the topic leads another class by 154 of them, 11 standard deviations."""
    assert Topic(seq_len=1024).readers["bayes"][1] == pytest.approx(1, abs=1e-12)


def test_readers_of_less_score_what_topic_s_docstring_says():
    task, batch = drawn("topic", 4000)
    doc = " ".join(Topic.__doc__.split())
    assert f"scores {bayes(64):.4f}" in doc
    assert f"one evidence token {bayes(1):.2f}; the last 16 of them {bayes(16):.2f}" in doc
    in_reach = [64 - (t - 45) for t in range(96, 128)]  # evidence tokens among the last 46 positions
    assert f"what three windows of 16 reach, {np.mean([bayes(max(0, n)) for n in in_reach]):.2f}" in doc
    assert f"at the first {sum(n > 0 for n in in_reach)} of the 32 queries" in doc
    counted = [np.bincount(tokens[:64] - 8, minlength=8).argmax() for tokens in batch.tokens]
    read = answers(task, batch, np.repeat(counted, 32).reshape(-1, 32))
    assert read["accuracy"] == pytest.approx(bayes(64), abs=0.002)
    assert read["weak"] <= read["middle"] == read["strong"] == 1.0


def test_slices_of_a_latch_are_of_distances_in_quarters():
    """16 tokens, the value at 2, asked at 4..15: distances 2..13. Right up to distance 6, wrong from 7 on."""
    task, batch = TASKS["short latch"], drawn("short latch", 1)[1]
    batch = replace(batch, side={"place": np.array([2], dtype=np.int16)})
    said = np.where(np.arange(2, 14) <= 6, batch.target, (batch.target + 1) % 8)[None]
    quarters = {"accuracy@1/4": 1.0, "accuracy@2/4": pytest.approx(2 / 4), "accuracy@3/4": 0.0, "accuracy@4/4": 0.0}
    assert answers(task, batch, said) == {"accuracy": pytest.approx(5 / 12), **quarters}


def test_slices_of_a_topic_are_of_its_lead_and_hold_every_sequence_once():
    """Of 64 tokens, a lead of 12 is weak, 13 and 19 are middle, 20 is strong; of 20, a lead of 4 (a fifth) is weak, one of 6 is middle."""
    expected = {"weak": [True, False, False, False], "middle": [False, True, True, False], "strong": [False, False, False, True]}
    for seq_len, leads in ((128, [12, 13, 19, 20]), (40, [4, 5, 6, 7])):
        task = Topic(seq_len=seq_len)
        batch = replace(task.sample(stream(0, "test"), 4), side={"lead": np.array(leads, dtype=np.int16)})
        slices = task.slices(stack([batch], "cpu", torch.float64))
        assert {name: where[0, :, 0].tolist() for name, where in slices.items()} == expected


@pytest.mark.parametrize("case", TASKS)
def test_sampling_is_a_function_of_its_arguments_and_test_data_are_not_training_data(case):
    task = TASKS[case]
    for first, second in zip(*(task.sample(stream(3, "train", 0), 400).arrays() for _ in "ab"), strict=True):
        assert np.array_equal(first, second)
    train = task.sample(stream(3, "train", 0), 400).tokens
    test = next(task.evaluation(stream(3, "test"), 256)).tokens
    assert len(test) == 256
    assert not set(map(bytes, train)) & set(map(bytes, test))
    assert not np.array_equal(train, task.sample(stream(4, "train", 0), 400).tokens)


@pytest.mark.parametrize("case", TASKS)
def test_a_picture_has_a_cell_a_position_and_the_answer_where_it_is_asked(case):
    task, batch = drawn(case)
    token, answer = ([*cells] for _, cells in task.picture(batch))
    assert len(token) == len(answer) == task.seq_len
    assert [text for text in answer if text] == [str(batch.target[0])] * task.rows
    assert token[int(batch.tokens[0].argmax())] == f"*{batch.tokens[0].max() - 8}"


@pytest.mark.parametrize("bad", [{"seq_len": 12}, {"seq_len": 18}, {"seq_len": 1028}, {"layers": 0}, {"layers": 13}])
@pytest.mark.parametrize("task", [Latch, Topic])
def test_bad_options_are_refused(task, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        task(**bad)


@pytest.mark.parametrize(
    ("spec", "message"),
    [("rope+swa(w=17)", "w must be at most 16"), ("rope>sa(w=17)", "w must be at most 16"), ("moba(block=16)", "needs two blocks"),
     ("rope/rope", "names 2 layers")],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_the_reason(spec, message):
    with pytest.raises(ValueError, match=message):
        TASKS["short latch"].check(parse(spec), 16)


def judged(spec, task=SMALL, seeds=(3, 5)):
    """An untrained Training, its parameters in float64, and a batch."""
    t = Training(task, parse(spec), 16, seeds, task.recipe, "cpu", None)
    p = {name: value * 8 for name, value in t.stack.copy(torch.float64).items()}  # so that attention is far from uniform
    return t, p, stack([task.sample(stream(seed, "test"), 10) for seed in seeds], "cpu", torch.float64)


@pytest.mark.parametrize("spec", ["rope+sa(w=6)", "rope+gated(w=6)", "rope>union(w=6)"])
def test_a_random_routing_is_scored_by_draw_one_and_by_the_mean_of_class_probabilities_over_eight(spec):
    t, p, batch = judged(spec)
    model = t.judged[parse(spec)]
    made = scores(SMALL, model, p, batch, functools.partial(t.draws, 350, "test"))
    logits = [model(p, batch, lambda layer, number=number: Draw((3, 5), layer, 350, "test", number)) for number in range(1, 9)]
    assert not torch.allclose(logits[0], logits[1])
    right = [(x.argmax(-1) == batch.target[..., None]).double().mean((1, 2)) for x in (logits[0], sum(x.softmax(-1) for x in logits))]
    torch.testing.assert_close(made["accuracy"], right[0])
    torch.testing.assert_close(made["accuracy8"], right[1])
    assert not torch.equal(*right)


@pytest.mark.parametrize("spec", ["rope", "rope+swa(w=6)", "rope+sa(w=6,draw=fixed)", "rope+moba(block=4)"])
def test_a_routing_that_draws_nothing_is_evaluated_once(spec):
    t, p, batch = judged(spec)
    model, calls = t.judged[parse(spec)], []

    class Counting:
        random = model.random

        def __call__(self, *given):
            calls.append(1)
            return model(*given)

    made = scores(SMALL, Counting(), p, batch, functools.partial(t.draws, 350, "test"))
    assert len(calls) == 1
    assert "accuracy8" not in made


def test_the_mean_of_classes_by_hand():
    """Probabilities (.8, .2) and (.4, .6): their mean is (.6, .4), though the second says the other class."""
    mean = mean_of_classes([torch.tensor([0.8, 0.2]).log() + 3, torch.tensor([0.4, 0.6]).log()])
    torch.testing.assert_close(mean.softmax(-1), torch.tensor([0.6, 0.4]))


def test_an_evaluation_in_pieces_is_one_evaluation():
    t, p, batch = judged("rope+moba(block=4)")
    whole, pieces = (output(replace_at_once(n), t.model, p, batch, t.draws(350, "test")) for n in (0, 4))
    torch.testing.assert_close(whole, pieces)


def replace_at_once(n):
    """SMALL, n examples through the model at a time."""
    return type("Pieces", (Latch,), {"at_once": n})(seq_len=16, layers=2)


@pytest.mark.parametrize("spec", [*TASKS["latch"].arms, "rope+union", "fox+sa"])
def test_a_step_has_as_many_operators_for_longer_sequences(step_operators, spec):
    counts = []
    for seq_len in (64, 128):
        task = Latch(seq_len=seq_len)
        counts.append(step_operators(Training(task, parse(spec), 16, (0, 1), replace(task.recipe, batch=2), "cpu", None), 2))
    assert counts[0] == counts[1]


def test_the_model_is_the_recipe_s():
    model = TASKS["latch"].model
    assert (model.model_dim, model.num_heads, model.layers, model.mlp, model.rows, model.classes) == (32, 2, 3, 64, 96, 8)
    assert model.output_std == pytest.approx(0.1 / math.sqrt(6))
    recipe = TASKS["topic"].recipe
    assert (recipe.steps, recipe.batch, recipe.lr, TASKS["topic"].model.rows) == (350, 8, 0.003, 32)


@pytest.mark.parametrize("spec", ["rope+sa(w=6)", "rope+gated(w=6)", "rope+moba(block=4)"])
def test_a_seed_trains_the_same_alone_as_in_a_stack(spec):
    """In float64, twelve steps: the routing of a seed does not depend on its company."""
    recipe = replace(SMALL.recipe, batch=4)
    together, alone = (Training(SMALL, parse(spec), 16, seeds, recipe, "cpu", torch.float64) for seeds in ((0, 1, 2), (1,)))
    for t in (together, alone):
        t.block(0, 12)
    for name, value in alone.stack.parameters.items():
        torch.testing.assert_close(value[0], together.stack.parameters[name][1], rtol=1e-7, atol=1e-7)

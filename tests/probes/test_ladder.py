"""The ladder against the definition of alive, its evaluation, and what its statements of score and solved mean."""

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import stack
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks.ladder import Ladder

STEP = {"down": -1, "up": 1}


def names(task):
    return [f"rung{i + 1}" for i in range(task.r)] + ["down", "up", "nop", "query"]


def literal_alive(task, tokens):
    """Alive rungs by the definition: no later position of the walk is below the rung's own level."""
    walk, level = [], 0
    for token in tokens:
        name = names(task)[token]
        level += 1 if name.startswith("rung") else STEP.get(name, 0)
        walk.append(level)
    return [int(all(later >= walk[s] for later in walk[s + 1 :])) for s in range(0, 3 * task.r - 2, 3)]


@pytest.mark.parametrize("slot", ["balanced", "plain"])
@pytest.mark.parametrize("r", [2, 3, 7])
def test_targets_are_the_alive_rungs_of_the_walk(slot, r):
    task = Ladder(r=r, slot=slot)
    batch = task.sample(stream(0, "train", 0), 50)
    assert batch.tokens.shape == (50, 3 * r - 1)
    for tokens, target, bits in zip(batch.tokens, batch.target, batch.side["bits"], strict=True):
        assert target.tolist() == literal_alive(task, tokens) == [1 - b for b in bits] + [1]


def test_a_word_by_hand():
    """r = 3, rung 1 dips, rung 2 does not: 1 down up 2 up down 3 query; levels 1 0 1 2 3 2 3: rung 1 (level 1) dies at 0."""
    task = Ladder(r=3)
    batch = task.encode(np.array([[1, 0]], dtype=np.uint8))
    assert [names(task)[token] for token in batch.tokens[0]] == ["rung1", "down", "up", "rung2", "up", "down", "rung3", "query"]
    assert batch.target.tolist() == [[0, 1, 1]]
    assert batch.keys.tolist() == [True, False, False, True, False, False, True, False]
    assert batch.scored.tolist() == [7]


def test_every_balanced_word_has_the_same_multiset_of_tokens_and_plain_words_do_not():
    counts = {}
    for slot in ("balanced", "plain"):
        task = Ladder(r=6, slot=slot)
        words = np.concatenate([b.tokens for b in task.evaluation(stream(0, "test"), None)])
        counts[slot] = {tuple(np.bincount(w, minlength=10)) for w in words}
    assert len(counts["balanced"]) == 1
    assert len(counts["plain"]) == 6


@pytest.mark.parametrize("r", [2, 6, 13])
def test_exhaustive_evaluation_holds_every_word_once(r):
    task = Ladder(r=r)
    bits = np.concatenate([b.side["bits"] for b in task.evaluation(stream(0, "test"), None)])
    assert bits.shape == (2 ** (r - 1), r - 1)
    assert len(np.unique(bits, axis=0)) == 2 ** (r - 1) == task.sets


def test_sampled_evaluation_is_4096_words_of_a_fixed_stream_and_counts_no_sets():
    task = Ladder(r=24)
    words = [np.concatenate([b.side["bits"] for b in task.evaluation(stream(seed, "test"), None)]) for seed in (0, 1)]
    assert words[0].shape == (4096, 23)
    assert np.array_equal(*words)
    assert task.sets is None


def test_sampling_is_a_function_of_its_arguments():
    task = Ladder(r=8)
    one, two = (task.sample(stream(3, "train", 1), 40) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one.arrays(), two.arrays(), strict=True))
    assert not np.array_equal(one.tokens, task.sample(stream(4, "train", 1), 40).tokens)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"r": 1}, "r must be from 2"),
        ({"r": 65}, "to 64"),
        ({"r": 19, "evaluate": "exhaustive"}, "goes up to r = 18"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Ladder(**options)


def outputs(task, logits, words):
    """A stacked batch of one seed and an output whose log weights at the rungs are log_softmax(logits)."""
    batch = stack([task.encode(np.array(words, dtype=np.uint8))], "cpu", torch.float64)
    full = torch.full((1, len(words), 1, 1, task.seq_len), -torch.inf, dtype=torch.float64)
    full[:, :, 0, 0, : 3 * task.r - 2 : 3] = torch.tensor(logits, dtype=torch.float64).log_softmax(-1)
    return full, batch


def test_the_score_by_hand():
    """r = 2, words (no dip), (dip). Uniform weights 1/2, 1/2: KL = 0 where both are alive, ln 2 where one is; mean ln(2) / 2.

    Realised: both alive needs no separation, so it counts; the dip word needs logit 2 > logit 1, and they tie: not realised.
    """
    task = Ladder(r=2)
    score = task.score(*outputs(task, [[0.0, 0.0], [0.0, 0.0]], [[0], [1]]))
    assert score["kl"].item() == pytest.approx(np.log(2) / 2)
    assert score["realised"].item() == 0.5
    score = task.score(*outputs(task, [[0.0, 0.0], [0.0, 1e-6]], [[0], [1]]))
    assert score["realised"].item() == 1.0


def test_a_margin_within_rounding_does_not_separate():
    task = Ladder(r=2)
    score = task.score(*outputs(task, [[0.0, 0.0], [0.0, 1e-10]], [[0], [1]]))
    assert score["realised"].item() == 0.5


def test_the_loss_is_the_divergence_from_the_uniform_target():
    task = Ladder(r=5)
    words = [[0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]]
    logits = np.random.default_rng(0).standard_normal((3, 5))
    output, batch = outputs(task, logits, words)
    expected = []
    for word, row in zip(words, logits, strict=True):
        alive = np.array([1 - b for b in word] + [1])
        target, weights = alive / alive.sum(), np.exp(row) / np.exp(row).sum()
        expected.append(sum(t * np.log(t / w) for t, w in zip(target, weights, strict=True) if t))
    assert task.loss(output, batch).item() == pytest.approx(np.mean(expected))


def test_solved_is_the_threshold_itself_or_below():
    assert Ladder().solved({"kl": torch.tensor([0.1, 0.1000001, 0.0])}).tolist() == [True, False, True]


def test_the_picture_and_the_walk_by_hand():
    """r = 3, rung 1 dips: the walk goes 1 0 1, 2 3 2, 3 3; the field 0 at position 1 is below rung 1's level alone."""
    task = Ladder(r=3)
    batch = task.encode(np.array([[1, 0]], dtype=np.uint8))
    rows = dict(task.picture(batch))
    assert rows["token"] == ["1", "dn", "up", "2", "up", "dn", "3", "?"]
    assert rows["target"] == ["0", "", "", "1/2", "", "", "1/2", ""]
    (walk,) = task.walks(batch)
    assert walk.field == (1, 0, 1, 2, 3, 2, 3, 3)
    assert [(key.at, key.level, walk.end(key)) for key in walk.keys] == [(0, 1, 1), (3, 2, None), (6, 3, None)]

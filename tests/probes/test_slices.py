"""Scores of slices: a mean of nothing is no score, anywhere from a batch to a stored result; what is not finite still fails a seed."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from attnprobe.probes import code
from attnprobe.probes.batch import stack
from attnprobe.probes.judging import over_chunks
from attnprobe.probes.model import Seen
from attnprobe.probes.recipe import Recipe
from attnprobe.probes.spec import parse
from attnprobe.probes.store import SHARED_CODE
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.ladder import Ladder
from attnprobe.probes.tasks.task import means_where
from attnprobe.probes.tasks.two_walks import TwoWalks
from attnprobe.probes.train import train_seeds

CHUNKED = {
    "flip-flop": {}, "copy": {}, "count": {}, "assignment": {}, "mqar": {}, "ladder": {"r": 13}, "recall": {}, "decoys": {}, "sink": {},
}  # fmt: skip
SHORT = Recipe(steps=2, batch=4, warm_up=1)
NAN, INF = float("nan"), float("inf")


def test_a_mean_of_nothing_is_nan_and_a_mean_of_what_is_not_finite_is_inf():
    values = torch.tensor([[1.0, 3.0, NAN], [NAN, 1.0, 1.0], [2.0, 2.0, NAN], [INF, -INF, 1.0]])
    mask = torch.tensor([[True, True, False], [True, True, False], [False, False, False], [True, True, False]])
    assert torch.equal(means_where(values, mask).nan_to_num(-1), torch.tensor([2.0, INF, -1.0, INF]).nan_to_num(-1))
    assert means_where(values[:1], mask[2:3]).isnan()


@dataclass(frozen=True)
class Halves(Ladder):
    """A ladder evaluated in chunks of 1 and 3 examples: `late` is 5 in the second and of nothing in the first, `never` of nothing,
    `broken` what it is told to be."""

    broken: float = 1.0

    def evaluation(self, rng, size):
        yield self.sample(rng, 1)
        yield self.sample(rng, 3)

    def score(self, output, batch):
        kl = self.divergence(output, batch).mean(-1)
        n, like = batch.tokens.shape[1], torch.ones_like(kl)
        late = like * (NAN if n == 1 else 5.0)
        return {"kl": kl, "realised": like, "late": late, "never": like * NAN, "broken": like * self.broken}


def trained(task, seeds=(0, 1)):
    return train_seeds(task, parse("rope"), 4, seeds, SHORT)


def test_a_score_is_the_mean_over_the_chunks_that_have_something_to_score_and_absent_where_none_has():
    for result in trained(Halves(r=4)):
        assert result["status"] != "failed"
        assert list(result["score"]) == ["kl", "realised", "late", "broken"]
        assert result["score"]["late"] == 5.0


def test_a_score_that_is_not_finite_fails_a_seed_though_it_is_not_the_metric():
    for result in trained(Halves(r=4, broken=INF)):
        assert result["status"] == "failed"
        assert result["failure"]["quantity"] == "broken"


@dataclass(frozen=True)
class Lost(Ladder):
    """A ladder whose metric is nan in the first chunk alone."""

    def evaluation(self, rng, size):
        yield self.sample(rng, 1)
        yield self.sample(rng, 3)

    def score(self, output, batch):
        kl = self.divergence(output, batch).mean(-1)
        return {"kl": kl * (NAN if batch.tokens.shape[1] == 1 else 1.0), "realised": torch.ones_like(kl)}


def test_a_metric_that_is_nan_in_one_chunk_fails_the_seed():
    assert {result["failure"]["quantity"] for result in trained(Lost(r=4))} == {"kl"}


@pytest.mark.parametrize(("r", "even"), [(3, False), (8, True)])
def test_two_walks_of_three_rungs_have_small_sets_alone_and_no_score_of_even_ones(r, even):
    """At r = 3 the smaller of two sets has at most 2 keys, so every example is small: max(2, r // 4) = 2."""
    for result in trained(TwoWalks(r=r)):
        assert result["status"] == "unsolved"
        assert ("kl even sets" in result["score"]) == even
        assert result["score"]["kl small sets"] > 0


def outputs(task, batch, generator):
    """What a model could give for a stacked Batch of one seed, at random."""

    def drawn(*shape):
        return torch.rand(1, batch.tokens.shape[1], *shape, dtype=torch.float64, generator=generator)

    if task.name == "ladder":
        return -drawn(1, 1, task.seq_len)
    if task.model.values != "identity":
        return drawn(batch.target.shape[-1], task.classes)
    table = torch.eye(task.model.vocab_size, dtype=torch.float64)[None]
    return Seen(drawn(task.rows, task.model.vocab_size), drawn(task.rows, task.model.seq_len), table)


def joined(parts):
    """Outputs or numpy Batches of several chunks as one."""
    first = parts[0]
    if isinstance(first, Seen):
        return Seen(*(torch.cat([getattr(part, name) for part in parts], 1) for name in ("output", "weights")), first.table)
    if isinstance(first, torch.Tensor):
        return torch.cat(parts, 1)
    scored = first.scored if first.scored.ndim == 1 else np.concatenate([part.scored for part in parts])
    side = {name: np.concatenate([part.side[name] for part in parts]) for name in first.side}
    tokens, target = (np.concatenate([getattr(part, name) for part in parts]) for name in ("tokens", "target"))
    return replace(first, tokens=tokens, target=target, scored=scored, side=side)


@pytest.mark.parametrize("name", CHUNKED)
def test_the_scores_of_chunks_are_those_of_all_their_examples_at_once(name):
    """A slice holds other shares of each chunk, so a mean of the chunks' means by their sizes is another number."""
    task, generator = TASKS[name](**CHUNKED[name]), torch.Generator().manual_seed(0)
    chunks = list(task.evaluation(stream(0, "test"), 1024))
    assert len(chunks) > 1
    stacked = [stack([chunk], "cpu", torch.float64) for chunk in chunks]
    found = [outputs(task, batch, generator) for batch in stacked]
    pooled = over_chunks(task, ((batch, task.score(output, batch)) for batch, output in zip(stacked, found, strict=True)))
    whole = task.score(joined(found), stack([joined(chunks)], "cpu", torch.float64))
    assert pooled.keys() == whole.keys()
    for score, value in whole.items():
        torch.testing.assert_close(pooled[score], value, rtol=1e-12, atol=1e-12, equal_nan=True)


def test_a_chunk_weighs_as_many_answers_as_it_has_by_hand():
    """1 answer, right, then 3 of which none is right: 1/4, where the mean of the means 1 and 0 by 2 examples each is 1/2."""

    class Counted(Ladder):
        def counts(self, batch):
            return {"share": batch.target.sum((1, 2))}

    task, answers = Counted(r=3), ([[1, 0], [0, 0]], [[1, 1], [1, 0]])
    batches = [replace(task.sample(stream(0, "x"), 2), target=np.array(given)) for given in answers]
    judged = [
        (stack([batch], "cpu", torch.float64), {name: torch.tensor([value]) for name in ("share", "kl")})
        for batch, value in zip(batches, (1.0, 0.0), strict=True)
    ]
    assert {name: value.item() for name, value in over_chunks(task, judged).items()} == {"share": 0.25, "kl": 0.5}


def test_how_chunks_are_averaged_is_in_the_code_of_every_result():
    seen, queue = set(), [*SHARED_CODE]
    while queue:
        module = queue.pop()
        if module not in seen:
            seen.add(module)
            queue += code.imports(module)
    assert {"attnprobe.probes.evaluation", "attnprobe.probes.judging"} <= seen

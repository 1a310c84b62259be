"""Scores of slices: a mean of nothing is no score, anywhere from a batch to a stored result; what is not finite still fails a seed."""

from dataclasses import dataclass

import pytest
import torch

from attnprobe.probes.recipe import Recipe
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks.ladder import Ladder
from attnprobe.probes.tasks.task import means_where
from attnprobe.probes.tasks.two_walks import TwoWalks
from attnprobe.probes.train import train_seeds

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

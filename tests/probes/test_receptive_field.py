"""Receptive fields by gradient against boolean products of the masks that the layers really used."""

import functools

import pytest
import torch

from attnprobe.probes.mixers.parts import Draw
from attnprobe.probes.receptive_field import reached, share, shares
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks.latch import Latch
from attnprobe.probes.train import Training

T, LAYERS, SEEDS = 20, 3, (2, 6)
TASK = Latch(seq_len=T, layers=LAYERS)


class Recorder:
    """A routing that keeps the masks it gives."""

    def __init__(self, routing):
        self.routing, self.masks_given = routing, None
        self.combine = routing.combine

    def masks(self, q, k, draw):
        self.masks_given = self.routing.masks(q, k, draw)
        return self.masks_given


def training(spec):
    return Training(TASK, parse(spec), 16, SEEDS, TASK.recipe, "cpu", None)


def products(masks):
    """(layers, T, T): whether a chain of allowed pairs, one a layer, or the residual stream, leads from t to s; masks (T, T) a layer."""
    reach, found = torch.eye(T).bool(), []
    for mask in masks:
        after = reach.clone()
        for t in range(T):
            for u in range(T):
                if mask[t, u]:
                    after[t] |= reach[u]
        reach = after
        found.append(reach)
    return torch.stack(found)


@pytest.mark.parametrize("spec", ["rope", "rope+swa(w=3)", "rope+sa(w=4)", "rope+sa(w=4,draw=fixed)", "rope+gated(w=5)", "rope+union(w=4)",
                                  "rope+moba(block=3)", "rope>sa(w=4)", "rope/rope+swa(w=2)/rope+sa(w=3)", "alibi+swa(w=3)"])  # fmt: skip
@pytest.mark.parametrize("number", [1, 2])
def test_gradients_reach_what_products_of_the_masks_reach(spec, number, monkeypatch):
    monkeypatch.setattr("attnprobe.probes.receptive_field.COPIES", 7)
    t = training(spec)
    model, p = t.judged[parse(spec)], t.stack.copy(torch.float64)
    own = {name: value[1:] * 8 for name, value in p.items()}
    batch = next(t.evaluation.batches(("test",), 1))
    draw = functools.partial(Draw, (6,), step=350, split="test", number=number)
    got = reached(model, own, model.residual(p, batch)[1:, :1], batch, draw, 6)
    for layer in model.layers:
        layer.routing = Recorder(layer.routing)
    h = model.residual(p, batch)[1:, :1]
    masks = []
    for i in range(1, LAYERS + 1):
        h = model.block(i, own, h, batch, draw, T)
        of_paths = [mask.expand(1, 1, 2, T, T)[0, 0] for mask in model.layers[i - 1].routing.masks_given]
        masks.append(torch.cat(of_paths).any(0))  # of any path or head
    assert torch.equal(got, products(masks))


def test_the_share_by_hand():
    """Of three tokens' six pairs: the diagonal, and 2 sees 0, is 4 of 6; what lies above the diagonal does not count."""
    reach = torch.tensor([[[1, 1, 0], [0, 1, 0], [1, 0, 1]]]).bool()
    assert share(reach).tolist() == [pytest.approx(4 / 6)]


def test_shares_are_means_over_the_test_draws_of_each_seed_on_its_own():
    t = training("rope+sa(w=4)")
    found = shares(t, parse("rope+sa(w=4)"))
    assert list(found) == [2, 6]
    assert found[2] != found[6]
    layer = t.model.layers[0]
    k = torch.zeros(1, 1, 1, T, 1)
    for seed in SEEDS:
        masks = [layer.routing.masks(k, k, Draw((seed,), 1, 350, "test", number))[0] for number in range(1, 9)]
        first = sum(mask.sum().item() for mask in masks) / 8 / (T * (T + 1) / 2)
        assert found[seed][0] == pytest.approx(first)
    alone = Training(TASK, parse("rope+sa(w=4)"), 16, (6,), TASK.recipe, "cpu", None)
    assert shares(alone, parse("rope+sa(w=4)"))[6] == found[6]


def test_a_layer_s_field_holds_the_one_before():
    for spec in ("rope+sa(w=4)", "rope+moba(block=3)"):
        for layers in shares(training(spec), parse(spec)).values():
            assert layers == sorted(layers)
            assert layers[-1] > layers[0]

"""Interventions in a model of two layers, traces of its first, and the rows that are scored."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import stack
from attnprobe.probes.mixers import intervention
from attnprobe.probes.mixers.attention import scoped
from attnprobe.probes.mixers.stream import Dense
from attnprobe.probes.model import norm
from attnprobe.probes.recipe import Recipe
from attnprobe.probes.run import Arm, check
from attnprobe.probes.spec import parse
from attnprobe.probes.store import identity
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.copy import Copy
from attnprobe.probes.tasks.mqar import Mqar
from attnprobe.probes.train import Training, train_seeds

SMALL = Mqar(seq_len=12, vocabulary=16, pairs=2, init_std=0.5)
SHORT = Recipe(steps=100, lr=0.005, batch=4, warm_up=10, floor=0.1, betas=(0.9, 0.99), weight_decay=0.1)


def training(spec, task=SMALL, seeds=(0, 1), recipe=SHORT, dtype=torch.float64):
    return Training(task, parse(spec), task.head_dim, seeds, recipe, "cpu", dtype)


def batch_of(task, seeds=(0, 1), n=3):
    return stack([task.sample(stream(seed, "x"), n) for seed in seeds], "cpu", torch.float64)


def normed(x):
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5)


def bias_by_hand(p, x):
    """FPA's bias (T, T) of one sequence of normed inputs x (T, M), by loops over its definition."""
    delta, g, h = (x @ p["layer1.bias.field"]).T
    W = np.cumsum(delta)
    phi, psi = W + g, W + h + p["layer1.bias.level"][0, 0]
    beta = math.log1p(math.exp(p["layer1.bias.beta"][0, 0, 0]))
    b = np.zeros((len(x), len(x)))
    for t in range(len(x)):
        for s in range(t):
            b[t, s] = beta * min(0, min(phi[u] for u in range(s + 1, t + 1)) - psi[s])
    return b


def weights_by_hand(p, x, b):
    """Softmax rows (T, T) of layer 1's scores with bias b."""
    q, k = x @ p["layer1.query"], x @ p["layer1.key"]
    w = np.zeros_like(b)
    for t in range(len(x)):
        row = np.array([q[t] @ k[s] / math.sqrt(q.shape[1]) + b[t, s] for s in range(t + 1)])
        w[t, : t + 1] = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
    return w


CHANGED = {
    "clamp=0.3": lambda b, own: np.maximum(b, -0.3),
    "off-until=500": lambda b, own: 0 * b,
    "warmup=300": lambda b, own: b * 100 / 300,
    "freeze": lambda b, own: b,
    "zero-own": lambda b, own: np.where(own, 0, b),
    "only-own": lambda b, own: np.where(own, b, 0),
    "zero-offset=2": lambda b, own: b - np.diag(np.diag(b, -2), -2),
    "const=3": lambda b, own: np.where(own, -3.0, 0),
    "field-scale=0.1": lambda b, own: b,
}


@pytest.mark.parametrize("change", CHANGED)
def test_layer_1_has_the_changed_bias_and_its_softmax_and_layer_2_is_left_alone(change):
    """At step 100, against loops; own keys of values at 1 and 3 are 0 and 2."""
    t = training(f"fpa:{change}/fpa")
    p, batch = t.stack.copy(torch.float64), batch_of(SMALL)
    bias, weights = t.model.look(p, batch, t.draws(100, "test"), 1)
    own = np.zeros((12, 12), dtype=bool)
    own[1, 0] = own[3, 2] = True
    plain = training("fpa").stack.copy(torch.float64)
    for n in range(2):
        mine = {name: (p if name in p else plain)[name][n].numpy() for name in plain}
        for i in range(3):
            tokens = batch.tokens[n, i].tolist()
            x = np.stack([normed(mine["embedding"][token] + mine["positions"][place]) for place, token in enumerate(tokens)])
            expected = CHANGED[change](bias_by_hand(mine, x), own)
            np.testing.assert_allclose(bias[n, i, 0].numpy(), expected, atol=1e-9)
            np.testing.assert_allclose(weights[n, i, 0].numpy(), weights_by_hand(mine, x, expected), atol=1e-9)
    own_bias, x, scores = layer_two(t, p, batch)
    expected = parse("fpa").layers[0].bias(own_bias, x, scores, t.draws(100, "test")(2))
    assert expected.any()
    torch.testing.assert_close(t.model.look(p, batch, t.draws(100, "test"), 2)[0], expected)


def layer_two(t, p, batch):
    """Layer 2's bias parameters, its input (the normed sum of the stream and layer 1's output), and scores of the right shape."""
    h = t.model.residual(p, batch)
    h = h + t.model.layers[0](scoped(p, "layer1"), Dense(norm(h)), batch, t.draws(100, "test")(1), SMALL.seq_len)
    return scoped(p, "layer2.bias"), Dense(norm(h)), torch.zeros(2, 3, 1, 12, 12, dtype=torch.float64)


def test_a_frozen_bias_keeps_its_start_through_weight_decay_while_layer_2_s_moves():
    t = training("fpa:freeze/fpa")
    start = {name: value.clone() for name, value in t.stack.copy(torch.float64).items()}
    plain = training("fpa").stack.copy(torch.float64)
    t.block(0, 20)
    now = t.stack.copy(torch.float64)
    for name in ("field", "level", "beta"):
        assert torch.equal(now[f"layer1.bias.{name}"], start[f"layer1.bias.{name}"])
        assert torch.equal(start[f"layer1.bias.{name}"], plain[f"layer1.bias.{name}"])
        assert not torch.equal(now[f"layer2.bias.{name}"], start[f"layer2.bias.{name}"])
    assert not torch.equal(now["layer1.key"], start["layer1.key"])


def test_an_intervention_starts_all_other_parameters_as_the_plain_arm_does():
    plain = training("fpa").stack.copy(torch.float64)
    scaled = training("fpa:field-scale=0.1/fpa").stack.copy(torch.float64)
    torch.testing.assert_close(scaled["layer1.bias.field"], 0.1 * plain["layer1.bias.field"], rtol=1e-6, atol=0)
    for name in plain.keys() - {"layer1.bias.field"}:
        assert torch.equal(plain[name], scaled[name])
    const = training("fpa:const=1/fpa").stack.copy(torch.float64)
    assert plain.keys() - const.keys() == {"layer1.bias.field", "layer1.bias.level", "layer1.bias.beta"}


REFUSED = {
    "one spec for both layers": (SMALL, "fpa:clamp=1", "an intervention is on layer 1 alone; give each layer, as in fpa:clamp=1/fpa"),
    "layer 2": (SMALL, "fpa/fpa:clamp=1", "an intervention is on layer 1 alone"),
    "no own keys": (Copy(), "fpa:zero-own/fpa", "zero-own is about a value and its own key just before it, and copy has none"),
    "too far": (SMALL, "fpa:zero-offset=12/fpa", "zero-offset must be below 12"),
    "one layer": (Mqar(stacked=True), "fpa:clamp=1", "mqar has one layer here"),
    "an oracle's query": (TASKS["ladder"](), "fpa:clamp=1", "ladder has one layer here"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_intervention_that_makes_no_sense_is_refused_with_the_reason(case):
    task, spec, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        check(task, Arm(spec, parse(spec), task.head_dim))


def test_what_makes_sense_is_not_refused():
    for change in Mqar.ablation:
        check(Mqar(), Arm("x", parse(f"fpa:{change}/fpa"), 32))
        check(Mqar(layers=3), Arm("x", parse(f"fpa:{change}/fpa/softmax"), 32))
    intervention.check(TASKS["copy"](), parse("fpa:clamp=1/rope"))
    assert {change.partition("=")[0] for change in Mqar.ablation} == set(intervention.KINDS)


def test_an_intervened_arm_is_stored_under_its_own_name_and_key():
    task = Mqar()
    ids = [identity(task, parse(spec), 32, task.recipe, 0, "float32", "cpu") for spec in ("fpa", "fpa:clamp=0.3/fpa", "fpa:clamp=0.1/fpa")]
    assert len({one["arm"] for one in ids}) == len({one["arm_name"] for one in ids}) == 3


@dataclass(frozen=True)
class Passed(Mqar):
    """MQAR, passed by anything."""

    def solved(self, score):
        return score["accuracy"] >= 0


@pytest.mark.parametrize(("change", "steps"), [("clamp=0.3", 50), ("freeze", 50), ("off-until=10", 100), ("warmup=60", 100)])
def test_a_seed_leaves_at_once_unless_the_intervention_still_changes_in_training(change, steps):
    task = Passed(seq_len=12, vocabulary=16, pairs=2)
    (result,) = train_seeds(task, parse(f"fpa:{change}/fpa"), 32, (0,), SHORT)
    assert (result["status"], result["steps"]) == ("solved", steps)
    assert [step for step, _ in result["curve"]] == [*range(50, steps + 1, 50)]
    assert result["score"].keys() == {"accuracy", "accuracy@near", "accuracy@far"}


def test_a_seed_is_scored_with_the_intervention_in_its_final_state_at_the_last_step():
    """off-until=100 of 100 steps: no bias in training, the whole bias when it is judged."""
    t = training("fpa:off-until=100/fpa")
    p, batch = t.stack.copy(torch.float64), batch_of(SMALL)
    assert not t.model.look(p, batch, t.draws(99, "train"), 1)[0].any()
    assert t.model.look(p, batch, t.draws(100, "test"), 1)[0].any()


@pytest.mark.parametrize("spec", ["fpa", "softmax/fpa", "fpa:clamp=0.3/fpa"])
def test_traces_are_means_over_the_fixed_evaluation_of_each_value_s_bias_and_attention_to_its_key(spec):
    t = training(spec)
    found = train_seeds(SMALL, parse(spec), 32, (0, 1), SHORT, dtype=torch.float64)
    p = t.stack.copy(torch.float64)
    for n, seed in enumerate((0, 1)):
        (batch,) = SMALL.evaluation(stream(seed, "test"), 256)
        mine = {name: value[n].numpy() for name, value in p.items()}
        bias, attention = [], []
        for tokens in batch.tokens:
            x = np.stack([normed(mine["embedding"][token] + mine["positions"][place]) for place, token in enumerate(tokens)])
            b = bias_by_hand(mine, x) if spec != "softmax/fpa" else np.zeros((12, 12))
            b = np.maximum(b, -0.3) if "clamp" in spec else b
            w = weights_by_hand(mine, x, b)
            bias += [b[1, 0], b[3, 2]]
            attention += [w[1, 0], w[3, 2]]
        traces = found[n]["traces"]
        assert traces["own key attention"][0] == [0, pytest.approx(np.mean(attention), rel=1e-9)]
        assert [step for step, _ in traces["own key attention"]] == [0, 50, 100]
        assert ("own key bias" in traces) == (spec != "softmax/fpa")
        if "own key bias" in traces:
            assert traces["own key bias"][0] == [0, pytest.approx(np.mean(bias), rel=1e-9)]


def test_a_task_without_traces_keeps_none():
    (result,) = train_seeds(Copy(), parse("fpa"), 32, (0,), replace(SHORT, steps=50))
    assert result["traces"] == {}
    assert [step for step, _ in result["curve"]] == [50]


def test_logits_are_those_of_the_scored_rows_of_a_model_that_computes_all_rows():
    t = training("fpa")
    p, batch = t.stack.copy(torch.float64), batch_of(SMALL)
    got = t.model(p, batch, t.draws(0, "test"))
    every = replace(batch, scored=torch.arange(12))
    t.model.shape = replace(t.model.shape, rows=12)
    full = t.model(p, every, t.draws(0, "test"))
    assert got.shape == (2, 3, 2, 8)
    for n in range(2):
        for i in range(3):
            for j, at in enumerate(batch.scored[n, i].tolist()):
                torch.testing.assert_close(got[n, i, j], full[n, i, at])
    part = batch.examples(1, 3)
    assert torch.equal(part.scored, batch.scored[:, 1:3])
    t.model.shape = replace(t.model.shape, rows=SMALL.seq_len - SMALL.first)
    torch.testing.assert_close(t.model(p, part, t.draws(0, "test")), got[:, 1:3])


def test_a_position_of_the_stacked_form_is_its_two_tokens_embeddings_side_by_side():
    task = Mqar(stacked=True, seq_len=6, vocabulary=16, pairs=2)
    t = training("softmax", task)
    p, batch = t.stack.copy(torch.float64), batch_of(task)
    h = t.model.residual(p, batch)
    for place in range(6):
        first, second = (x[1, 2, place].item() for x in (batch.tokens, batch.side["beside"]))
        expected = torch.cat([p["embedding"][1, first], p["embedding"][1, second]]) + p["positions"][1, place]
        torch.testing.assert_close(h[1, 2, place], expected)
    assert p["embedding"].shape == (2, 16, 16)


@pytest.mark.parametrize(
    ("task", "spec"),
    [
        (replace(SMALL, layers=4), "softmax/fpa/fpa/fpa"),
        (replace(SMALL, layers=1), "fpa"),
        (Copy(), "rope+softmax/fpa"),
        (Copy(), "fpa/rope"),
    ],
)
def test_specs_of_a_mechanism_a_layer_train_at_any_depth(task, spec):
    t = training(spec, task)
    t.block(0, 2)
    names = t.stack.parameters
    for i, layer in enumerate(parse(spec).of_layers(task.layers), 1):
        assert (f"layer{i}.bias.field" in names) == layer.bias.field
    assert f"layer{task.layers + 1}.key" not in names
    assert all(math.isfinite(value) for _, values in t.journal.losses.items() for _, value in values)


def test_seeds_that_may_leave_are_scored_as_in_the_whole_stack():
    t = training("fpa", seeds=(3, 1, 2))
    t.block(0, 20)
    whole, part = (t.score(t.model, 20, ("test", "confirm", 20), 300, which) for which in (None, torch.tensor([True, False, True])))
    for name, values in whole.items():
        torch.testing.assert_close(part[name], values[[0, 2]])
    assert whole["accuracy"][0] != whole["accuracy"][1]

"""The layer over frozen embeddings: its formula in a loop, what is frozen and what leaves, and that no loop hides in a step."""

import math
from dataclasses import replace

import pytest
import torch

from attnprobe.probes.batch import stack
from attnprobe.probes.mixers.key_filter.fir import half_gaussian
from attnprobe.probes.mixers.parts import Draw, Init
from attnprobe.probes.mixers.stream import Dense, Lookup, Mixture
from attnprobe.probes.model import Model
from attnprobe.probes.model_spec import ModelSpec
from attnprobe.probes.spec import REGISTRIES, parse
from attnprobe.probes.stack import draw as draw_init
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.train import Training, train_seeds

SHORT = {name: replace(TASKS[name]().recipe, steps=60) for name in ("recall", "decoys", "sink", "score-shift")}


def training(name="recall", spec="pn_fir_tau", seeds=(0, 1, 2), d=8, batch=4, dtype=None, **options):
    return Training(TASKS[name](**options), parse(spec), d, seeds, replace(SHORT[name], batch=batch), "cpu", dtype)


def made(name, spec="fir", d=8, seeds=(0, 1), n=3, **options):
    """A task, its model, float64 parameters moved off their starts, and a stacked batch."""
    task = TASKS[name](**options)
    model = Model(task.model, parse(spec), d, "cpu")
    inits = model.parameters()
    p = {name: torch.stack([torch.from_numpy(draw_init(init, seed, name)) for seed in seeds]).double() for name, init in inits.items()}
    p = {name: x if inits[name].frozen else x + 0.05 * torch.randn(x.shape, generator=torch.Generator().manual_seed(1)).double()
         for name, x in p.items()}  # fmt: skip
    return task, model, p, stack([task.sample(stream(seed, "train", 0), n) for seed in seeds], "cpu", torch.float64)


def run(model, p, batch):
    return model(p, batch, lambda layer: Draw((0, 1), layer, 0, "train"))


@pytest.mark.parametrize(("name", "options"), [("recall", {}), ("decoys", {}), ("score-shift", {"delta": 0.7}), ("sink", {}),
                                               ("sink", {"bos": "value"})])  # fmt: skip
def test_the_layer_equals_its_formula_in_a_loop(name, options):
    """q = W_Q e + b, k = FIR(W_K e), scores 4 q . k - shift over the context, softmax, output = weights times the embeddings."""
    task, model, p, batch = made(name, **options)
    seen, h = run(model, p, batch), half_gaussian(7, 2.0)
    C, E = task.context, p["embedding"]
    for n in range(2):
        for b in range(3):
            x = E[n][batch.tokens[n, b].long()]
            if task.decoys:
                x = x + batch.side["amount"][n, b][:, None] * E[n][batch.side["mix"][n, b].long()]
            plain = x[:C] @ p["layer1.key"][n]
            k = [sum(h[i] * plain[s - i] for i in range(7) if s >= i) for s in range(C)]
            v = x[:C].clone()
            if name == "sink" and task.bos == "zero":
                v[0] = 0
            for row in range(task.rows):
                q = x[C + row] @ p["layer1.query"][n] + p["layer1.query_bias"][n, 0, 0]
                e = [math.exp(4 * float(q @ k[s]) - task.shift) for s in range(C)]
                weights = torch.tensor([one / sum(e) for one in e], dtype=torch.float64)
                torch.testing.assert_close(seen.weights[n, b, row, :C], weights)
                torch.testing.assert_close(seen.output[n, b, row], weights @ v)
    assert torch.count_nonzero(seen.weights[..., C:]) == 0  # query rows are nobody's keys
    assert seen.table is p["embedding"]


@pytest.mark.parametrize("spec", [*REGISTRIES["normaliser"], "zero-keys", "rope", "alibi", "pn_fir_tau"])
def test_a_query_row_s_output_does_not_depend_on_the_rows_beside_it(spec):
    task, model, p, batch = made("unanswerable", spec)
    before = run(model, p, batch).output
    tokens = batch.tokens.clone()
    tokens[..., task.context + 1 :] = (tokens[..., task.context + 1 :] + 1) % task.keys
    after = run(model, p, replace(batch, tokens=tokens, key_tokens=batch.key_tokens)).output
    assert torch.equal(before[:, :, 0], after[:, :, 0])


def test_gradients_of_the_loss_are_those_of_finite_differences():
    task, model, p, batch = made("decoys", "fir+softmax1", d=3, n=2)
    names = [name for name in p if name != "embedding"]

    def loss(*values):
        return task.loss(run(model, {**p, **dict(zip(names, values, strict=True))}, batch), batch)

    assert torch.autograd.gradcheck(loss, tuple(p[name].requires_grad_() for name in names), eps=1e-6, atol=1e-6)


def test_a_frozen_table_has_rows_of_length_1_is_never_trained_and_leaves_with_its_seed():
    t = training(seeds=(0, 1, 2))
    table = t.stack.parameters["embedding"].clone()
    torch.testing.assert_close(table.norm(dim=-1), torch.ones(3, 36))
    assert not torch.equal(table[0], table[1])
    assert "embedding" not in t.stack.inits
    t.block(0, 10)
    assert torch.equal(t.stack.parameters["embedding"], table)
    t.stack.keep(torch.tensor([True, False, True]), t.optimiser)
    assert torch.equal(t.stack.parameters["embedding"], table[[0, 2]])
    assert {name: len(x) for name, x in t.stack.parameters.items()} == dict.fromkeys(t.stack.parameters, 2)
    t.block(10, 12)


def test_a_frozen_table_of_a_seed_is_the_same_whatever_runs_beside_it():
    alone, beside = training(seeds=(7,)), training("recall", "softmax", seeds=(3, 7), d=16)
    assert torch.equal(alone.stack.parameters["embedding"][0], beside.stack.parameters["embedding"][1])


def test_only_the_maps_the_query_s_constant_and_the_threshold_train():
    assert set(training().stack.inits) == {"layer1.key", "layer1.query", "layer1.query_bias", "layer1.normaliser.tau"}
    assert set(training(spec="fir+rela").stack.inits) == {"layer1.key", "layer1.query", "layer1.query_bias"}
    assert training().stack.inits["layer1.normaliser.tau"] == Init((), value=-2.0)


@pytest.mark.parametrize("spec", ["pn_fir_tau", "fir+sparsemax", "rope+fox"])
@pytest.mark.parametrize("name", ["recall", "decoys"])
def test_a_seed_trains_the_same_alone_as_in_a_stack_up_to_rounding(name, spec):
    together, alone = training(name, spec, dtype=torch.float64), training(name, spec, seeds=(1,), dtype=torch.float64)
    for t in (together, alone):
        t.block(0, 10)
    for parameter, value in alone.stack.parameters.items():
        torch.testing.assert_close(value[0], together.stack.parameters[parameter][1], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("spec", [*(f"fir+{name}" for name in REGISTRIES["normaliser"]), "zero-keys"])
@pytest.mark.parametrize("name", ["recall", "decoys"])
def test_the_number_of_operators_does_not_grow_with_seeds_batch_or_length(step_operators, name, spec):
    def operators(seeds=3, batch=8, pairs=12):
        return step_operators(training(name, spec, seeds=tuple(range(seeds)), batch=batch, pairs=pairs), batch)

    base = operators()
    assert operators(seeds=15) == operators(seeds=1) == base
    assert operators(batch=32) == base
    assert operators(pairs=20) == base


@pytest.mark.parametrize("name", ["recall", "decoys"])
def test_the_same_seed_sees_the_same_data_whatever_the_mechanism_the_width_and_the_threads(name):
    hashes = set()
    for spec, d, seeds, threads in [("softmax", 4, (7,), 1), ("pn_fir_tau", 64, (7, 1), 2)]:
        torch.set_num_threads(threads)
        hashes.add(train_seeds(TASKS[name](), parse(spec), d, seeds, replace(SHORT[name], steps=2))[0]["data_hash"])
    torch.set_num_threads(1)
    assert len(hashes) == 1


def test_a_shifted_row_is_dead_over_a_fixed_threshold_and_has_a_gradient_over_a_learned_one():
    task, recipe = TASKS["score-shift"](), replace(SHORT["score-shift"], steps=1)
    dead = train_seeds(task, parse("fir+power"), 64, (0, 1), recipe)
    whole = train_seeds(task, parse("pn_fir_tau"), 64, (0, 1), recipe)
    assert [r["score"]["dead"] for r in dead] == [1, 1]
    assert [r["score"]["gradient"] for r in dead] == [0, 0]
    assert all(r["score"]["dead"] < 0.1 and r["score"]["gradient"] > 0.01 for r in whole)


def test_a_mixture_is_linear_in_its_two_rows():
    table = torch.randn(2, 9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weight = torch.randn(2, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    tokens, other = torch.arange(30).view(2, 3, 5) % 9, torch.arange(30).view(2, 3, 5) % 7
    amount = torch.linspace(0, 1, 30, dtype=torch.float64).view(2, 3, 5)
    x = Mixture(Lookup(table, tokens, tokens), Lookup(table, other, other), amount)
    dense = torch.stack([table[n][tokens[n]] + amount[n][..., None] * table[n][other[n]] for n in range(2)])
    torch.testing.assert_close(x.dense(), dense)
    torch.testing.assert_close(x.linear(weight), Dense(dense).linear(weight))
    torch.testing.assert_close(x.last(2).linear(weight), Dense(dense[:, :, -2:]).linear(weight))
    torch.testing.assert_close(x.keys().linear(weight), x.linear(weight))
    assert x.length == 5


@pytest.mark.parametrize("more", [{"embedding": "learned"}, {"num_heads": 2}, {"layers": 2}])
def test_identity_values_of_another_shape_are_refused(more):
    good = {"embedding": "frozen", "values": "identity", "query": "token", "rows": 1, "model_dim": 4}
    with pytest.raises(ValueError, match="identity values need a frozen embedding, one layer and one head"):
        ModelSpec(9, 5, **{**good, **more})

"""Whole models against their formulas in loops, and what of a model each row, head and layer reads."""

import math

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import Batch, stack
from attnprobe.probes.mixers.parts import Draw
from attnprobe.probes.mixers.stream import Dense
from attnprobe.probes.model import Model
from attnprobe.probes.model_spec import ModelSpec
from attnprobe.probes.spec import parse
from attnprobe.probes.stack import draw as draw_init

T = 7
DRAW = Draw((0, 1), layer=1, step=0, split="train")


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def softplus(v):
    return math.log1p(math.exp(v))


def loop_model(p, batch):
    """A one-layer softmax model without positions, by loops in float64."""
    out = torch.zeros(2, 3, T, 11, dtype=torch.float64)
    norm = torch.nn.functional.layer_norm
    for n in range(2):
        for e in range(3):
            h = p["embedding"][n][batch.tokens[n, e]]
            y = norm(h, (6,))
            q, k, v = (y @ p[f"layer1.{name}"][n] for name in ("query", "key", "value"))
            for t in range(T):
                heads = []
                for i in range(2):
                    c = slice(4 * i, 4 * i + 4)
                    weights = torch.softmax(q[t, c] @ k[: t + 1, c].T / 2, -1)
                    heads.append(weights @ v[: t + 1, c])
                out[n, e, t] = norm(h[t] + torch.cat(heads) @ p["layer1.output"][n], (6,)) @ p["readout"][n]
    return out


def test_a_model_equals_its_formula_in_a_loop(outputs, token_model, tokens):
    model, p = token_model("softmax")
    torch.testing.assert_close(outputs(model, p, tokens()), loop_model(p, tokens()))


def reading_model(spec="fpa"):
    """One head of dimension 4 over fixed features, of which its maps see columns 0, 2 and 3; values of 5 read by an MLP of 7."""
    features = random(11, 6, seed=5).numpy()
    shape = ModelSpec(11, T, "features", "learned", "token", rows=1, features=features, content=[0, 2, 3], classes=2, init_std=1.0,
                      key_std=1.0, field_std=1.0, readout="mlp", value_dim=5, hidden=7, query_read=True)  # fmt: skip
    model = Model(shape, parse(spec), 4, "cpu")
    drawn = {
        name: torch.stack([torch.from_numpy(draw_init(init, seed, name)) for seed in (0, 1)]) for name, init in model.parameters().items()
    }
    return model, {name: value.double() + 0.1 for name, value in drawn.items()}


def loop_reading_model(model, p, batch):
    """The same by loops; the bias sees all six columns."""
    features, out = torch.from_numpy(model.shape.features), torch.zeros(2, 3, 1, 2, dtype=torch.float64)
    for n in range(2):
        for e in range(3):
            x = features[batch.tokens[n, e]]
            seen = x[:, [0, 2, 3]]
            q, k, v = seen[-1] @ p["layer1.query"][n], seen @ p["layer1.key"][n], seen @ p["layer1.value"][n]
            delta, g, h = (x @ p["layer1.bias.field"][n]).unbind(-1)
            W = delta.cumsum(0)
            phi, psi = W + g, W + h + p["layer1.bias.level"][n, 0, 0]
            beta = softplus(float(p["layer1.bias.beta"][n, 0, 0, 0]))
            b = torch.stack([beta * min(torch.tensor(0.0), phi[s + 1 :].min() - psi[s]) if s < T - 1 else phi[0] * 0 for s in range(T)])
            mean = torch.softmax(k @ q / 2 + b, 0) @ v + x[-1] @ p["reader.query"][n]
            hidden = (mean @ p["reader.w1"][n] + p["reader.c1"][n, 0]).relu()
            out[n, e, 0] = hidden @ p["reader.w2"][n] + p["reader.c2"][n, 0]
    return out


def test_a_model_that_reads_values_by_an_mlp_equals_its_formula_in_a_loop(outputs, tokens):
    model, p = reading_model()
    assert p["layer1.key"].shape == (2, 3, 4)
    assert p["layer1.value"].shape == (2, 3, 5)
    assert not any(name.endswith("output") or name == "readout" for name in p)
    torch.testing.assert_close(outputs(model, p, tokens()), loop_reading_model(model, p, tokens()))


def test_each_head_has_an_oracle_query_and_a_field_of_its_own(outputs):
    """Changing head 2's oracle or field changes head 2's weights alone."""
    features = random(11, 6, seed=5).numpy()
    shape = ModelSpec(11, T, "features", "none", "oracle", rows=1, features=features, oracle_bits=3, num_heads=2, field_std=1.0)
    model = Model(shape, parse("fpa"), 2, "cpu")
    p = {
        name: torch.stack([torch.from_numpy(draw_init(init, seed, name)) for seed in (0, 1)]).double()
        for name, init in model.parameters().items()
    }
    rng = np.random.default_rng(0)
    drawn = [
        Batch(rng.integers(0, 11, (3, T)), np.zeros((3, 1)), np.arange(T), np.ones(T, bool), {"bits": rng.integers(0, 2, (3, 3))})
        for _ in "ab"
    ]
    batch = stack(drawn, "cpu", torch.float64)
    before = outputs(model, p, batch)
    assert before.shape == (2, 3, 2, 1, T)
    field = p["layer1.bias.field"].clone()
    field.view(2, 6, 3, 2)[..., 1] += 0.5
    for changed in ({"layer1.oracle1.w3": p["layer1.oracle1.w3"] + 0.5}, {"layer1.bias.field": field}):
        after = outputs(model, {**p, **changed}, batch)
        assert torch.equal(after[:, :, 0], before[:, :, 0])
        assert not torch.allclose(after[:, :, 1], before[:, :, 1])


def test_selective_reads_every_row_where_the_last_alone_is_asked_for(outputs, token_model, tokens):
    model, p = token_model("selective")
    every = outputs(model, p, tokens())
    layer = model.layers[0]
    own = {name.removeprefix("layer1."): value for name, value in p.items() if name.startswith("layer1.")}
    x = Dense(torch.nn.functional.layer_norm(model.residual(p, tokens()), (6,)))
    last, all_rows = (layer(own, x, tokens(), DRAW, rows) for rows in (1, T))
    torch.testing.assert_close(last, all_rows[:, :, -1:])
    assert every.shape[2] == T


def test_a_bias_that_reads_every_row_is_refused_with_an_oracle_query():
    shape = ModelSpec(11, T, "features", "none", "oracle", rows=1, features=np.eye(11), oracle_bits=3)
    with pytest.raises(ValueError, match="an oracle gives the last row alone a query"):
        Model(shape, parse("selective"), 2, "cpu")


@pytest.mark.parametrize("bad", [{"layers": 2}, {"values": "none"}, {"value_dim": 0}, {"hidden": 0}])
def test_a_reader_of_values_needs_one_layer_with_values(bad):
    good = {"layers": 1, "values": "learned", "value_dim": 3, "hidden": 4} | bad
    with pytest.raises(ValueError, match="one layer"):
        ModelSpec(11, T, "features", query="token", rows=1, features=np.eye(11), readout="mlp", **good)


def test_a_spec_a_layer_puts_the_bias_in_that_layer_alone(token_model):
    model, p = token_model("rope+softmax/fpa", layers=2)
    assert {name for name in p if ".bias." in name} == {"layer2.bias.field", "layer2.bias.level", "layer2.bias.beta"}
    assert [layer.position.name for layer in model.layers] == ["rope", "nope"]


def test_parameters_of_equal_name_and_shape_start_equal_in_all_arms(token_model):
    arms = [token_model(spec)[1] for spec in ("softmax", "rope+fox", "fpa", "fpa-sum", "fir+alibi")]
    for p in arms:
        for other in arms:
            assert all(torch.equal(p[name], other[name]) for name in p.keys() & other.keys())

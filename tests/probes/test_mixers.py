"""Every part against a float64 loop over positions, causality bit for bit, gradients, and that no part reaches nothing."""

import math

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import Batch, stack
from attnprobe.probes.mixers.intervention import KINDS, Intervened, Intervention
from attnprobe.probes.mixers.parts import Dims, Draw
from attnprobe.probes.mixers.stream import Dense, Lookup
from attnprobe.probes.model import Model
from attnprobe.probes.model_spec import ModelSpec
from attnprobe.probes.spec import REGISTRIES, axis_of, parse
from attnprobe.probes.stack import draw as draw_init

N, B, H, T, D, M = 2, 3, 2, 7, 5, 6
DIMS = Dims(model_dim=M, head_dim=D, num_heads=H, field_std=0.7)
DRAW = Draw((0, 1), layer=1, step=0, split="train")


BIASES = [*(name for name in REGISTRIES["bias"] if name != "none"), "selective(maps=own)"]
SOFTMIN = {"fpa": "field", "fpa-nopsi": "field", "fpa-qlevel": "field", "bottleneck": "gate"}  # parameters with the softmin's gradient


def part(name):
    return getattr(parse(name).layers[0], axis_of()[name.partition("(")[0]])


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def parameters(part):
    """The part's parameters at random values of its shapes, stacked for N seeds."""
    return {name: random(N, *init.shape, seed=i + 10) for i, (name, init) in enumerate(part.parameters(DIMS).items())}


def bias_and_input(name):
    bias = part(name)
    p, x, scores = parameters(bias), random(N, B, T, M, seed=1), random(N, B, H, T, T, seed=2)
    return bias, p, x, scores


def softplus(v):
    return math.log1p(math.exp(v))


def sigmoid(v):
    return 1 / (1 + math.exp(-v))


def loop_bias(name, p, x, scores):
    """Each bias by its formula, one (seed, example, head, query, key) at a time."""
    b = torch.zeros(N, B, H, T, T, dtype=torch.float64)
    for n in range(N):
        for i in range(B):
            for h in range(H):
                if name == "fox":
                    f = [1 / (1 + math.exp(-float(x[n, i, t] @ p["gate"][n, :, h] + p["forget"][n, h, 0]))) for t in range(T)]
                if name == "expiry":
                    e = [softplus(float(x[n, i, s] @ p["lifetime"][n, :, h] + p["level"][n, h, 0])) for s in range(T)]
                    beta = softplus(float(p["beta"][n, h]))
                if name == "bottleneck":
                    gamma = [float(x[n, i, u] @ p["gate"][n, :, h] + p["level"][n, h, 0]) for u in range(T)]
                    beta = softplus(float(p["beta"][n, h]))
                if name in ("dcp", "selective(maps=own)"):
                    later, key = (x[n, i] @ p[m][n] for m in ("later", "key"))
                    z = (later @ key.T / 4 + float(p["keep" if name == "dcp" else "offset"][n])).tolist()
                if name.startswith("fpa"):
                    field = p["field"][n].view(M, 3, H)[:, :, h]
                    delta, g, level = (x[n, i] @ field).unbind(-1)
                    W = [float(delta[: t + 1].sum()) for t in range(T)]
                    phi = [W[t] + float(g[t]) for t in range(T)]
                    psi = [W[t] + float(level[t]) + float(p["level"][n, h, 0]) for t in range(T)]
                    beta = softplus(float(p["beta"][n, h]))
                for t in range(T):
                    for s in range(t):
                        if name == "alibi":
                            b[n, i, h, t, s] = -softplus(float(p["slope"][n, h])) * (t - s)
                        elif name == "alibi-fixed":
                            b[n, i, h, t, s] = -(2 ** (-8 * (h + 1) / H)) * (t - s)
                        elif name == "fox":
                            b[n, i, h, t, s] = sum(math.log(f[u]) for u in range(s + 1, t + 1))
                        elif name in ("fpa", "fpa-hard"):
                            b[n, i, h, t, s] = beta * min(0.0, min(phi[s + 1 : t + 1]) - psi[s])
                        elif name == "fpa-sum":
                            b[n, i, h, t, s] = beta * sum(min(0.0, phi[u] - psi[s]) for u in range(s + 1, t + 1))
                        elif name == "fpa-nopsi":
                            b[n, i, h, t, s] = beta * min(0.0, min(phi[s + 1 : t + 1]) - float(p["level"][n, h, 0]))
                        elif name == "fpa-qlevel":
                            b[n, i, h, t, s] = beta * min(0.0, min(phi[s + 1 : t + 1]) - psi[t])
                        elif name == "expiry":
                            b[n, i, h, t, s] = -beta * max(0.0, t - s - e[s])
                        elif name == "bottleneck":
                            b[n, i, h, t, s] = beta * min(0.0, *gamma[s + 1 : t + 1])
                        elif name == "selective":  # head 0's scores; the query's own row does not count, the first token is spared
                            b[n, i, h, t, s] = -sum(max(0.0, float(scores[n, i, 0, u, s])) for u in range(s + 1, t)) if s else 0.0
                        elif name == "selective(maps=own)":
                            b[n, i, h, t, s] = -sum(max(0.0, z[u][s]) for u in range(s + 1, t + 1))
                        elif name == "dcp":
                            b[n, i, h, t, s] = sum(math.log(sigmoid(z[u][s])) for u in range(s + 1, t + 1))
                        else:
                            raise AssertionError(f"{name} has no loop here")
    return b


@pytest.mark.parametrize("name", BIASES)
@pytest.mark.parametrize("rows", [1, 3, T])
def test_a_bias_equals_its_formula_in_a_loop(name, rows):
    bias, p, x, scores = bias_and_input(name)
    rows = T if bias.every_row else rows
    got = bias(p, Dense(x), scores[..., -rows:, :], DRAW).expand(N, B, H, rows, T)
    below = torch.ones(T, T).tril().bool()[-rows:]
    torch.testing.assert_close(got.masked_fill(~below, 0), loop_bias(name, p, x, scores)[..., -rows:, :])


@pytest.mark.parametrize("name", BIASES)
def test_a_bias_is_never_positive_and_zero_at_the_query_itself(name):
    bias = part(name)
    _, _, x, scores = bias_and_input("fpa")
    b = bias(parameters(bias), Dense(x), scores, DRAW).expand(N, B, H, T, T)
    assert (b.tril() <= 0).all()
    assert (b.diagonal(dim1=-2, dim2=-1) == 0).all()


@pytest.mark.parametrize(("taps", "sigma"), [(7, 2.0), (1, 2.0), (3, 0.5), (20, 2.0)])
def test_fir_equals_its_sum(taps, sigma):
    k = random(N, B, H, T, D)
    raw = [math.exp(-(i**2) / (2 * sigma**2)) for i in range(taps)]
    expected = torch.zeros_like(k)
    for s in range(T):
        for i in range(min(taps, s + 1)):
            expected[..., s, :] += raw[i] / sum(raw) * k[..., s - i, :]
    got = parse(f"fir(taps={taps},sigma={sigma})").layers[0].key_filter({}, k)
    torch.testing.assert_close(got, expected)


def test_half_gaussian_taps_are_the_published_ones():
    from attnprobe.probes.mixers.key_filter.fir import half_gaussian

    assert [round(h, 5) for h in half_gaussian(7, 2.0)] == [0.33288, 0.29377, 0.2019, 0.10807, 0.04505, 0.01463, 0.0037]


@pytest.mark.parametrize("D", [1, 2, 5, 8])
def test_rope_rotates_pairs_by_position_and_leaves_an_odd_last_coordinate(D):
    q, k = random(N, B, H, 3, D), random(N, B, H, T, D, seed=1)
    rotated_q, rotated_k = part("rope")({}, q, k)

    def by_hand(row, t):
        out, half = list(row), D // 2
        for i in range(half):
            angle = t * 10000 ** (-2 * i / D)
            a, b = row[i], row[i + half]
            out[i], out[i + half] = a * math.cos(angle) - b * math.sin(angle), a * math.sin(angle) + b * math.cos(angle)
        return out

    for t in range(T):
        np.testing.assert_allclose(rotated_k[1, 2, 0, t].tolist(), by_hand(k[1, 2, 0, t].tolist(), t), atol=1e-12)
    for i in range(3):
        np.testing.assert_allclose(rotated_q[1, 2, 0, i].tolist(), by_hand(q[1, 2, 0, i].tolist(), T - 3 + i), atol=1e-12)


def test_rope_scores_depend_on_distance_alone():
    same = random(1, 1, 1, 1, D).expand(1, 1, 1, T, D)
    q, k = part("rope")({}, same, same)
    scores = (q @ k.mT)[0, 0, 0]
    for distance in range(T):
        torch.testing.assert_close(scores.diagonal(-distance), scores.diagonal(-distance)[:1].expand(T - distance))


def token_model(spec, layers=1, embedding="learned", positions="none", mlp=0, heads=2):
    shape = ModelSpec(11, T, embedding, "learned", "token", rows=T, model_dim=6, classes=11, num_heads=heads, layers=layers, mlp=mlp,
                      positions=positions, init_std=1.0, output_std=1.0, key_std=1.0, field_std=1.0)  # fmt: skip
    model = Model(shape, parse(spec), 4, "cpu")
    seeds = (0, 1)
    p = {
        name: torch.stack([torch.from_numpy(draw_init(init, seed, name)) for seed in seeds]).double()
        for name, init in model.parameters().items()
    }
    return model, p


def tokens(seed=0, n=3):
    rng = np.random.default_rng(seed)
    batches = [Batch(rng.integers(0, 11, (n, T)), np.zeros((n, 1)), np.arange(T), np.ones(T, bool)) for _ in range(2)]
    return stack(batches, "cpu", torch.float64)


def run(model, p, batch):
    return model(p, batch, lambda layer: Draw((0, 1), layer, 0, "train"))


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


def test_a_model_equals_its_formula_in_a_loop():
    model, p = token_model("softmax")
    torch.testing.assert_close(run(model, p, tokens()), loop_model(p, tokens()))


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


def test_a_model_that_reads_values_by_an_mlp_equals_its_formula_in_a_loop():
    model, p = reading_model()
    assert p["layer1.key"].shape == (2, 3, 4)
    assert p["layer1.value"].shape == (2, 3, 5)
    assert not any(name.endswith("output") or name == "readout" for name in p)
    torch.testing.assert_close(run(model, p, tokens()), loop_reading_model(model, p, tokens()))


def test_each_head_has_an_oracle_query_and_a_field_of_its_own():
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
    before = run(model, p, batch)
    assert before.shape == (2, 3, 2, 1, T)
    field = p["layer1.bias.field"].clone()
    field.view(2, 6, 3, 2)[..., 1] += 0.5
    for changed in ({"layer1.oracle1.w3": p["layer1.oracle1.w3"] + 0.5}, {"layer1.bias.field": field}):
        after = run(model, {**p, **changed}, batch)
        assert torch.equal(after[:, :, 0], before[:, :, 0])
        assert not torch.allclose(after[:, :, 1], before[:, :, 1])


def test_selective_reads_every_row_where_the_last_alone_is_asked_for():
    model, p = token_model("selective")
    every = run(model, p, tokens())
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


def test_selective_s_modes_differ_and_an_unknown_one_is_refused():
    outputs = [run(*token_model(spec), tokens()) for spec in ("selective", "selective(maps=own)")]
    assert not torch.allclose(*outputs)
    with pytest.raises(ValueError, match=r"head0 \(published\) or own, not 'heads'"):
        parse("selective(maps=heads)")


def test_selective_spares_the_first_token_and_its_own_row_and_is_shared_by_the_heads():
    bias, p, x, scores = bias_and_input("selective")
    b = bias(p, Dense(x), scores, DRAW)
    assert b.shape == (N, B, 1, T, T)
    assert (b[..., 0] == 0).all()
    assert (b.diagonal(-1, dim1=-2, dim2=-1) == 0).all()  # at t = s + 1 no row lies between
    own, p, _, _ = bias_and_input("selective(maps=own)")
    assert (own(p, Dense(x), scores, DRAW).diagonal(-1, dim1=-2, dim2=-1) < 0).any()


def narrow(name):
    """A routing's spec with a window that is narrow on seven tokens; any other name as it is."""
    return {"moba": "moba(block=2)"}.get(name, f"{name}(w=3)" if name in REGISTRIES["routing"] and name != "full" else name)


SPECS = [*map(narrow, axis_of()), "selective(maps=own)", "fir+rope+fpa", "zero-keys+fpa"]


@pytest.mark.parametrize("spec", SPECS)
def test_a_later_token_changes_no_earlier_output_bit(spec):
    model, p = token_model(spec, layers=2, mlp=8, positions="learned")
    batch = tokens()
    before = run(model, p, batch)
    for t in (1, T - 1):
        changed = batch.tokens.clone()
        changed[..., t] = (changed[..., t] + 1) % 11
        after = run(model, p, Batch(changed, batch.target, batch.scored, batch.keys, {}, changed))
        assert torch.equal(after[:, :, :t], before[:, :, :t])
        assert not torch.equal(after[:, :, t:], before[:, :, t:])


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec != "fpa-hard"])
def test_gradients_are_those_of_finite_differences(spec):
    model, p = token_model(spec, heads=1)
    batch = tokens(n=1)
    names = [name for name in p if name.startswith("layer1")]
    if bias := next((piece for piece in spec.split("+") if piece in SOFTMIN), None):
        names = [name for name in names if not name.endswith(SOFTMIN[bias])]  # not that of the minimum, tests/kernels checks it
    values = tuple(p[name].clone().requires_grad_() for name in names)

    def loss(*given):
        return run(model, {**p, **dict(zip(names, given, strict=True))}, batch).square().mean()

    assert torch.autograd.gradcheck(loss, values, eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("axis", REGISTRIES)
def test_every_value_of_every_axis_changes_some_output(axis):
    outputs = {}
    for name in REGISTRIES[axis]:
        model, p = token_model({"none": "softmax"}.get(name, narrow(name)))
        outputs[name] = run(model, p, tokens())
    if axis == "bias":  # the hard and soft FPA differ in the gradient alone
        torch.testing.assert_close(outputs.pop("fpa-hard"), outputs["fpa"])
    values = list(outputs.values())
    assert all(not torch.allclose(a, b) for i, a in enumerate(values) for b in values[:i])


def test_hard_and_soft_fpa_differ_in_the_field_s_gradient():
    gradients = []
    for spec in ("fpa", "fpa-hard"):
        model, p = token_model(spec)
        field = p["layer1.bias.field"].requires_grad_()
        gradients.append(torch.autograd.grad(run(model, p, tokens()).square().sum(), field)[0])
    assert not torch.allclose(*gradients)


def test_a_spec_a_layer_puts_the_bias_in_that_layer_alone():
    model, p = token_model("rope+softmax/fpa", layers=2)
    assert {name for name in p if ".bias." in name} == {"layer2.bias.field", "layer2.bias.level", "layer2.bias.beta"}
    assert [layer.position.name for layer in model.layers] == ["rope", "nope"]


def test_parameters_of_equal_name_and_shape_start_equal_in_all_arms():
    arms = [token_model(spec)[1] for spec in ("softmax", "rope+fox", "fpa", "fpa-sum", "fir+alibi")]
    for p in arms:
        for other in arms:
            assert all(torch.equal(p[name], other[name]) for name in p.keys() & other.keys())


def test_a_table_and_dense_vectors_give_the_same_linear_map():
    table, weight = random(N, 11, M), random(N, M, 4, seed=1)
    ids = torch.randint(0, 11, (N, B, T), generator=torch.Generator().manual_seed(0))
    dense = torch.stack([table[n][ids[n]] for n in range(N)])
    torch.testing.assert_close(Lookup(table, ids, ids).linear(weight), Dense(dense).linear(weight))
    torch.testing.assert_close(Lookup(table, ids, ids).last(2).linear(weight), Dense(dense).last(2).linear(weight))


OWN = (1, 3)  # values whose key stands before them
AT_OWN_KEY = torch.tensor([[t in OWN and s == t - 1 for s in range(T)] for t in range(T)])
INTERVENED = {
    "clamp": (0.3, lambda b, step: b.clamp(min=-0.3)),
    "off-until": (10, lambda b, step: b * (step >= 10)),
    "warmup": (10, lambda b, step: b * min(1, step / 10)),
    "zero-offset": (2, lambda b, step: b - b.tril(-2).triu(-2)),
    "const": (1.5, lambda b, step: torch.where(AT_OWN_KEY, -1.5, 0).to(b.dtype).expand_as(b)),
    "freeze": (None, lambda b, step: b),
    "zero-own": (None, lambda b, step: b.masked_fill(AT_OWN_KEY, 0)),
    "only-own": (None, lambda b, step: b.masked_fill(~AT_OWN_KEY, 0)),
}


@pytest.mark.parametrize("kind", INTERVENED)
@pytest.mark.parametrize("step", [0, 5, 10])
def test_an_intervention_changes_the_bias_as_it_says(kind, step):
    bias, p, x, scores = bias_and_input("fpa")
    value, expected = INTERVENED[kind]
    draw = Draw((0, 1), 1, step, "train")
    b = bias(p, Dense(x), scores, draw)
    intervened = Intervened(bias, Intervention(kind, value), OWN)
    got = intervened(p, Dense(x), scores, draw).expand_as(b)
    torch.testing.assert_close(got, expected(b, step))
    last = scores[..., -3:, :]
    torch.testing.assert_close(intervened(p, Dense(x), last, draw).expand_as(last), got[..., -3:, :])
    changes = {"off-until": step < 10, "warmup": step < 10, "freeze": False}.get(kind, True)
    assert torch.equal(got, b) != changes


def test_a_scaled_field_starts_smaller_and_is_used_as_it_is():
    bias = part("fpa")
    scaled = Intervened(bias, Intervention("field-scale", 0.1)).parameters(DIMS)
    assert math.isclose(scaled["field"].std, 0.1 * bias.parameters(DIMS)["field"].std)
    assert scaled["level"] == bias.parameters(DIMS)["level"]


def test_a_frozen_bias_keeps_its_start_and_a_constant_has_no_parameters():
    bias = part("fpa")
    frozen = Intervened(bias, Intervention("freeze")).parameters(DIMS)
    assert all(init.frozen for init in frozen.values())
    assert frozen.keys() == bias.parameters(DIMS).keys()
    assert Intervened(bias, Intervention("const", 1.0), OWN).parameters(DIMS) == {}


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("cut", 1, ", ".join(KINDS)),
        ("clamp", float("nan"), "from 0 to 1000000, not nan"),
        ("clamp", -1.0, "from 0 to 1000000, not -1"),
        ("zero-offset", 0, "from 1 to 1000000, not 0"),
        ("warmup", 0, "from 1"),
        ("freeze", 1.0, "freeze takes no value"),
        ("clamp", None, "from 0 to 1000000, not None"),
    ],
)
def test_a_bad_intervention_is_refused(kind, value, message):
    with pytest.raises(ValueError, match=message):
        Intervention(kind, value)

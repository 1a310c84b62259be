"""Every bias against its formula in a loop over positions, and what an intervention makes of it."""

import math

import pytest
import torch

from attnprobe.probes.mixers.intervention import KINDS, Intervened, Intervention
from attnprobe.probes.mixers.parts import Dims, Draw
from attnprobe.probes.mixers.stream import Dense
from attnprobe.probes.spec import REGISTRIES, axis_of, parse

N, B, H, T, D, M = 2, 3, 2, 7, 5, 6
DIMS = Dims(model_dim=M, head_dim=D, num_heads=H, field_std=0.7)
DRAW = Draw((0, 1), layer=1, step=0, split="train")
BIASES = [*(name for name in REGISTRIES["bias"] if name != "none"), "selective(maps=own)"]


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


def test_selective_spares_the_first_token_and_its_own_row_and_is_shared_by_the_heads():
    bias, p, x, scores = bias_and_input("selective")
    b = bias(p, Dense(x), scores, DRAW)
    assert b.shape == (N, B, 1, T, T)
    assert (b[..., 0] == 0).all()
    assert (b.diagonal(-1, dim1=-2, dim2=-1) == 0).all()  # at t = s + 1 no row lies between
    own, p, _, _ = bias_and_input("selective(maps=own)")
    assert (own(p, Dense(x), scores, DRAW).diagonal(-1, dim1=-2, dim2=-1) < 0).any()


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

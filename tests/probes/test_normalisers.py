"""Normalisers against float64 loops: weights, gradients, masked keys, silent rows, scores of any size."""

import math

import pytest
import torch
from entmax import entmax15 as published_entmax15
from entmax import sparsemax as published_sparsemax

from attnprobe.probes.mixers.parts import FLOOR, Dims
from attnprobe.probes.spec import REGISTRIES, parse

N, B, H, T, S = 2, 3, 2, 4, 6
SPECS = (*REGISTRIES["normaliser"], "power(tau=0.4)", "power-tau(tau0=0.3,gate=rate)")
ZEROS = tuple(spec for spec in SPECS if spec not in ("softmax", "softmax1"))  # give exact zeros
SILENT = ("rela", "softpick", "power", "power-tau(tau0=0.3,gate=rate)")  # where no score is above their threshold
DIMS = Dims(model_dim=5, head_dim=5, num_heads=H)


def normaliser(spec):
    return parse(spec).layers[0].normaliser


def random(*shape, seed=0, scale=1.0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def parameters(part, dtype=torch.float64):
    """The part's parameters at their initial values, a little apart between the seeds."""
    made = {name: torch.full((N, *init.shape), init.value, dtype=dtype) for name, init in part.parameters(DIMS).items()}
    return {name: value + 0.1 * torch.arange(N, dtype=dtype).view(N, *[1] * (value.dim() - 1)) for name, value in made.items()}


def causal():
    return torch.ones(T, S, dtype=torch.bool).tril(S - T)


def bisect(f, low, high):
    """The root of a decreasing f."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return (low + high) / 2


def loop(spec, row, tau):
    """The weights of one row of allowed scores, by the published formula; tau: of the seed, where it is learned."""
    name = spec.partition("(")[0]
    if name == "softmax":
        return [math.exp(x) / sum(map(math.exp, row)) for x in row]
    if name == "softmax1":
        return [math.exp(x) / (1 + sum(map(math.exp, row))) for x in row]
    if name == "sparsemax":
        t = bisect(lambda t: sum(max(0, x - t) for x in row) - 1, min(row) - 1, max(row))
        return [max(0, x - t) for x in row]
    if name == "entmax15":
        t = bisect(lambda t: sum(max(0, x / 2 - t) ** 2 for x in row) - 1, min(row) / 2 - 1, max(row) / 2)
        return [max(0, x / 2 - t) ** 2 for x in row]
    if name == "rela":
        return [max(0, x) for x in row]
    if name == "softpick":
        return [max(0, math.exp(x) - 1) / (sum(abs(math.exp(y) - 1) for y in row) + 1e-8) for x in row]
    tau = {"power": {"power": 0.0, "power(tau=0.4)": 0.4}.get(spec), "power-centred": sum(row) / len(row), "power-tau": tau}[name]
    r = [max(0, x - tau) for x in row]
    if max(r) == 0:
        return [0.0] * len(row)
    u = [x**10 for x in r]
    gamma = max(r) / (1 + max(r)) if "rate" in spec else 1 - math.exp(-max(r))
    return [gamma * x / sum(u) for x in u]


@pytest.mark.parametrize("spec", SPECS)
def test_weights_equal_the_formula_in_a_loop_and_a_masked_key_does_not_count(spec):
    part, scores = normaliser(spec), random(N, B, H, T, S, scale=2.0)
    p = parameters(part)
    expected = torch.zeros_like(scores)
    for index in torch.cartesian_prod(*(torch.arange(n) for n in (N, B, H, T))).tolist():
        allowed = index[3] + S - T + 1
        tau = p["tau"][index[0]].item() if "tau" in p else None
        expected[tuple(index)][:allowed] = torch.tensor(loop(spec, scores[tuple(index)][:allowed].tolist(), tau), dtype=torch.float64)
    torch.testing.assert_close(part(p, scores, causal()), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("spec", SPECS)
def test_what_stands_at_a_masked_key_changes_no_bit(spec):
    part, scores = normaliser(spec), random(N, B, H, T, S).float()
    p = parameters(part, torch.float32)
    changed = torch.where(causal(), scores, 1e4 * random(N, B, H, T, S, seed=1).float())
    assert torch.equal(part(p, scores, causal()), part(p, changed, causal()))
    assert torch.equal(part.log(p, scores, causal()), part.log(p, changed, causal()))


@pytest.mark.parametrize(("ours", "published"), [("sparsemax", published_sparsemax), ("entmax15", published_entmax15)])
def test_sparse_weights_and_gradients_are_those_of_the_entmax_package(ours, published):
    x = random(50, 1, 1, 1, 9, scale=1.5)
    upstream = random(50, 1, 1, 1, 9, seed=1)
    made = []
    for f in (lambda x: normaliser(ours)({}, x, torch.ones(1, 9, dtype=torch.bool)), lambda x: published(x, dim=-1)):
        own = x.clone().requires_grad_()
        weights = f(own)
        made.append((weights.detach(), torch.autograd.grad(weights, own, upstream)[0]))
    torch.testing.assert_close(*(weights for weights, _ in made))
    torch.testing.assert_close(*(gradient for _, gradient in made))


@pytest.mark.parametrize("spec", SPECS)
def test_gradients_of_weights_log_and_output_are_those_of_finite_differences(spec):
    part, scores, v = normaliser(spec), random(N, 1, H, T, S, scale=1.5).requires_grad_(), random(N, 1, H, S, 5, seed=1)
    p = {name: value.requires_grad_() for name, value in parameters(part).items()}
    names = list(p)

    def weights(scores, *values):
        return part(dict(zip(names, values, strict=True)), scores, causal())

    def finished(scores, *values):
        own = dict(zip(names, values, strict=True))
        return part.finish(own, part(own, scores, causal()) @ v)

    def log(scores, *values):
        return part.log(dict(zip(names, values, strict=True)), scores, causal())[..., causal()]

    for f in (weights, finished):
        assert torch.autograd.gradcheck(f, (scores, *p.values()), eps=1e-7, atol=1e-5)
    assert torch.autograd.gradcheck(log, (scores, *p.values()), eps=1e-8, atol=1e-4, rtol=1e-2)  # slopes up to 1e6


@pytest.mark.parametrize("spec", SILENT)
def test_a_row_without_a_score_above_the_threshold_is_exactly_silent_and_has_exactly_no_gradient(spec):
    part, scores = normaliser(spec), (-random(N, B, H, T, S).abs() - 0.1).requires_grad_()
    p = {name: value.requires_grad_() for name, value in parameters(part).items()}
    output = part.finish(p, part(p, scores, causal()) @ random(N, B, H, S, 5, seed=1))
    assert torch.count_nonzero(output) == 0
    for gradient in torch.autograd.grad(output.sum(), [scores, *p.values()], materialize_grads=True):
        assert torch.count_nonzero(gradient) == 0
    if spec.startswith("power"):  # an untouched threshold, too, in the log that a divergence is taken with
        gradients = torch.autograd.grad(part.log(p, scores, causal()).sum(), [scores, *p.values()], materialize_grads=True)
        assert all(torch.count_nonzero(gradient) == 0 for gradient in gradients)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("case", ["tiny", "huge", "low", "equal", "apart"])
def test_scores_of_any_size_give_finite_weights_and_gradients_in_float32(spec, case):
    scores = {
        "tiny": random(N, B, H, T, S, scale=1e-5),
        "huge": random(N, B, H, T, S, scale=1e4),
        "low": torch.full((N, B, H, T, S), -100.0),
        "equal": torch.zeros(N, B, H, T, S),
        "apart": random(N, B, H, T, S) * torch.tensor([1e-5, 1e4, 1, 1e-5, 1e4, 1]),
    }[case].float().requires_grad_()  # fmt: skip
    part = normaliser(spec)
    p = {name: value.requires_grad_() for name, value in parameters(part, torch.float32).items()}
    weights = part(p, scores, causal())
    output = part.finish(p, weights @ random(N, B, H, S, 5, seed=1).float())
    log = part.log(p, scores, causal())[..., causal()]
    assert all(x.isfinite().all() for x in (weights, output, log))
    assert (weights >= 0).all()
    if spec != "rela":
        assert (weights.sum(-1) <= 1 + 1e-5).all()
    for x in (output, log):
        for gradient in torch.autograd.grad(x.sum(), [scores, *p.values()], materialize_grads=True, retain_graph=True):
            assert gradient.isfinite().all()


def test_small_scores_keep_their_digits_in_float32():
    """Softpick's e^x - 1 and the power norm's 1 - e^-R at x = 1e-6: written as they stand, float32 keeps one digit of them."""
    scores = 1e-6 * random(1, 1, 1, 1, S).abs()
    mask = torch.ones(1, S, dtype=torch.bool)
    for spec in ("softpick", "power", "power-centred"):
        part = normaliser(spec)
        torch.testing.assert_close(part({}, scores.float(), mask).double(), part({}, scores, mask), rtol=1e-4, atol=0)


@pytest.mark.parametrize("spec", SPECS)
def test_the_log_is_that_of_the_weights_floored_where_they_can_be_zero(spec):
    part, scores = normaliser(spec), random(N, B, H, T, S, scale=2.0)
    p = parameters(part)
    weights = part(p, scores, causal())
    if spec == "rela":
        total = weights.sum(-1, keepdim=True)
        weights = weights / torch.where(total > 0, total, 1)
    expected = (weights + FLOOR).log() if spec in ZEROS else weights.log()
    torch.testing.assert_close(part.log(p, scores, causal()), expected)


def test_the_rows_that_stay_at_mass_1_are_those_of_softmax_and_the_projections():
    """Every score at -100: softmax1 keeps 6 e^-100, the rectified ones exactly 0."""
    scores, mask = torch.full((N, B, H, 1, S), -100.0, dtype=torch.float64), torch.ones(1, S, dtype=torch.bool)
    mass = {spec: normaliser(spec)(parameters(normaliser(spec)), scores, mask).sum(-1).max().item() for spec in REGISTRIES["normaliser"]}
    assert {name for name, value in mass.items() if value > 1e-40} == {"softmax", "sparsemax", "entmax15"}
    assert mass["softmax1"] == pytest.approx(6 * math.exp(-100))


def test_the_gates_differ_and_each_gives_its_mass():
    """One key at x = 1, tau = -2: R = 3; exp: 1 - e^-3 = 0.9502, rate: 3/4."""
    scores, mask = torch.ones(1, 1, 1, 1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.bool)
    p = {"tau": torch.tensor([-2.0], dtype=torch.float64)}
    assert normaliser("power-tau")(p, scores, mask).item() == pytest.approx(1 - math.exp(-3))
    assert normaliser("power-tau(gate=rate)")(p, scores, mask).item() == pytest.approx(0.75)


def test_of_equal_maxima_the_first_has_the_gate_s_gradient():
    """Two keys at R = 1 over tau = 0: weights gamma / 2 each, their sum's gradient gamma'(1) = e^-1 at the first alone."""
    scores = torch.ones(1, 1, 1, 1, 2, dtype=torch.float64).requires_grad_()
    normaliser("power")({}, scores, torch.ones(1, 2, dtype=torch.bool)).sum().backward()
    torch.testing.assert_close(scores.grad[0, 0, 0, 0], torch.tensor([math.exp(-1), 0.0], dtype=torch.float64))


def test_rela_gives_unit_length_where_no_gain_is_trained():
    dims = Dims(model_dim=5, head_dim=5, num_heads=H, gain=False)
    part, output = normaliser("rela"), random(N, B, H, T, 7)
    assert part.parameters(dims) == {}
    torch.testing.assert_close(part.finish({}, output).norm(dim=-1), torch.ones(N, B, H, T, dtype=torch.float64), rtol=1e-4, atol=0)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("power-tau(gate=tanh)", r"gate must be exp .* or rate .*, not 'tanh'"),
        ("power-tau(tau0=nan)", "tau0 must be finite, not nan"),
        ("power(tau=inf)", "tau must be finite, not inf"),
    ],
)
def test_bad_parameters_are_refused(spec, message):
    with pytest.raises(ValueError, match=message):
        parse(spec)


def test_the_alias_is_the_filter_and_the_norm():
    assert parse("pn_fir_tau") == parse("fir+power-tau")
    assert str(parse("power-tau(tau0=-3)+fir")) == "fir+power-tau(tau0=-3.0)"


def test_zero_keys_leave_the_scores_to_the_bias():
    k = random(N, B, H, S, 5)
    assert torch.count_nonzero(parse("zero-keys").layers[0].key_filter({}, k)) == 0

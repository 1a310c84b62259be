"""`check_mixer` passes what the suite has, and catches each kind of wrong mechanism with a line that says what and where."""

import re
import sys
from dataclasses import dataclass, replace

import pytest
import torch

from attnprobe.probes.checks.findings import run
from attnprobe.probes.checks.mixer import CHECKS, check_mixer
from attnprobe.probes.mixers.bias.age import ages
from attnprobe.probes.mixers.key_filter.fir import Fir
from attnprobe.probes.mixers.parts import Bias, Init, Normaliser, OnePath, Position, floored_log
from attnprobe.probes.mixers.routing.full import causal
from attnprobe.probes.mixers.routing.stochastic import Union
from attnprobe.probes.mixers.routing.window import Swa
from attnprobe.probes.spec import axis_of, parse

PLAIN = parse("softmax").layers[0]
SPECS = [*axis_of(), "selective(maps=own)", "fir+rope+fpa+power-tau+gated"]
FAST = ["fpa", "selective", "power-tau", "rela", "gated", "moba", "fir+rope+fpa+power-tau+gated"]


def failures(mixer):
    return {finding.check: finding.text for finding in check_mixer(mixer) if finding.status == "FAIL"}


@pytest.mark.parametrize("spec", [spec if spec in FAST else pytest.param(spec, marks=pytest.mark.slow) for spec in SPECS])
def test_every_part_of_the_suite_passes_every_check(spec):
    found = check_mixer(parse(spec).layers[0])
    assert [finding.check for finding in found] == list(CHECKS)
    assert {finding.status for finding in found} == {"ok"}, [finding for finding in found if finding.status != "ok"]


def a_bias(rule, name="a wrong bias", params=None, **facts):
    """A bias that computes rule(p, x, scores); params: name -> Init; facts: class attributes."""

    @dataclass(frozen=True)
    class Wrong(Bias):
        def parameters(self, dims):
            return params or {}

        def __call__(self, p, x, scores, draw):
            return rule(p, x, scores)

    for key, value in facts.items():
        setattr(Wrong, key, value)
    Wrong.name = name
    return replace(PLAIN, bias=Wrong())


def a_normaliser(rule, log=None, finish=None):
    @dataclass(frozen=True)
    class Wrong(Normaliser):
        name = "a wrong normaliser"

        def parameters(self, dims):
            return {}

        def __call__(self, p, scores, mask):
            return rule(scores, mask)

        def log(self, p, scores, mask):
            return log(scores, mask) if log else floored_log(rule(scores, mask))

        def finish(self, p, output):
            return finish(output) if finish else output

    return replace(PLAIN, normaliser=Wrong())


def a_position(rule):
    @dataclass(frozen=True)
    class Wrong(Position):
        name = "a wrong position"

        def parameters(self, dims):
            return {}

        def __call__(self, p, q, k):
            return rule(q, k)

    return replace(PLAIN, position=Wrong())


def a_routing(base=OnePath, rule=lambda T, S, device: causal(T, S, device), **facts):
    @dataclass(frozen=True)
    class Wrong(base):
        name = "a wrong routing"

        @classmethod
        def of_window(cls, w):
            return cls()

        def fits(self, seq_len):
            pass

        def masks(self, q, k, draw):
            return [rule(q.shape[-2], k.shape[-2], k.device)] if base is OnePath else super().masks(q, k, draw)

    for key, value in facts.items():
        setattr(Wrong, key, value)
    return replace(PLAIN, routing=Wrong())


def gate(x):
    """A number <= 0 at every position: (N, B, T)."""
    return -x.dense().square().sum(-1)


def beyond(scores):
    """1 where s is before t, else 0: (T, S)."""
    return (ages(scores) > 0).to(scores.dtype)


SLOPE = {"a": Init((), value=1.0)}


def plain_softmax(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)


def in_place(p, x, scores):
    x.dense().mul_(1.0000001)
    return scores.new_zeros(scores.shape[-2:]) - beyond(scores)


WRONG = {
    "a bias that peeks at the future": (
        a_bias(lambda p, x, s: gate(x).mean(-1)[:, :, None, None, None] * beyond(s)),
        "causality",
        r"position \d+ sees the future: tokens from position \d+ on change it from -?\d.* to -?\d",
    ),
    "a normaliser that ignores the mask": (a_normaliser(lambda s, m: s.softmax(-1)), "causality", "position 0 sees the future"),
    "a bias that depends on the sequence's length": (
        a_bias(lambda p, x, s: -s.shape[-1] / 7 * beyond(s)),
        "causality",
        r"position \d is .* in a sequence of 7 and .* at the start of 33: an output depends on how many positions come after it",
    ),
    "a window that depends on the sequence's length": (
        a_routing(rule=lambda T, S, device: causal(T, S, device).triu(S - T - S // 7), content_free=True),
        "causality",
        r"position \d is .* in a sequence of 7 and",
    ),
    "a bias that leaks across the batch": (
        a_bias(lambda p, x, s: gate(x).mean(1, keepdim=True).cummax(-1).values[:, :, None, :, None] * beyond(s)),
        "batch",
        r"example \d sees example 0, which changes it from",
    ),
    "a bias that leaks along the batch": (
        a_bias(lambda p, x, s: gate(x).cumsum(1).cumsum(-1)[:, :, None, :, None] * beyond(s)),
        "batch",
        r"example [12] sees example 0",
    ),
    "a position that is NaN at head_dim 1": (
        a_position(lambda q, k: (q / (q.shape[-1] - 1) * 0 + q, k)),
        "head_dim",
        r"head_dim 1: nan at index \[0, 0, 0, 0\]",
    ),
    "a position that splits the head in two": (
        a_position(lambda q, k: (q.unflatten(-1, (2, -1)).flatten(-2), k)),
        "head_dim",
        r"raises RuntimeError: .*\(test_check_mixer.py, line \d+\)",
    ),
    "a bias that is not deterministic": (
        a_bias(lambda p, x, s: -torch.rand(s.shape[-2:], dtype=s.dtype) * beyond(s)),
        "deterministic",
        r"two equal calls differ: position \d+ was changed from",
    ),
    "a bias that draws and ignores what it drew": (
        a_bias(lambda p, x, s: -beyond(s) + 0 * torch.rand(1, dtype=s.dtype)),
        "deterministic",
        "draws from torch's global generator",
    ),
    "a bias that writes into its input": (a_bias(in_place), "deterministic", r"a call of bias writes into x at index \[.*\], from -?\d"),
    "a bias that writes into the scores": (
        a_bias(lambda p, x, s: (s.mul_(0.5), -beyond(s))[1]),
        "deterministic",
        r"a call of bias writes into scores at index \[\d, \d, \d, \d, \d\], from",
    ),
    "a bias that writes into its parameters": (
        a_bias(lambda p, x, s: -(p["a"].mul_(1.5).square()).view(-1, 1, 1, 1, 1) * beyond(s), params=SLOPE),
        "deterministic",
        r"a call of bias writes into p\['a'\] at index \[\d\], from",
    ),
    "a normaliser that writes into the scores": (
        a_normaliser(lambda s, m: s.mul_(0.5).masked_fill(~m, -torch.inf).softmax(-1)),
        "deterministic",
        "a call of normaliser writes into scores at",
    ),
    "a normaliser whose logarithm writes into the scores": (
        a_normaliser(plain_softmax, log=lambda s, m: s.add_(1.0).masked_fill(~m, -torch.inf).log_softmax(-1)),
        "weights",
        r"a call of normaliser\.log\(\) writes into scores at",
    ),
    "a normaliser whose finish writes into the output": (
        a_normaliser(plain_softmax, finish=lambda o: o.mul_(0.5)),
        "deterministic",
        r"a call of normaliser\.finish\(\) writes into output at",
    ),
    "a position that writes into the queries": (
        a_position(lambda q, k: (q.add_(1.0), k)),
        "deterministic",
        "a call of position writes into q at",
    ),
    "a key filter that writes into the keys": (
        replace(PLAIN, key_filter=type("Writes", (Fir,), {"name": "writes", "__call__": lambda self, p, k: k.mul_(2.0)})()),
        "deterministic",
        "a call of key_filter writes into k at",
    ),
    "a routing that writes into the keys": (
        a_routing(Swa, masks=lambda self, q, k, draw: (k.mul_(2.0), Swa.masks(self, q, k, draw))[1]),
        "deterministic",
        r"a call of routing\.masks\(\) writes into k at",
    ),
    "a bias above 0": (
        a_bias(lambda p, x, s: p["a"].view(-1, 1, 1, 1, 1) * beyond(s), params=SLOPE),
        "bias",
        r"1 at query \d, key \d \(seed \d, example \d, head \d\), at the parameters' start: a bias is never above 0",
    ),
    "a bias above 0 once trained": (
        a_bias(lambda p, x, s: -p["a"].view(-1, 1, 1, 1, 1) * beyond(s), params=SLOPE),
        "bias",
        r"at query \d, key \d .*, at parameters N\(start, \d\^2\): a bias is never above 0",
    ),
    "a bias on the query's own key": (
        a_bias(lambda p, x, s: -s.new_ones(s.shape[-2:])),
        "bias",
        "-1 at query 0 and key 0, at the parameters' start: a query's bias on its own key is 0; subtract it",
    ),
    "a bias that ignores its seed axis": (
        a_bias(lambda p, x, s: -p["a"][0].abs() * beyond(s), params=SLOPE),
        "seeds",
        r"seed 1 of a stack gives .* where it gives .* alone .*the seed axis is ignored, or seeds are mixed",
    ),
    "a bias that mixes its seeds": (
        a_bias(lambda p, x, s: -p["a"].abs().mean() * beyond(s), params=SLOPE),
        "seeds",
        r"seed 0 of a stack gives",
    ),
    "a bias that sees the seeds after it in the stack, and not when alone": (
        a_bias(lambda p, x, s: -(p["a"].abs() + 1e-11 * p["a"].sum()).view(-1, 1, 1, 1, 1) * beyond(s), params=SLOPE),
        "seeds",
        r"seed [12] sees seed 0, which changes it from",
    ),
    "a bias that takes row 0 for position 0": (
        a_bias(lambda p, x, s: -s.new_ones(s.shape[-2:]).tril(-1)),
        "rows",
        r"of the last 1 rows, row 0 is .*: with T rows of S positions, row 0 is position S - T",
    ),
    "a bias that reads every row and does not say so": (
        a_bias(lambda p, x, s: -(s.relu().cumsum(-2) - s.relu()) * beyond(s)),
        "rows",
        "or declare every_row",
    ),
    "a bias of the wrong shape for one head": (
        a_bias(lambda p, x, s: -s[:, :, 1:2].square() * beyond(s)),
        "shapes",
        r"raises \w+Error",
    ),
    "a bias that computes in float64": (
        a_bias(lambda p, x, s: -beyond(s).double()),
        "dtype",
        r"float32 in, float64 out, of the bias: give new tensors the dtype of the arguments",
    ),
    "a bias whose gradient is cut off": (
        a_bias(lambda p, x, s: -(p["a"].detach() * p["a"]).view(-1, 1, 1, 1, 1) * beyond(s), params=SLOPE),
        "gradients",
        r"by bias\.a\[0?\]?.*: autograd gives .*, differences .* \(on purpose\? name it in `surrogate`\)",
    ),
    "a bias with a misspelt surrogate": (
        a_bias(lambda p, x, s: -p["a"].square().view(-1, 1, 1, 1, 1) * beyond(s), params=SLOPE, surrogate=("b",)),
        "gradients",
        "surrogate names bias.b, which no part declares",
    ),
    "a bias with a parameter that reaches nothing": (
        a_bias(lambda p, x, s: -beyond(s) + 0 * p["a"].view(-1, 1, 1, 1, 1), params=SLOPE),
        "parameters",
        "bias.a reaches nothing: its gradient is 0 everywhere",
    ),
    "a bias with a parameter that is a number": (a_bias(lambda p, x, s: -beyond(s), params={"a": 1.0}), "parameters", "float, not Init"),
    "a bias that is always 0": (a_bias(lambda p, x, s: 0 * s), "declared", "declares adds = True, and its bias is always 0"),
    "a normaliser that overflows": (
        a_normaliser(lambda s, m: (e := s.exp() * m) / e.sum(-1, keepdim=True)),
        "extremes",
        r"scores of 1e4: nan at index",
    ),
    "a normaliser with a root at 0": (
        a_normaliser(lambda s, m: (r := (s.relu() * m).sqrt()) / (1 + r.sum(-1, keepdim=True))),
        "extremes",
        r"the gradient by \w+: nan at index",
    ),
    "a normaliser whose rows sum to more than 1": (
        a_normaliser(lambda s, m: s.sigmoid() * m),
        "weights",
        r"a row of weights sums to \d\.\d+: at most 1, unless finish takes the scale off",
    ),
    "a normaliser with negative weights": (
        a_normaliser(lambda s, m: s.tanh() * m / m.sum(-1, keepdim=True)),
        "weights",
        r"the weight -0\.\d+ at query \d, key \d: weights are at least 0",
    ),
    "a normaliser for which a masked key counts": (
        a_normaliser(lambda s, m: (e := (s - 20).exp()) * m / (e.sum(-1, keepdim=True) + 1)),
        "weights",
        r"what a masked key scores changes the weight at query \d, key \d from",
    ),
    "a normaliser that gives a masked key a weight": (
        a_normaliser(lambda s, m: s.masked_fill(~m, -1.0).softmax(-1)),
        "weights",
        r"the weight 0\.\d+ at query 0, key 1, which is masked",
    ),
    "a normaliser with another's logarithm": (
        a_normaliser(plain_softmax, log=lambda s, m: (2 * s).masked_fill(~m, -torch.inf).log_softmax(-1)),
        "weights",
        r"log\(\) gives -\d.* at query \d, key \d, where the weight is",
    ),
    "a key filter that says it is pointwise": (
        replace(PLAIN, key_filter=type("Said", (Fir,), {"pointwise": True, "name": "said"})()),
        "declared",
        r"said declares pointwise, and key \d depends on key 0",
    ),
    "a routing without the query itself": (
        a_routing(rule=lambda T, S, device: causal(T, S, device).tril(S - T - 1), content_free=True),
        "declared",
        r"query 0 does not see itself",
    ),
    "a routing that says it hides nothing": (a_routing(Swa, hides=False), "declared", "declares hides = False"),
    "a routing that says it is not random": (a_routing(Union, random=False), "declared", "declares random = False"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_mechanism_is_caught_with_what_and_where(name):
    mixer, check, message = WRONG[name]
    found = failures(mixer)
    assert check in found, found
    assert re.search(message, found[check]), found[check]


def test_a_mechanism_right_but_for_one_thing_fails_that_alone():
    assert list(failures(WRONG["a bias above 0 once trained"][0])) == ["bias"]
    assert list(failures(WRONG["a bias with a parameter that reaches nothing"][0])) == ["parameters"]
    assert list(failures(WRONG["a bias that is not deterministic"][0])) == ["deterministic"]
    assert list(failures(WRONG["a normaliser with another's logarithm"][0])) == ["weights"]


def test_a_prefix_alone_is_asked_of_all_but_a_routing_that_draws_an_order():
    for spec, said in {"fpa": "the first 7 of 33 give what they give alone", "sa": "not asked of a routing"}.items():
        (found,) = [finding for finding in check_mixer(parse(spec).layers[0]) if finding.check == "causality"]
        assert said in found.text


def test_a_part_that_exits_fails_and_an_interrupt_or_a_signal_goes_on():
    found = failures(a_bias(lambda p, x, s: sys.exit(0)))
    assert re.search(r"raises SystemExit: 0 \(test_check_mixer.py, line \d+\)", found["shapes"]), found

    class Signalled(KeyboardInterrupt):
        pass

    def stop(error):
        raise error

    for error in (KeyboardInterrupt(), Signalled()):
        with pytest.raises(type(error)):
            run({"stop": lambda error=error: stop(error)})


def test_a_kink_is_no_wrong_gradient():
    """|a| has the slopes -1 and 1 at 0, and a ramp of relu has 0 and 1 where it starts."""
    at_zero = a_bias(lambda p, x, s: -p["a"].abs().view(-1, 1, 1, 1, 1) * beyond(s), params={"a": Init((), value=0.0)})
    assert "gradients" not in failures(at_zero)


def test_rows_that_are_silent_are_counted():
    (found,) = [finding for finding in check_mixer(parse("power").layers[0]) if finding.check == "weights"]
    assert "% of random rows are silent" in found.text
    (found,) = [finding for finding in check_mixer(PLAIN) if finding.check == "weights"]
    assert "no random row is silent" in found.text

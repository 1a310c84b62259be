"""Training with the fused kernels, interpreted, against training by the formula; and that a result is named by the kernels it used."""

import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from attnprobe.kernels import dispatch, launch, loop, power_norm
from attnprobe.kernels.stochastic import allowed
from attnprobe.probes import code
from attnprobe.probes.batch import stack
from attnprobe.probes.mixers import kernel
from attnprobe.probes.mixers.attention import Attention
from attnprobe.probes.mixers.parts import Dims, Draw, FieldBias, FusedNormaliser, FusedRouting
from attnprobe.probes.mixers.stream import Dense
from attnprobe.probes.spec import axis_of, parse
from attnprobe.probes.stack import Stack
from attnprobe.probes.store import identity
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.train import Training

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered in exp2"),
    pytest.mark.filterwarnings("ignore:overflow encountered in multiply"),  # of a masked score, which is clamped
]

DEVICE = "cpu" if loop.INTERPRETED else "cuda"
TASK = TASKS["copy"]()
STEPS = 2
ROUNDING = 2.0**-23  # of fp32
NORMS = ("fir+power-tau", "rope+power-tau(tau0=-0.5,gate=rate)", "power")
WINDOWS = ("swa(w=4)", "rope+sa(w=6)", "sa(w=6,draw=fixed)", "fir+gated(w=5)")


def trained(text, seeds=(0, 1)):
    """The training losses of every step of every seed, and the weights at the end."""
    recipe = replace(TASK.recipe, steps=STEPS, batch=2)
    training = Training(TASK, parse(text), 8, seeds, recipe, DEVICE, None)
    data = training.data(0)
    losses = torch.stack([training.step(data.examples(2 * i, 2 * i + 2), i)[0] for i in range(STEPS)])
    return losses, training.stack.values.detach().clone()


@pytest.mark.parametrize("text", ["fpa", "fox", "rope+softmax", "softmax/fpa", *NORMS, *WINDOWS])
def test_fused_kernels_train_two_seeds_to_the_losses_and_weights_of_the_formula(text, monkeypatch):
    """The last layer has fewer rows than keys; Adam's first steps are of size lr whatever the gradient, so weights are compared loosely."""
    monkeypatch.setenv("PROBE_KERNELS", "reference")
    by_formula = trained(text)
    calls = []
    attention = kernel.attention
    monkeypatch.setattr(kernel, "attention", lambda *arguments: calls.append(1) or attention(*arguments))
    monkeypatch.setenv("PROBE_KERNELS", "fused")
    by_kernel = trained(text)
    assert len(calls) == 2 * STEPS * (1 + ("gated" in text))  # one a layer, step and path
    torch.testing.assert_close(by_kernel[0], by_formula[0], rtol=2e-5, atol=1e-6)
    assert (by_kernel[1] - by_formula[1]).norm() <= 1e-3 * by_formula[1].norm()


@pytest.mark.parametrize("text", ["fir+fpa", *NORMS, *WINDOWS])
def test_every_gradient_of_a_layer_is_that_of_the_formula(text, monkeypatch):
    """Tau's is a sum over pairs that nearly cancels: beside its size, a rounding of what cancels is allowed."""
    gradients, cancels = [], []

    def seen(scores, *others):
        scores.register_hook(lambda gradient: cancels.append(gradient.abs().sum()))
        return formula(scores, *others)

    formula = power_norm.power_norm
    monkeypatch.setattr(power_norm, "power_norm", seen)
    for forced in ("reference", "fused"):
        monkeypatch.setenv("PROBE_KERNELS", forced)
        training = Training(TASK, parse(text), 8, (3, 4), replace(TASK.recipe, batch=2), DEVICE, None)
        training.step(training.data(0).examples(0, 2), 0)
        gradients.append(dict(zip(training.stack.trained, split(training.stack), strict=True)))
    for name, by_formula in gradients[0].items():
        error = (gradients[1][name] - by_formula).norm()
        lost = ROUNDING * max(cancels) if name.endswith("tau") else 1e-8
        assert error <= 1e-5 * by_formula.norm() + lost, name
    own = ("bias.", "normaliser.", "routing.")
    assert all(by_formula.any() for name, by_formula in gradients[0].items() if any(axis in name for axis in own))


def split(stack):
    return stack.values.grad.split([value[0].numel() for value in stack.trained.values()], 1)


def test_weights_are_judged_by_the_formula_in_float64(monkeypatch):
    monkeypatch.setenv("PROBE_KERNELS", "fused")
    training = Training(TASK, parse("fpa"), 8, (0,), replace(TASK.recipe, batch=2), DEVICE, None)
    monkeypatch.setattr(kernel, "attention", None)
    training.journal.first_norms[0] = 1.0
    assert training.score(training.model, 0, ("test",), 4)[TASK.metric].dtype == torch.float64


@pytest.mark.parametrize("text", ["sa(w=6)", "gated(w=5)"])
def test_a_step_does_not_check_the_orders_that_it_drew(text, monkeypatch):
    """The check sorts, and on CUDA waits for what it finds."""
    monkeypatch.setenv("PROBE_KERNELS", "fused")
    monkeypatch.setattr(torch.Tensor, "sort", None)
    losses, _ = trained(text, (0,))
    assert losses.isfinite().all()


REFUSED = {
    "no fused kernel computes alibi+softmax+full": ("copy", "alibi"),
    "no fused kernel computes fpa+softmax1+full": ("copy", "fpa+softmax1"),
    "no fused kernel computes fpa:clamp=3+softmax+full": ("copy", "fpa:clamp=3/fpa"),
    "no fused kernel computes fpa+power-tau+full (a kernel is of a bias, a threshold or a window, not of two)": ("copy", "fpa+pn_fir_tau"),
    "no fused kernel computes none+power+sa (a kernel is of": ("copy", "power+sa(w=4)"),
    "no fused kernel computes none+power-centred+full (its threshold is a row's mean": ("copy", "power-centred"),
    "no fused kernel computes none+softmax+union (it is two windows under one softmax": ("copy", "union(w=4)"),
    "does not give the attention weights": ("ladder", "fpa"),
    "values as wide as keys, and here they are": ("name-search", "fpa"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_forcing_fused_says_why_it_cannot_be(reason, monkeypatch):
    task, text = REFUSED[reason]
    monkeypatch.setenv("PROBE_KERNELS", "fused")
    task = TASKS[task]()
    with pytest.raises(ValueError, match=f"PROBE_KERNELS=fused cannot be obeyed: .*{re.escape(reason)}"):
        Training(task, parse(text), 8, (0,), task.recipe, DEVICE, None)


def test_a_task_with_positions_that_are_no_keys_is_refused_when_forced_and_goes_to_the_formula_otherwise(monkeypatch):
    q = torch.zeros(1, 1, 1, 4, 4)
    batch = replace(TASK.sample(np.random.default_rng(0), 1), every_key=False)
    assert not kernel.suits(q, batch)
    assert kernel.suits(q, replace(batch, every_key=True))
    assert not kernel.suits(q[..., :1, :], replace(batch, every_key=True)), "a last row alone"
    assert not kernel.suits(q.double(), replace(batch, every_key=True))
    monkeypatch.setenv("PROBE_KERNELS", "fused")
    with pytest.raises(ValueError, match="some positions of this task are no keys"):
        kernel.suits(q, batch)
    assert kernel.suits(q[..., :1, :], replace(batch, every_key=True))


def test_the_command_line_says_in_one_line_why_fused_cannot_be():
    environment = {**os.environ, "PROBE_KERNELS": "fused", "TRITON_INTERPRET": "0"}
    command = [sys.executable, "-m", "attnprobe.cli", "run", "copy", "--steps", "1", "--seeds", "1", "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 2
    assert "needs a CUDA device, or TRITON_INTERPRET=1 on a CPU" in done.stderr
    assert "Traceback" not in done.stderr


def named(text="fpa", device="cpu"):
    return identity(TASK, parse(text), 8, TASK.recipe, 0, "float32", device)["code"]


def test_the_code_of_a_result_covers_the_kernels_it_was_trained_with(monkeypatch):
    monkeypatch.setenv("PROBE_KERNELS", "reference")
    formula = named()
    assert named(device="cuda") == formula
    monkeypatch.delenv("PROBE_KERNELS")
    assert named() == formula, "on a CPU, auto is the formula"
    assert named(device="cuda") != formula
    assert named("alibi", "cuda") == named("alibi")
    seen, tree = [], code.tree
    monkeypatch.setattr(code, "tree", lambda module: seen.append(module) or tree(module))
    named(device="cuda")
    assert {f"attnprobe.kernels.{name}" for name in ("loop", "launch", "fpa.fused", "fpa.fused_tables")} <= set(seen)


def test_every_part_in_the_table_says_what_a_kernel_takes_of_it_and_the_widest_head_is_the_kernels():
    for parts in dispatch.FUSED:
        (mixer,) = parse("+".join(part for part in parts if part != "none")).of_layers(1)
        assert (mixer.bias.name, mixer.normaliser.name, mixer.routing.name) == parts
        assert isinstance(mixer.bias, FieldBias)
        assert isinstance(mixer.normaliser, FusedNormaliser)
        assert isinstance(mixer.routing, FusedRouting)
    assert kernel.WIDEST == launch.WIDEST


def test_every_reason_is_of_a_part_that_no_kernel_serves():
    for part in dispatch.UNSERVED:
        assert part in axis_of()
        assert not any(part in served for served in dispatch.FUSED)


@pytest.mark.parametrize("text", ["power(tau=-0.5)", "power-tau", "softmax"])
def test_a_shift_of_every_score_reaches_the_kernel(text, monkeypatch):
    """The layer of a task that takes 2 off every score, by both ways; the shift changes what a threshold leaves, and no softmax."""
    outputs = []
    batch = stack([TASK.sample(np.random.default_rng(0), 3)], DEVICE, torch.float32)
    for forced, shift in (("reference", 0.0), ("reference", -2.0), ("fused", -2.0)):
        monkeypatch.setenv("PROBE_KERNELS", forced)
        shape = replace(TASK.model, score_shift=shift)
        layer = Attention(parse(text).of_layers(1)[0], Dims(shape.width, 8, 2), shape, DEVICE)
        p = Stack(layer.parameters(), (0,), torch.device(DEVICE), torch.float32).parameters
        x = torch.randn(1, 3, TASK.model.seq_len, shape.width, generator=torch.Generator().manual_seed(0)).to(DEVICE)
        outputs.append(layer(p, Dense(x), batch, Draw((0,), 1, 0, "train"), 9))
    torch.testing.assert_close(outputs[2], outputs[1], rtol=1e-5, atol=1e-6)
    assert torch.allclose(outputs[0], outputs[1], rtol=1e-4) == (text == "softmax")


def test_a_random_order_is_drawn_anew_for_a_step_and_a_fixed_one_is_not():
    """What the kernel is given is the position in each slot, of the order whose slots the masks are made of."""
    k = torch.zeros(2, 1, 1, 12, 4)
    for text, changes in (("sa(w=5)", True), ("gated(w=10)", True), ("sa(w=5,draw=fixed)", False)):
        routing = parse(text).of_layers(1)[0].routing
        draws = [Draw((0, 7), 2, step, "train") for step in (0, 3)]
        masks, windows = [routing.masks(k, k, draw)[0] for draw in draws], [routing.windows(k, draw)[0] for draw in draws]
        for mask, ((perm,), settings) in zip(masks, windows, strict=True):
            assert torch.equal(allowed(perm.argsort(-1), settings["window"], 12)[:, None], mask)
        assert torch.equal(windows[0][0][0], windows[1][0][0]) != changes


def test_a_gpu_trains_with_the_kernels_by_default(monkeypatch):
    monkeypatch.delenv("PROBE_KERNELS", raising=False)
    shape = TASK.model
    dims = Dims(shape.width, 8, shape.num_heads)
    served = ("fpa", "fox", "softmax", "pn_fir_tau", "power", "swa(w=4)", "sa(w=4)", "rope+gated(w=4)")
    left = ("alibi", "fpa+pn_fir_tau", "power-centred", "fox+swa(w=4)", "power+sa(w=4)", "union(w=4)", "moba(block=4)", "softmax1")
    for text in (*served, *left):
        layer = Attention(parse(text).of_layers(2)[0], dims, shape, "cuda")
        assert (layer.operator is not None) == (text in served), text

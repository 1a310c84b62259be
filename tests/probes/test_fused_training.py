"""Training with the fused kernels, interpreted, against training by the formula; and that a result is named by the kernels it used."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from attnprobe.kernels import dispatch, launch, loop
from attnprobe.probes import code
from attnprobe.probes.mixers import kernel
from attnprobe.probes.mixers.attention import Attention
from attnprobe.probes.mixers.parts import Dims, FieldBias
from attnprobe.probes.spec import parse
from attnprobe.probes.store import identity
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.train import Training

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in exp2")

DEVICE = "cpu" if loop.INTERPRETED else "cuda"
TASK = TASKS["copy"]()
STEPS = 2


def trained(text, seeds=(0, 1)):
    """The training losses of every step of every seed, and the weights at the end."""
    recipe = replace(TASK.recipe, steps=STEPS, batch=2)
    training = Training(TASK, parse(text), 8, seeds, recipe, DEVICE, None)
    data = training.data(0)
    losses = torch.stack([training.step(data.examples(2 * i, 2 * i + 2), i)[0] for i in range(STEPS)])
    return losses, training.stack.values.detach().clone()


@pytest.mark.parametrize("text", ["fpa", "fox", "rope+softmax", "softmax/fpa"])
def test_fused_kernels_train_two_seeds_to_the_losses_and_weights_of_the_formula(text, monkeypatch):
    """The last layer has fewer rows than keys; Adam's first steps are of size lr whatever the gradient, so weights are compared loosely."""
    monkeypatch.setenv("PROBE_KERNELS", "reference")
    by_formula = trained(text)
    calls = []
    attention = kernel.attention
    monkeypatch.setattr(kernel, "attention", lambda *arguments: calls.append(1) or attention(*arguments))
    monkeypatch.setenv("PROBE_KERNELS", "fused")
    by_kernel = trained(text)
    assert len(calls) == 2 * STEPS
    torch.testing.assert_close(by_kernel[0], by_formula[0], rtol=2e-5, atol=1e-6)
    assert (by_kernel[1] - by_formula[1]).norm() <= 1e-3 * by_formula[1].norm()


def test_every_gradient_of_a_layer_is_that_of_the_formula(monkeypatch):
    gradients = []
    for forced in ("reference", "fused"):
        monkeypatch.setenv("PROBE_KERNELS", forced)
        training = Training(TASK, parse("fir+fpa"), 8, (3, 4), replace(TASK.recipe, batch=2), DEVICE, None)
        training.step(training.data(0).examples(0, 2), 0)
        gradients.append(dict(zip(training.stack.trained, split(training.stack), strict=True)))
    for name, by_formula in gradients[0].items():
        error = (gradients[1][name] - by_formula).norm()
        assert error <= 1e-5 * by_formula.norm() + 1e-8, name
    assert all(by_formula.any() for name, by_formula in gradients[0].items() if "bias.field" in name)


def split(stack):
    return stack.values.grad.split([value[0].numel() for value in stack.trained.values()], 1)


def test_weights_are_judged_by_the_formula_in_float64(monkeypatch):
    monkeypatch.setenv("PROBE_KERNELS", "fused")
    training = Training(TASK, parse("fpa"), 8, (0,), replace(TASK.recipe, batch=2), DEVICE, None)
    monkeypatch.setattr(kernel, "attention", None)
    training.journal.first_norms[0] = 1.0
    assert training.score(training.model, 0, ("test",), 4)[TASK.metric].dtype == torch.float64


REFUSED = {
    "no fused kernel computes alibi+softmax+full": ("copy", "alibi"),
    "no fused kernel computes fpa+softmax1+full": ("copy", "fpa+softmax1"),
    "no fused kernel computes fpa:clamp=3+softmax+full": ("copy", "fpa:clamp=3/fpa"),
    "does not give the attention weights": ("ladder", "fpa"),
    "values as wide as keys, and here they are": ("name-search", "fpa"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_forcing_fused_says_why_it_cannot_be(reason, monkeypatch):
    task, text = REFUSED[reason]
    monkeypatch.setenv("PROBE_KERNELS", "fused")
    task = TASKS[task]()
    with pytest.raises(ValueError, match=f"PROBE_KERNELS=fused cannot be obeyed: .*{reason.replace('+', '[+]')}"):
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


def test_every_bias_in_the_table_has_fields_and_the_widest_head_is_the_kernels():
    assert all(isinstance(parse(bias.replace("none", "softmax")).of_layers(1)[0].bias, FieldBias) for bias, _, _ in dispatch.FUSED)
    assert kernel.WIDEST == launch.WIDEST


def test_a_gpu_trains_with_the_kernels_by_default(monkeypatch):
    monkeypatch.delenv("PROBE_KERNELS", raising=False)
    shape = TASK.model
    dims = Dims(shape.width, 8, shape.num_heads)
    layers = {text: Attention(parse(text).of_layers(2)[0], dims, shape, "cuda") for text in ("fpa", "fox", "softmax", "alibi")}
    assert {text: layer.operator is not None for text, layer in layers.items()} == {
        "fpa": True,
        "fox": True,
        "softmax": True,
        "alibi": False,
    }

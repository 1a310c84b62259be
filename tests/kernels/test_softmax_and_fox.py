"""Softmax and FoX's bias against float64 loops, and the dispatch between fused and reference."""

import math

import pytest
import torch

from attnprobe.kernels import dispatch
from attnprobe.kernels.fox import forget_bias
from attnprobe.kernels.softmax import attention, masked_log_softmax, masked_softmax


def test_softmax_ignores_masked_keys_by_hand():
    """Scores (0, ln 3, 100), the last masked: weights 1/4, 3/4, 0."""
    scores, mask = torch.tensor([0.0, math.log(3), 100.0]), torch.tensor([True, True, False])
    torch.testing.assert_close(masked_softmax(scores, mask), torch.tensor([0.25, 0.75, 0.0]))
    torch.testing.assert_close(masked_log_softmax(scores, mask).exp(), torch.tensor([0.25, 0.75, 0.0]))


def test_log_softmax_is_finite_where_the_weight_underflows():
    scores, mask = torch.tensor([0.0, -500.0]), torch.tensor([True, True])
    assert masked_softmax(scores, mask)[1] == 0
    assert masked_log_softmax(scores, mask)[1] == -500


@pytest.mark.parametrize("shape", [(), (2, 1, 1), (1, 1, 1), (2, 3, 1), (2, 1, 4), (2, 3, 4)])
@pytest.mark.parametrize("rows", [1, 5, 9])
def test_torch_s_attention_and_its_gradients_are_those_of_the_masked_softmax(shape, rows):
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 3, 4, length, 6, generator=generator, dtype=torch.float64).requires_grad_() for length in (rows, 9, 9))
    mask = (torch.rand(*shape, rows, 9, generator=generator) < 0.4).tril(9 - rows) | torch.eye(9).bool()[9 - rows :]
    ways = attention(q, k, v, mask, 0.3), masked_softmax(0.3 * q @ k.mT, mask) @ v
    torch.testing.assert_close(*ways)
    cotangent = torch.randn(ways[0].shape, generator=generator, dtype=torch.float64)
    for ours, theirs in zip(*(torch.autograd.grad(way, (q, k, v), cotangent) for way in ways), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_torch_s_attention_is_for_long_plain_softmax_whose_weights_nobody_reads(monkeypatch):
    monkeypatch.delenv("PROBE_KERNELS", raising=False)
    assert dispatch.native("none", "softmax", 64, weights_wanted=False)
    assert not dispatch.native("none", "softmax", 63, weights_wanted=False)
    assert not dispatch.native("none", "softmax", 64, weights_wanted=True)
    assert not dispatch.native("fox", "softmax", 64, weights_wanted=False)
    assert not dispatch.native("none", "softmax1", 64, weights_wanted=False)
    monkeypatch.setenv("PROBE_KERNELS", "reference")
    assert not dispatch.native("none", "softmax", 64, weights_wanted=False)


@pytest.mark.parametrize("rows", [1, 3, 6])
def test_forget_bias_is_the_sum_of_log_gates_after_the_key(rows):
    log_f = torch.nn.functional.logsigmoid(torch.randn(2, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    b = forget_bias(log_f, rows)
    for i, t in enumerate(range(6 - rows, 6)):
        for s in range(t + 1):
            torch.testing.assert_close(b[:, i, s], log_f[:, s + 1 : t + 1].sum(-1))


def test_a_choice_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setenv("PROBE_KERNELS", "fast")
    with pytest.raises(ValueError, match="auto, reference, fused"):
        dispatch.choose("cpu", "fpa", "softmax", "full", weights_wanted=False)


def test_forcing_fused_raises_where_it_cannot_be_obeyed(monkeypatch):
    monkeypatch.setenv("PROBE_KERNELS", "fused")
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    with pytest.raises(ValueError, match=r"no fused kernel computes alibi\+softmax\+full"):
        dispatch.choose("cuda", "alibi", "softmax", "full", weights_wanted=False)
    with pytest.raises(ValueError, match="needs a CUDA device, or TRITON_INTERPRET=1"):
        dispatch.choose("cpu", "fpa", "softmax", "full", weights_wanted=False)
    with pytest.raises(ValueError, match="needs a CUDA device"):
        dispatch.fused_on("cpu")
    with pytest.raises(ValueError, match="weights"):
        dispatch.choose("cuda", "fpa", "softmax", "full", weights_wanted=True)
    with pytest.raises(ValueError, match="head_dim is 256"):
        dispatch.choose("cuda", "fpa", "softmax", "full", weights_wanted=False, unfit="head_dim is 256")
    assert dispatch.choose("cuda", "fpa", "softmax", "full", weights_wanted=False) == "attnprobe.kernels.fpa.fused"
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert dispatch.choose("cpu", "fpa", "softmax", "full", weights_wanted=False) == "attnprobe.kernels.fpa.fused"
    assert dispatch.fused_on("cpu")


def test_a_fused_kernel_is_chosen_on_a_gpu_unless_weights_are_read_or_the_reference_is_forced(monkeypatch):
    monkeypatch.delenv("PROBE_KERNELS", raising=False)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert dispatch.choose("cuda", "fpa", "softmax", "full", weights_wanted=False)
    assert dispatch.fused_on("cuda")
    assert dispatch.choose("cuda", "fpa", "softmax", "full", weights_wanted=True) is None
    assert dispatch.choose("cuda", "fpa", "softmax", "full", weights_wanted=False, unfit="too wide") is None
    assert dispatch.choose("cuda", "alibi", "softmax", "full", weights_wanted=False) is None
    assert dispatch.choose("cpu", "fpa", "softmax", "full", weights_wanted=False) is None, "the interpreter is for tests"
    assert not dispatch.fused_on("cpu")
    monkeypatch.setenv("PROBE_KERNELS", "reference")
    assert dispatch.choose("cuda", "fpa", "softmax", "full", weights_wanted=False) is None
    assert not dispatch.fused_on("cuda")


@pytest.mark.parametrize("module", dispatch.FUSED.values())
def test_every_fused_module_has_an_operator(module):
    assert callable(dispatch.operator(module))

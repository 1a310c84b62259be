"""Decoding against the rows that training computes: by the reference and by the split kernel, with eviction and without."""

import re

import pytest
import torch

from attnprobe.kernels import loop
from attnprobe.kernels.decode import Cache, reference
from attnprobe.kernels.fox import forget_bias
from attnprobe.kernels.fox.fused import attention as fox
from attnprobe.kernels.fpa import path_bias
from attnprobe.kernels.fpa.fused import attention as fpa
from attnprobe.kernels.softmax.fused import attention as softmax

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in exp2")

DEVICE = "cpu" if loop.INTERPRETED else "cuda"
TRAINED = {"none": softmax, "fox": fox, "fpa": fpa}
B, H, G, D = 2, 4, 2, 16
TOLERANCES = {torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 1e-2}
WAYS = ("reference", "fused")


@pytest.fixture(autouse=True)
def _fused(monkeypatch):
    monkeypatch.setenv("PROBE_KERNELS", "fused")


def drawn(bias, T, dtype=torch.float32, amplitude=1.0, seed=0):
    """q (B, H, T, D), k and v (B, G, T, D), the fields (B, H, T) and beta (H,) or None."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator).to(DEVICE)

    q, k, v = (normal(B, heads, T, D).to(dtype) for heads in (H, G, G))
    walk = (amplitude * normal(B, H, T)).cumsum(-1)
    fields = {
        "none": [],
        "fox": [torch.nn.functional.logsigmoid(normal(B, H, T) + 1)],
        "fpa": [walk, walk + 0.3 * normal(B, H, T)],
    }[bias]
    return q, k, v, fields, torch.rand(H, generator=generator).to(DEVICE) + 0.5 if bias == "fpa" else None


def decoded(cache, q, k, v, fields, first=0, **options):
    """The rows of every position from `first` on, decoded one by one: (B, H, T - first, D)."""
    steps = range(first, q.shape[2])
    return torch.stack([cache.step(q[:, :, t], k[:, :, t], v[:, :, t], *(x[:, :, t] for x in fields), **options) for t in steps], 2)


def exact(bias, q, k, v, fields, beta):
    """Every row in float64, by the matrix of the bias."""
    q, k, v, *fields = (x.double() for x in (q, k, v, *fields))
    T = q.shape[2]
    k, v = (x.repeat_interleave(H // G, 1) for x in (k, v))
    matrix = {
        "none": lambda: 0,
        "fox": lambda f: forget_bias(f, T),
        "fpa": lambda phi, psi: path_bias(phi, psi, beta.double()[:, None, None], T),
    }
    scores = q @ k.mT * D**-0.5 + matrix[bias](*fields)
    weights = scores.masked_fill(~torch.ones(T, T, dtype=torch.bool, device=q.device).tril(), -float("inf")).softmax(-1)
    return weights @ v, weights


def assert_close(ours, theirs, tolerance):
    assert torch.isfinite(ours).all()
    assert (ours.double() - theirs.double()).norm() <= tolerance * theirs.double().norm()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("bias", TRAINED)
def test_every_decoded_row_is_the_training_row(bias, dtype, way, monkeypatch):
    """From a prompt of 55 positions in a cache that is full, and grows."""
    q, k, v, fields, beta = drawn(bias, 70, dtype)
    exactly, _ = exact(bias, q, k, v, fields, beta)
    monkeypatch.setenv("PROBE_KERNELS", way)
    cache = Cache(k[:, :, :55], v[:, :, :55], torch.full((B,), 55, device=DEVICE), bias, [x[..., :55] for x in fields], beta)
    rows = decoded(cache, q, k, v, fields, first=55, splits=2)
    assert rows.dtype == dtype
    assert_close(rows, exactly[:, :, 55:], TOLERANCES[dtype])
    trained = TRAINED[bias](q, k, v, *fields, *([] if beta is None else [beta]))
    assert_close(rows, trained[:, :, 55:], 2 * TOLERANCES[dtype])
    assert cache.capacity >= 70
    assert cache.lengths.tolist() == [70, 70]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("bias", TRAINED)
def test_sequences_of_different_lengths_go_on_from_their_own_prompts(bias, way, monkeypatch):
    """Prompts of 0 and 33 positions, padded; each then gets the five tokens that follow it in training."""
    monkeypatch.setenv("PROBE_KERNELS", way)
    lengths, more = torch.tensor([0, 33]), 5
    q, k, v, fields, beta = drawn(bias, 40)
    padded = [x.clone() for x in (k, v, *fields)]
    for b, length in enumerate(lengths.tolist()):
        for x in padded:
            x[b, :, length:] = 77.0 if x.dim() == 4 else -50.0
    cache = Cache(padded[0], padded[1], lengths.to(DEVICE), bias, padded[2:], beta)
    at = lengths[:, None] + torch.arange(more)

    def later(x):
        return torch.stack([x[b][:, at[b]] for b in range(B)])

    rows = decoded(cache, *(later(x) for x in (q, k, v)), [later(x) for x in fields])
    exactly, _ = exact(bias, q, k, v, fields, beta)
    assert_close(rows, later(exactly), 1e-6)
    assert cache.lengths.tolist() == [more, 33 + more]


@pytest.mark.parametrize("bias", TRAINED)
def test_any_number_of_splits_gives_the_same_row_and_two_runs_the_same_bits(bias):
    q, k, v, fields, beta = drawn(bias, 150)
    rows = []
    for splits in (1, 2, 3, 4, 4, 40):
        cache = Cache(k[:, :, :-1], v[:, :, :-1], torch.tensor([149, 60], device=DEVICE), bias, [x[..., :-1] for x in fields], beta)
        rows.append(decoded(cache, q, k, v, fields, first=149, splits=splits))
    for other in rows[1:]:
        assert_close(other, rows[0], 3e-7)
    assert torch.equal(rows[3], rows[4])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("bias", ["fox", "fpa"])
def test_evicted_keys_stay_closed_and_cost_a_row_no_more_than_the_weight_they_had(bias, way, monkeypatch):
    """After every eviction the keys that are gone are followed in the full matrix: their bias never comes back above the threshold."""
    monkeypatch.setenv("PROBE_KERNELS", way)
    threshold, T = -6.0, 50
    q, k, v, fields, beta = drawn(bias, T, amplitude=3.0)
    exactly, weights = exact(bias, q, k, v, fields, beta)
    double = [x.double() for x in fields]
    b = forget_bias(*double, T) if bias == "fox" else path_bias(*double, beta.double()[:, None, None], T)
    closed = (b < threshold).unflatten(1, (G, -1)).all(2)  # (B, G, T, S)
    cache, gone = Cache.empty(B, G, H, D, bias, beta, device=DEVICE), 0
    for t in range(T):
        lost = closed[:, :, t - 1] if t and t % 10 == 0 else None
        if lost is not None:
            gone = cache.evict(threshold) + gone
            assert torch.equal(cache.kept, t - lost[..., :t].sum(-1))
            assert closed[:, :, t:, :t][lost[..., None, :t].expand_as(closed[:, :, t:, :t])].all()
            dropped = lost
        row = decoded(cache, *(x[:, :, : t + 1] for x in (q, k, v)), [x[..., : t + 1] for x in fields], first=t)[:, :, 0]
        error = (row.double() - exactly[:, :, t]).abs().amax(-1)
        if t < 10:
            assert error.max() < 1e-5
        else:
            weight = (weights[:, :, t] * dropped.repeat_interleave(H // G, 1)).sum(-1)
            assert (error <= 2 * v.double().abs().max() * weight + 1e-5).all()
    assert torch.equal(cache.lengths[:, None] - cache.kept, gone)
    assert gone.sum() > 0.2 * B * G * T, "a share of what a cache holds is closed"


def test_a_key_that_one_query_head_still_reads_is_kept():
    """Head 0 forgets at once, head 1 never; they share their keys."""
    log_f = torch.tensor([-50.0, 0.0], device=DEVICE).view(1, 2, 1).expand(1, 2, 6)
    k = torch.zeros(1, 1, 6, D, device=DEVICE)
    cache = Cache(k, k, torch.tensor([6], device=DEVICE), "fox", [log_f])
    assert cache.evict(-10.0).tolist() == [[0]]
    alone = Cache(k, k, torch.tensor([6], device=DEVICE), "fox", [log_f[:, :1]])
    assert alone.evict(-10.0).tolist() == [[5]]


def test_the_depth_of_a_key_is_that_of_the_deepest_dip_by_hand():
    """Level 2, then phi = 3, 1, 5: nothing, a dip of 1, nothing deeper: r = 0, -1, -1; the newest key has r = 0."""
    q, k = torch.zeros(1, 1, D, device=DEVICE), torch.zeros(1, 1, D, device=DEVICE)
    cache = Cache.empty(1, 1, 1, D, "fpa", 1.0, device=DEVICE)
    seen = []
    for phi in (9.0, 3.0, 1.0, 5.0):
        cache.step(q, k, k, torch.full((1, 1), phi, device=DEVICE), torch.full((1, 1), 2.0, device=DEVICE))
        seen.append(cache.depth[0, 0, : int(cache.kept)].tolist())
    assert seen == [[0.0], [0.0, 0.0], [-1.0, -1.0, 0.0], [-1.0, -1.0, 0.0, 0.0]]
    assert torch.equal(
        reference.lowered(torch.zeros(1, 1, 2), torch.ones(1, 1, 2), torch.zeros(1, 1), torch.tensor([[2]]))[0, 0],
        torch.tensor([-1.0, 0.0]),
    )


def empty(bias="fpa", beta=1.0):
    return Cache.empty(B, G, H, D, bias, beta, device=DEVICE)


def token(heads=H, width=D, fields=2):
    q, k = torch.zeros(B, heads, width, device=DEVICE), torch.zeros(B, G, width, device=DEVICE)
    return q, k, k, *(torch.zeros(B, H, device=DEVICE) for _ in range(fields))


BAD = {
    "bias must be one of none, fox, fpa, not 'alibi'": lambda: empty("alibi"),
    "beta is for bias 'fpa', which needs it": lambda: empty("fpa", None),
    "and for no other: not 1.0 with 'fox'": lambda: empty("fox"),
    "beta must be positive": lambda: empty("fpa", torch.tensor([1.0, 1.0, 0.0, 1.0])),
    "beta must be broadcastable to (B, H) = (2, 4), not (3,)": lambda: empty("fpa", torch.ones(3)),
    "H query heads must be a multiple of the G = 3": lambda: Cache.empty(1, 3, 4, D, "fox"),
    "lengths must be (B,) = (1,) integers from 0 to S = 2, not [3]": lambda: Cache(*(torch.zeros(1, 1, 2, D),) * 2, torch.tensor([3])),
    "bias 'fpa' takes 2 fields (phi, psi), not 1": lambda: empty().step(*token(fields=1)),
    "q must be (B, H, D) = (2, 4, 16)": lambda: empty().step(*token(heads=3)),
    "k and v must be one token's, (B, G, D) = (2, 2, 16)": lambda: empty().step(*token(width=8)),
    "q must be torch.float32": lambda: empty().step(token()[0].half(), *token()[1:]),
    "threshold must be below 0": lambda: empty().evict(0.0),
    "no key to evict": lambda: empty("none", None).evict(-1.0),
    "the fused kernel needs float32, float16 or bfloat16": lambda: Cache.empty(1, 1, 1, D, dtype=torch.float64),
}


@pytest.mark.parametrize("message", BAD)
def test_arguments_that_do_not_fit_are_refused_with_what_would(message):
    with pytest.raises(ValueError, match=re.escape(message)):
        BAD[message]()

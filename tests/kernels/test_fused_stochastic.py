"""Stochastic and sliding-window attention in Triton against float64 softmax over the pairs that the definition allows, taken one by one.

Errors are Frobenius norms relative to the reference, which sees the inputs as rounded; finite is asserted before compared.
"""

import re
from functools import partial
from itertools import combinations, product

import pytest
import torch

from attnprobe.kernels import loop
from attnprobe.kernels.launch import Tiles
from attnprobe.kernels.softmax.fused import attention as softmax
from attnprobe.kernels.stochastic import allowed, fused, halves, reference, window_of

DEVICE = "cpu" if loop.INTERPRETED else "cuda"
SMALL = Tiles(32, 16, 16)
TILES = (SMALL, Tiles(32, 32, 32), Tiles(16, 16, 32))
LENGTHS = (1, 2, 15, 16, 17, 100, 200)  # about blocks of 16
WIDTHS = (4, 16, 60, 64, 128)
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
HEADS = ((1, 1, 1), (2, 1, 1), (2, 4, 2))  # B, H, G
WINDOWS = ((7, 8), (40, 0), (0, 70))  # narrower than a block, one-sided, with tiles inside the band
TOLERANCES = {torch.float32: (1e-6, 3e-6), torch.float16: (2e-3, 2e-3), torch.bfloat16: (1e-2, 2e-2)}  # of o, of dq, dk, dv
FLOOR = 2e-6  # absolute, of the largest element: where the true gradient is 0
# a case a length and a width, every pair of values of any two of length, width, dtype, tiles, heads and window occurs
CASES = [
    (T, D, DTYPES[(a + 2 * b) % 3], TILES[(b + 2 * (a // 3)) % 3], HEADS[(a + b) % 3], WINDOWS[(a + b + a // 3) % 3])
    for (a, T), (b, D) in product(enumerate(LENGTHS), enumerate(WIDTHS))
]


def drawn(B, H, G, T, D, dtype, seed=0):
    """do; q, k, v; a permutation for every example. q, k, v and do are (B, T, H, D) in memory."""
    generator = torch.Generator().manual_seed(seed)
    q, do, k, v = (torch.randn(B, T, heads, D, generator=generator).to(DEVICE, dtype).transpose(1, 2) for heads in (H, H, G, G))
    perm = torch.stack([torch.randperm(T, generator=generator) for _ in range(B)]).int()
    return do, [q, k, v], perm.to(DEVICE)


def pairs(perm, window):
    """Which (t, s) are allowed, by a look at every pair of slots: (B, 1, T, T)."""
    seen = torch.zeros(perm.shape[0], 1, perm.shape[1], perm.shape[1], dtype=torch.bool)
    for b, row in enumerate(perm.tolist()):
        for at, t in enumerate(row):
            for s in row[max(at - window[0], 0) : at + window[1] + 1]:
                seen[b, 0, t, s] = s <= t
    return seen.to(perm.device)


def expected(do, inputs, mask):
    """o and every gradient in float64."""
    q, k, v = leaves = [x.double().requires_grad_() for x in inputs]
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    o = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~mask, -float("inf")).softmax(-1) @ v
    return o.detach(), *torch.autograd.grad(o, leaves, do.double())


def computed(do, inputs, perm, window, op=fused.attention, tiles=SMALL):
    """o and every gradient by the kernels."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    o = op(*leaves, perm, window=window, tiles=tiles)
    return o.detach(), *torch.autograd.grad(o, leaves, do)


def compare(ours, theirs, dtype):
    of_o, of_gradients = TOLERANCES[dtype]
    for name, x, y in zip(("o", "dq", "dk", "dv"), ours, theirs, strict=True):
        assert x.shape == y.shape, name
        assert torch.isfinite(x).all(), name
        error = x.double() - y
        relative = error.norm() / y.norm().clamp(min=1e-30)
        assert relative <= (of_o if name == "o" else of_gradients) or error.abs().max() <= FLOOR, f"{name}: {relative:.1e}"


def check(do, inputs, perm, window, **options):
    compare(computed(do, inputs, perm, window, **options), expected(do, inputs, pairs(perm, window)), inputs[0].dtype)


def test_every_pair_of_values_of_two_factors_occurs_in_the_cases():
    factors = list(zip(*CASES, strict=True))
    for first, second in combinations(factors, 2):
        assert len(set(zip(first, second, strict=True))) == len(set(first)) * len(set(second))


@pytest.mark.parametrize(
    ("T", "D", "dtype", "tiles", "heads", "window"),
    [pytest.param(*case, marks=[pytest.mark.slow] if case[0] == 200 or case[1] == 128 else []) for case in CASES],
)
def test_output_and_every_gradient_equal_float64(T, D, dtype, tiles, heads, window):
    check(*drawn(*heads, T, D, dtype), window, tiles=tiles)


@pytest.mark.parametrize("w", [1, 2, 15, 16, 17, 33, 60, 1000])
def test_a_sliding_window_equals_float64_and_is_the_identity_permutation(w):
    do, inputs, _ = drawn(1, 2, 1, 100, 16, torch.float32)
    at = torch.arange(100, device=DEVICE)
    apart = at[:, None] - at
    leaves = [x.detach().requires_grad_() for x in inputs]
    o = fused.sliding(*leaves, w=w, tiles=SMALL)
    ours = o.detach(), *torch.autograd.grad(o, leaves, do)
    compare(ours, expected(do, inputs, (apart >= 0) & (apart < w)), torch.float32)
    for x, y in zip(ours, computed(do, inputs, at, (w - 1, 0)), strict=True):
        assert torch.equal(x, y)


@pytest.mark.parametrize("window", [(99, 99), (10**6, 10**6)])
def test_a_window_of_all_slots_is_causal_attention_whatever_the_permutation(window):
    do, inputs, perm = drawn(2, 2, 2, 100, 16, torch.float32)
    leaves = [x.detach().requires_grad_() for x in inputs]
    o = softmax(*leaves, tiles=SMALL)
    compare(computed(do, inputs, perm, window), [x.double() for x in (o.detach(), *torch.autograd.grad(o, leaves, do))], torch.float32)


def test_each_example_may_have_a_permutation_of_its_own_or_all_share_one():
    do, inputs, perm = drawn(2, 2, 2, 50, 16, torch.float32)
    both = computed(do, inputs, perm, (10, 10))
    for b in range(2):
        for x, y in zip(both, computed(do, inputs, perm[b], (10, 10)), strict=True):
            assert torch.equal(x[b], y[b])
        assert not torch.equal(both[0][b], computed(do, inputs, perm[1 - b], (10, 10))[0][b])
    assert torch.equal(computed(do, inputs, perm[0].long(), (10, 10))[0], computed(do, inputs, perm[:1].expand(2, -1), (10, 10))[0])


@pytest.mark.parametrize("w", [1, 2, 3, 8])
def test_the_window_is_the_one_of_the_mixer(w):
    from attnprobe.probes.mixers.routing.stochastic import shuffled

    perm = drawn(3, 1, 1, 20, 4, torch.float32)[2]
    slots = perm.argsort(-1)
    theirs = shuffled(w, 20, torch.zeros(1, device=DEVICE), slots.cpu().numpy())[:, :, 0]
    assert torch.equal(pairs(perm, window_of(w)), theirs)
    assert torch.equal(allowed(slots, window_of(w), 20)[:, None], theirs)
    assert sum(window_of(w)) == w - 1


def test_the_reference_takes_the_same_arguments():
    _, inputs, perm = drawn(2, 2, 2, 40, 16, torch.float32)
    for order in (perm, perm[0]):
        ours = fused.attention(*inputs, order, window=(6, 7), tiles=SMALL)
        torch.testing.assert_close(ours, reference.attention(*inputs, order, window=(6, 7)), rtol=1e-5, atol=1e-5)


def test_the_gated_pair_is_each_half_behind_its_gate_and_gates_get_their_gradient():
    _, inputs, perm = drawn(2, 2, 2, 40, 16, torch.float32)
    gates = [torch.rand(2, 2, 40, device=DEVICE, generator=torch.Generator(DEVICE).manual_seed(i)).requires_grad_() for i in range(2)]
    at = torch.arange(40, device=DEVICE)
    apart = at[:, None] - at
    shuffled = expected(torch.zeros(2, 2, 40, 16), inputs, pairs(perm, window_of(halves(9)[0])))[0]
    sliding = expected(torch.zeros(2, 2, 40, 16), inputs, (apart >= 0) & (apart < 5))[0]
    assert halves(9) == (4, 5)
    y = fused.gated(*inputs, perm, gates, w=9, tiles=SMALL)
    torch.testing.assert_close(y.double(), gates[0][..., None] * shuffled + gates[1][..., None] * sliding, rtol=1e-5, atol=1e-5)
    for gradient, path in zip(torch.autograd.grad(y.sum(), gates), (shuffled, sliding), strict=True):
        torch.testing.assert_close(gradient.double(), path.sum(-1), rtol=1e-4, atol=1e-5)


def test_what_comes_later_in_the_sequence_changes_no_bit():
    _, inputs, perm = drawn(1, 2, 2, 70, 16, torch.float32)
    _, others, _ = drawn(1, 2, 2, 70, 16, torch.float32, seed=1)
    mixed = [torch.where((torch.arange(70, device=DEVICE) < 40)[:, None], x, y) for x, y in zip(inputs, others, strict=True)]
    before, after = (fused.attention(*x, perm, window=(12, 12), tiles=SMALL) for x in (inputs, mixed))
    assert torch.equal(before[:, :, :40], after[:, :, :40])
    assert not torch.equal(before[:, :, 40:], after[:, :, 40:])


def test_two_runs_agree_bitwise():
    do, inputs, perm = drawn(1, 2, 1, 70, 16, torch.float16)
    for first, second in zip(*(computed(do, inputs, perm, (12, 12)) for _ in range(2)), strict=True):
        assert torch.equal(first, second)


def test_a_trusted_permutation_is_not_looked_at_and_gives_the_same(monkeypatch):
    do, inputs, perm = drawn(2, 2, 1, 50, 16, torch.float32)
    gates = [torch.rand(2, 2, 50, generator=torch.Generator().manual_seed(5)).to(DEVICE) for _ in range(2)]

    def both(trusted):
        paired = fused.gated(*inputs, perm, gates, w=9, tiles=SMALL, trusted=trusted)
        return paired, *computed(do, inputs, perm, (12, 12), partial(fused.attention, trusted=trusted))

    looked_at = both(trusted=False)
    monkeypatch.setattr(torch.Tensor, "sort", None)
    assert all(torch.equal(x, y) for x, y in zip(looked_at, both(trusted=True), strict=True))
    with pytest.raises(TypeError, match="not callable"):
        both(trusted=False)


def test_views_strided_in_every_axis_and_a_scale_are_heeded():
    do, (q, k, v), perm = drawn(2, 2, 2, 20, 16, torch.float32)
    check(do[..., :1].expand_as(do), [x.repeat_interleave(2, -1)[..., ::2] for x in (q, k, v)], perm, (4, 3))
    twice, scaled = (fused.attention(x, k, v, perm, window=(4, 3), scale=scale, tiles=SMALL) for x, scale in ((2 * q, None), (q, 0.5)))
    torch.testing.assert_close(twice, scaled)


def test_nothing_is_written_outside_of_what_was_allocated(monkeypatch):
    """Everything that a pass allocates stands between two walls of 4096 sentinels."""
    walls, like, empty = [], torch.empty_like, torch.empty

    def walled(x, **kinds):
        dense = like(x, **kinds)
        base = torch.full((dense.numel() + 8192,), 7, dtype=dense.dtype, device=dense.device)
        walls.append(base)
        return base[4096:-4096].as_strided(dense.shape, dense.stride(), 4096)

    do, inputs, perm = drawn(1, 2, 1, 19, 4, torch.float32)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "empty_like", walled)
        patch.setattr(torch, "empty", lambda *shape, **kinds: walled(empty(*shape, **kinds)))
        computed(do, inputs, perm, (3, 3))
    assert len(walls) >= 6  # o, lse, delta, dq, dk, dv
    assert all((base[:4096] == 7).all() and (base[-4096:] == 7).all() for base in walls)


BAD = {
    "q must be (B, H, T, D)": {"q": torch.zeros(2, 5, 8)},
    "head_dim must be 1..128": {name: torch.zeros(1, 2, 5, 129) for name in "qkv"},
    "one dtype of float32": {"q": torch.zeros(1, 2, 5, 8, dtype=torch.float64)},
    "perm must be int32 or int64 of shape (T,) = (5,) or (B, T) = (1, 5), not torch.int32 (4,)": {"perm": torch.arange(4).int()},
    "not torch.float32 (5,)": {"perm": torch.arange(5.0)},
    "perm must hold each of 0..4 once in every row": {"perm": torch.tensor([0, 1, 2, 3, 3])},
    "window must be (left, right), whole numbers of at least 0": {"window": (-1, 3)},
    "not 16": {"window": 16},
    "on one device": {"perm": torch.arange(5, device="meta")},
}


@pytest.mark.parametrize("message", BAD)
def test_arguments_that_do_not_fit_are_refused_with_what_to_do(message):
    arguments = {name: torch.zeros(1, 2, 5, 8) for name in "qkv"} | {"perm": torch.arange(5), "window": (1, 1)}
    with pytest.raises(ValueError, match=re.escape(message)):
        fused.attention(**arguments | BAD[message])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, gates: fused.sliding(x, x, x, w=0), "w must be a whole number of at least 1, the token itself, not 0"),
        (
            lambda x, gates: fused.gated(x, x, x, torch.arange(5), gates, w=1),
            "w must be a whole number of at least 2, a slot for each path, not 1",
        ),
        (
            lambda x, gates: fused.gated(x, x, x, torch.arange(5), gates[:1], w=2),
            "gates must be two of (B, H, T), the shuffled path's first, not a list",
        ),
        (lambda x, gates: fused.gated(x, x, x, torch.arange(5), [g[0] for g in gates], w=2), "not (2, 5), (2, 5)"),
    ],
)
def test_windows_and_gates_that_do_not_fit_are_refused(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(torch.zeros(1, 2, 5, 8), [torch.ones(1, 2, 5)] * 2)


MUTATIONS = {
    "order flipped at the edge": ("inside &= position_b <= position_a", "inside &= position_b >= position_a"),
    "order dropped at the edge": ("inside &= position_b <= position_a", "inside &= b < T"),
    "order flipped inside the band": (
        "scores = tl.where(t[:, None] >= s[None, :], scores, -INF)",
        "scores = tl.where(t[:, None] <= s[None, :], scores, -INF)",
    ),
    "order flipped inside the band of a key": ("shift = tl.where(t[None, :] >= s[:, None]", "shift = tl.where(t[None, :] <= s[:, None]"),
    "order flipped inside the band of a query": (
        "shift = tl.where(t[:, None] >= s[None, :], shift",
        "shift = tl.where(t[:, None] <= s[None, :], shift",
    ),
    "band off by one to the left": ("(a - b <= LEFT)", "(a - b < LEFT)"),
    "band off by one to the right": ("(b - a <= RIGHT)", "(b - a <= RIGHT + 1)"),
    "sides swapped": ("(a - b <= LEFT) & (b - a <= RIGHT)", "(a - b <= RIGHT) & (b - a <= LEFT)"),
    "first whole block off by one": (
        "whole = tl.cdiv(tl.maximum(first + M - 1 - before, 0), N)",
        "whole = tl.maximum(first + M - 1 - before, 0) // N",
    ),
    "last whole block off by one": ("end = tl.minimum((first + after + 1) // N", "end = tl.minimum((first + after + N) // N"),
    "last block off by one": ("stop = tl.cdiv(tl.minimum(first + M + after, T), N)", "stop = tl.minimum(first + M + after, T) // N"),
    "sides of a key's queries swapped": ("band(first, N, N, RIGHT, LEFT, T)", "band(first, N, N, LEFT, RIGHT, T)"),
    "sum stored by slot": ("tl.store(LSE + bh * T + t,", "tl.store(LSE + bh * T + a,"),
    "permutation of the first example for all": ("PERM += b * spb\n    Q +=", "PERM += 0 * spb\n    Q +="),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_each_of_these_mistakes_is_caught(name, mutant):
    wrong = mutant(fused, *MUTATIONS[name])
    example = drawn(2, 1, 1, 70, 16, torch.float32)
    check(*example, (34, 20))
    with pytest.raises(AssertionError):
        check(*example, (34, 20), op=wrong.attention)

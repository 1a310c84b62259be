"""The power norm in Triton against its definition in float64, outputs and every gradient, tau's included.

Errors are Frobenius norms relative to the reference, which sees the inputs as rounded; finite is asserted before compared. Gradients of
scores nearly cancel where one key has most of a row's weight, and tau's always: rounding of what cancels is allowed beside.
"""

import re
from itertools import combinations, product

import pytest
import torch

from attnprobe.kernels import loop
from attnprobe.kernels.launch import Tiles
from attnprobe.kernels.power_norm import GATES, filtered, fused, power_norm, silent

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in multiply")  # of a masked score, which is clamped

DEVICE = "cpu" if loop.INTERPRETED else "cuda"
SMALL = Tiles(32, 16, 16)
TILES = (SMALL, Tiles(32, 32, 16), Tiles(16, 16, 32))  # keys a tile forward as many as backward, more, and fewer
LENGTHS = (1, 2, 15, 16, 17, 100, 200)  # about blocks of 16
WIDTHS = (4, 16, 60, 64, 128)
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
HEADS = ((1, 1, 1), (2, 1, 1), (1, 4, 2))  # B, H, G
TOLERANCES = {torch.float32: (1e-6, 3e-6), torch.float16: (2e-3, 2e-3), torch.bfloat16: (3e-2, 6e-2)}  # of o, of gradients
ROUNDING = 2.0**-21  # of the sum of sizes of what cancels in a gradient, which is computed in fp32
# a case a length and a width, every pair of values of any two of length, width, dtype, tiles, heads and gate occurs
CASES = [
    (T, D, DTYPES[(a + 2 * b) % 3], TILES[(b + 2 * (a // 3)) % 3], HEADS[(a + b) % 3], tuple(GATES)[(a + b + a // 3) % 3])
    for (a, T), (b, D) in product(enumerate(LENGTHS), enumerate(WIDTHS))
]


def drawn(B, H, G, T, D, dtype, tau=-0.5, seed=0):
    """do, and q, k, v, tau; q, k, v and do are (B, T, H, D) in memory."""
    generator = torch.Generator().manual_seed(seed)
    q, do, k, v = (torch.randn(B, T, heads, D, generator=generator).to(DEVICE, dtype).transpose(1, 2) for heads in (H, H, G, G))
    return do, [q, k, v, tau + 0.1 * torch.arange(H, dtype=torch.float32, device=DEVICE)]


def expected(do, inputs, gate):
    """o and every gradient in float64; the sum of |d score| by head; and of gradients the sum of the sizes of what cancels in them.

    The last is 10 w / r (|do| . |v|) of a pair in place of 10 w / r (do . v - D); with one key in a row, the difference is 0.
    """
    q, k, v, tau = leaves = [x.double().requires_grad_() for x in inputs]
    wide_k, wide_v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    T, scale = q.shape[2], q.shape[-1] ** -0.5
    scores = q @ wide_k.mT * scale
    weights = power_norm(scores, torch.ones(T, T, dtype=torch.bool, device=q.device).tril(), tau[:, None, None], gate)
    o = weights @ wide_v
    *gradients, of_scores = torch.autograd.grad(o, [*leaves, scores], do.double())
    with torch.no_grad():
        excess = (scores - tau[:, None, None]).relu()
        sizes = torch.where(weights > 0, 10 * weights / excess, 0) * (do.double().abs() @ wide_v.abs().mT)
        of_k = (sizes.mT @ q.abs() * scale).unflatten(1, (k.shape[1], -1)).sum(2)
        cancels = {"dq": sizes @ wide_k.abs() * scale, "dk": of_k, "dtau": sizes.sum((0, 2, 3))}
        summed = {"dtau": of_scores.abs().sum((0, 2, 3))}
    return (o.detach(), *gradients), summed, cancels


def computed(do, inputs, gate="exp", op=fused.attention, **options):
    """o and every gradient by the kernels."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    o = op(*leaves, gate=gate, **{"tiles": SMALL} | options)
    return o.detach(), *torch.autograd.grad(o, leaves, do)


def check(do, inputs, gate="exp", **options):
    of_o, of_gradients = TOLERANCES[inputs[0].dtype]
    theirs, summed, cancels = expected(do, inputs, gate)
    for name, x, y in zip(("o", "dq", "dk", "dv", "dtau"), computed(do, inputs, gate, **options), theirs, strict=True):
        assert x.shape == y.shape, name
        assert torch.isfinite(x).all(), name
        error, size, lost = (x.double() - y).norm(), summed.get(name, y).norm(), ROUNDING * cancels.get(name, y * 0).norm()
        allowed = (of_o if name == "o" else of_gradients) * size + lost
        assert error <= allowed, f"{name}: {error / size:.1e} of {size:.1e}, and cancelling {lost:.1e}"


def check_both(do, inputs, **options):
    for skip in (False, True):
        check(do, inputs, skip_silent=skip, **options)


def test_every_pair_of_values_of_two_factors_occurs_in_the_cases():
    factors = list(zip(*CASES, strict=True))
    for first, second in combinations(factors, 2):
        assert len(set(zip(first, second, strict=True))) == len(set(first)) * len(set(second))


@pytest.mark.parametrize(
    ("T", "D", "dtype", "tiles", "heads", "gate"),
    [pytest.param(*case, marks=[pytest.mark.slow] if case[0] == 200 or case[1] == 128 else []) for case in CASES],
)
def test_output_and_every_gradient_equal_float64(T, D, dtype, tiles, heads, gate):
    check(*drawn(*heads, T, D, dtype), gate, tiles=tiles)


def test_equal_maxima_in_one_tile_and_in_two_give_their_gradient_to_the_first():
    """Every key stands at five places, each seventeen apart but for the second, its neighbour."""
    do, (q, k, v, tau) = drawn(1, 2, 2, 70, 16, torch.float32)
    k = k[:, :, :17].repeat(1, 1, 5, 1)[:, :, :70]
    k[:, :, 1::2] = k[:, :, ::2]
    check(do, [q, k, v, tau])


@pytest.mark.parametrize("size", [1e-30, 1e-5, 1e4, 1e30])
@pytest.mark.parametrize("gate", GATES)
def test_scores_of_any_size_equal_float64(size, gate):
    do, (q, k, v, _) = drawn(1, 2, 2, 40, 16, torch.float32)
    q[:, :, 0] = k[:, :, 0]  # a first row that is not silent
    theirs, *_ = expected(do, [size * q, k, v, torch.zeros(2, device=DEVICE)], gate)
    for x, y in zip(computed(do, [size * q, k, v, torch.zeros(2, device=DEVICE)], gate)[:4], theirs, strict=False):
        assert torch.isfinite(x).all()
        assert (x.double() - y).norm() <= 3e-5 * y.norm()


@pytest.mark.parametrize("factor", [2.0**-20, 2.0**20])
def test_without_a_gate_scores_and_threshold_times_a_power_of_two_change_no_bit_of_the_output(factor):
    _, (q, k, v, tau) = drawn(1, 2, 2, 70, 16, torch.float32)
    plain, scaled = (fused.attention(q * x, k, v, tau * x, gate="none", tiles=SMALL) for x in (1, factor))
    assert torch.equal(plain, scaled)


def test_without_a_gate_no_gradient_points_along_the_excess_over_the_threshold():
    """Euler: o does not depend on the size of r, so sum r dr = q . dq + tau dtau = 0."""
    do, (q, k, v, tau) = drawn(1, 2, 2, 70, 16, torch.float32, tau=-2.0)
    _, dq, _, _, dtau = computed(do, [q, k, v, tau], "none")
    parts = (q * dq).double().sum(-1)
    assert parts.abs().sum() > 1
    assert ((parts.sum((0, 2)) + tau * dtau).abs() <= 1e-5 * parts.abs().sum((0, 2))).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("excess", [1.0, 2.0**-6, 2.0**-12])
def test_scores_of_a_row_with_one_key_have_no_gradient_however_little_it_exceeds_tau(excess, dtype):
    """Its output is its key's value whatever the score: unless the weight is 1 as rounded, what is left is a rounding error over R."""
    do, (q, k, v, _) = drawn(1, 12, 12, 1, 16, dtype)
    q = k * torch.tensor([1, -1], device=DEVICE).repeat(6)[:, None, None].to(dtype)
    score = (q.double() * k.double()).sum((0, 2, 3)) / 4
    check(do, [q, k, v, (score - excess * score.abs()).float()], "none")


def test_a_row_with_no_score_above_tau_is_exactly_0_and_so_is_its_gradient():
    do, (q, k, v, tau) = drawn(1, 2, 2, 70, 16, torch.float32, tau=0.5)
    q[:, :, 20:50] = 0  # scores of 0
    o, dq, *_ = computed(do, [q, k, v, tau])
    assert not o[:, :, 20:50].any()
    assert not dq[:, :, 20:50].any()
    assert o.any()
    assert dq.any()
    assert not any(x.any() for x in computed(do, [q, k, v, tau + 1000]))
    do[:, :, :20], do[:, :, 50:] = 0, 0
    alone = computed(do, [q, k, v, tau])
    assert not any(x.any() for x in alone[1:])


def few_alive(dtype=torch.float32):
    """Of the blocks of 16 queries the first two and the last have scores above tau."""
    do, (q, k, v, tau) = drawn(1, 2, 1, 100, 16, dtype, tau=0.2)
    q[:, :, 32:96] = 0
    return do, [q, k, v, tau]


@pytest.mark.parametrize("tiles", TILES)
def test_leaving_out_silent_tiles_changes_no_bit_and_leaves_some_out(tiles, monkeypatch):
    counted = []
    monkeypatch.setattr(fused, "lists", lambda live: counted.append(live) or silent.lists(live))
    do, inputs = few_alive()
    for x, y in zip(*(computed(do, inputs, tiles=tiles, skip_silent=skip) for skip in (False, True)), strict=True):
        assert torch.equal(x, y)
    below = torch.ones_like(counted[0]).tril(-1)
    assert 0 < counted[0].sum() < below.sum()
    assert (below & ~counted[0]).sum() >= 2 * {16: 14, 32: 2}[tiles.block]  # of 2 heads the tiles whose queries are all 0
    assert torch.equal(counted[1], counted[0].mT)


@pytest.mark.parametrize(("queries", "keys", "block"), [(32, 16, 16), (32, 32, 16), (16, 16, 32), (64, 16, 32), (16, 16, 16)])
def test_a_square_tile_is_live_iff_a_tile_that_it_shares_pairs_with_is(queries, keys, block):
    T, rows, columns = 100, -(-100 // queries), -(-100 // queries) * (queries // keys)
    live = torch.rand(3, rows, columns, generator=torch.Generator().manual_seed(0)) < 0.2
    pairs = live.repeat_interleave(queries, 1).repeat_interleave(keys, 2)
    ours = silent.live_tiles(live, queries, keys, block, T)
    n = -(-T // block)
    for i, j in product(range(n), range(n)):
        here = pairs[:, i * block : (i + 1) * block, j * block : (j + 1) * block].flatten(1).any(1)
        assert torch.equal(ours[:, i, j], here & (i > j))
    order, count = silent.lists(ours)
    for b, i in product(range(3), range(n)):
        assert order[b, i, : count[b, i]].tolist() == ours[b, i].nonzero().flatten().tolist()


def test_what_comes_later_changes_no_bit():
    _, (*inputs, tau) = drawn(1, 2, 2, 70, 16, torch.float32)
    _, (*others, _) = drawn(1, 2, 2, 70, 16, torch.float32, seed=1)
    mixed = [torch.where((torch.arange(70, device=DEVICE) < 40)[:, None], x, y) for x, y in zip(inputs, others, strict=True)]
    before, after = (fused.attention(*x, tau, tiles=SMALL) for x in (inputs, mixed))
    assert torch.equal(before[:, :, :40], after[:, :, :40])
    assert not torch.equal(before[:, :, 40:], after[:, :, 40:])


def test_two_runs_agree_bitwise():
    do, inputs = drawn(1, 2, 1, 70, 16, torch.float16)
    first, second = (computed(do, inputs) for _ in range(2))
    assert all(torch.equal(x, y) for x, y in zip(first, second, strict=True))


def test_the_output_without_gradients_equals_float64_too():
    do, inputs = drawn(1, 2, 1, 70, 16, torch.float32)
    o = fused.attention(*inputs, tiles=SMALL)
    assert (o - expected(do, inputs, "exp")[0][0]).norm() <= 1e-6 * o.norm()


def test_views_strided_in_every_axis_and_a_scale_are_heeded():
    do, (q, k, v, tau) = drawn(2, 2, 2, 20, 16, torch.float32)
    check(do[..., :1].expand_as(do), [*(x.repeat_interleave(2, -1)[..., ::2] for x in (q, k, v)), tau])
    twice, scaled = (fused.attention(x, k, v, tau, scale=scale, tiles=SMALL) for x, scale in ((2 * q, 0.25), (q, 0.5)))
    torch.testing.assert_close(twice, scaled)


@pytest.mark.parametrize("shape", [(), (1,), (2, 1), (1, 2), (2, 2)])
def test_a_threshold_of_every_shape_gets_its_gradient_and_a_number_needs_none(shape):
    do, (q, k, v, _) = drawn(2, 2, 2, 20, 16, torch.float32)
    tau = torch.linspace(-0.5, 0.1, 4, device=DEVICE)[: torch.Size(shape).numel()].reshape(shape)
    *_, d_tau = computed(do, [q, k, v, tau])
    theirs = tau.double().requires_grad_()
    mask = torch.ones(20, 20, dtype=torch.bool, device=DEVICE).tril()
    o = power_norm(q.double() @ k.double().mT / 4, mask, theirs.expand(2, 2)[..., None, None], "exp") @ v.double()
    torch.testing.assert_close(d_tau.double(), torch.autograd.grad(o, theirs, do.double())[0], rtol=1e-5, atol=1e-4)
    if shape == ():
        assert torch.equal(fused.attention(q, k, v, tau.item(), tiles=SMALL), fused.attention(q, k, v, tau, tiles=SMALL))


def test_the_filter_of_keys_is_the_mixers_and_pn_fir_tau_has_every_gradient():
    from attnprobe.probes.mixers.key_filter.fir import Fir, half_gaussian

    do, (q, k, v, tau) = drawn(1, 2, 2, 40, 16, torch.float32)
    taps = half_gaussian(7, 2.0)
    torch.testing.assert_close(filtered(k.double(), taps), Fir()({}, k.double()))
    torch.testing.assert_close(filtered(k.bfloat16(), taps), filtered(k.bfloat16().float(), taps).bfloat16(), rtol=0, atol=0)
    leaves, wide = ([x.detach().to(dtype).requires_grad_() for x in (q, k, v)] for dtype in (torch.float32, torch.float64))
    ours = torch.autograd.grad(fused.attention(leaves[0], filtered(leaves[1], taps), leaves[2], tau, tiles=SMALL), leaves, do)
    mask = torch.ones(40, 40, dtype=torch.bool, device=DEVICE).tril()
    o = power_norm(wide[0] @ Fir()({}, wide[1]).mT / 4, mask, tau.double()[:, None, None], "exp") @ wide[2]
    for x, y in zip(ours, torch.autograd.grad(o, wide, do.double()), strict=True):
        assert (x - y).norm() <= 1e-5 * y.norm()


def test_nothing_is_written_outside_of_what_was_allocated(monkeypatch):
    """Everything that a pass allocates stands between two walls of 4096 sentinels."""
    walls, like, empty = [], torch.empty_like, torch.empty

    def walled(x, **kinds):
        dense = like(x, **kinds)
        base = torch.full((dense.numel() + 8192,), 7, dtype=dense.dtype, device=dense.device)
        walls.append(base)
        return base[4096:-4096].as_strided(dense.shape, dense.stride(), 4096)

    do, inputs = drawn(1, 2, 1, 19, 4, torch.float32)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "empty_like", walled)
        patch.setattr(torch, "empty", lambda *shape, **kinds: walled(empty(*shape, **kinds)))
        computed(do, inputs, skip_silent=True)
    assert len(walls) >= 15  # o, mean, top, total, tile, live; index, delta, edge, weight, factor, d_tau, dq, dk, dv
    assert all((base[:4096] == 7).all() and (base[-4096:] == 7).all() for base in walls)


BAD = {
    "q must be (B, H, T, D)": {"q": torch.zeros(2, 5, 8)},
    "head_dim must be 1..128": {name: torch.zeros(1, 2, 5, 129) for name in "qkv"},
    "one dtype of float32": {"q": torch.zeros(1, 2, 5, 8, dtype=torch.float64)},
    "tau must be broadcastable to (B, H) = (1, 2), not (3,)": {"tau": torch.zeros(3)},
    "gate must be one of none, exp, rate, not 'relu'": {"gate": "relu"},
    "scale must be positive and finite, not -0.5; negate q": {"scale": -0.5},
    "on one device": {"tau": torch.zeros(2, device="meta")},
}


@pytest.mark.parametrize("message", BAD)
def test_arguments_that_do_not_fit_are_refused_with_what_to_do(message):
    arguments = {name: torch.zeros(1, 2, 5, 8) for name in "qkv"} | {"tau": torch.zeros(2)}
    with pytest.raises(ValueError, match=re.escape(message)):
        fused.attention(**arguments | BAD[message])


MUTATIONS = {
    "rescale of the sum of values dropped": ("out = out * kept[:, None] +", "out = out +"),
    "rescale of the mass dropped": ("total * kept +", "total +"),
    "argmax takes the last of a tile": (
        "tl.min(tl.where(highest, s[None, :], NOWHERE), 1)",
        "tl.max(tl.where(highest, s[None, :], -1), 1)",
    ),
    "argmax takes the last of equal tiles": ("over_tau > top, j", "over_tau >= top, j"),
    "argmax may be a later key": ("x = tl.where(t[:, None] >= s[None, :], x, LOWEST)\n        highest", "highest"),
    "rows of a tile off by one": ("stop = tl.load(FIRST + 1)", "stop = tl.load(FIRST + 1) - 1"),
    "rows of a tile in the order of the sequence": ("return order.int(), torch", "return order.sort().values.int(), torch"),
    "rows of the last tile forgotten": ("tl.minimum((j + 1) * N, T), KEYS))", "tl.minimum((j + 1) * N, T), KEYS) - 1)"),
    "order flipped forward": (">= s[None, :], x, LOWEST)\n        if FLAGGED", "<= s[None, :], x, LOWEST)\n        if FLAGGED"),
    "order off by one": (">= s[None, :], x, LOWEST)\n        if FLAGGED", "> s[None, :], x, LOWEST)\n        if FLAGGED"),
    "order flipped for queries": ("x = tl.where(t[:, None] >= t[None, :]", "x = tl.where(t[:, None] <= t[None, :]"),
    "order flipped for keys": ("x = tl.where(s[None, :] >= s[:, None]", "x = tl.where(s[None, :] <= s[:, None]"),
    "gate dropped": ("put(O + b * sob + h * soh, t, sot, mean * gamma[:, None]", "put(O + b * sob + h * soh, t, sot, mean"),
    "gate's gradient dropped": ("slope * delta *", "0.0 * delta *"),
    "gate's gradient dropped in dq": ("+ at_top * edge[:, None]", ""),
    "gate's gradient dropped in dk": ("tl.where(s[:, None] == index", "tl.where(s[:, None] < 0 * index"),
    "run of queries off by one": ("i = j + 1 + at", "i = j + at"),
    "ninth power for the tenth": ("(p9 * p).to(do.dtype)", "p9.to(do.dtype)"),
    "flags of tiles off by one": (
        "True)), WIDEN)\n        if FLAGGED:\n            tl.store(LIVE + j",
        "True)), WIDEN)\n        if FLAGGED:\n            tl.store(LIVE + j + 1",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_each_of_these_mistakes_is_caught(name, mutant):
    wrong = mutant(fused, *MUTATIONS[name])
    do, (q, k, v, tau) = drawn(1, 2, 2, 70, 16, torch.float32)
    k = k[:, :, :17].repeat(1, 1, 5, 1)[:, :, :70]
    k[:, :, 1::2] = k[:, :, ::2]
    with pytest.raises(AssertionError):
        check_both(do, [q, k, v, tau], op=wrong.attention)

"""The Triton loop against float64 attention whose path minima are taken over every (t, s, u), outputs and every gradient.

Errors are Frobenius norms relative to the reference, which sees the inputs as rounded; finite is asserted before compared.
"""

import functools
import itertools
import random
import re
from types import SimpleNamespace

import pytest
import torch
import triton
import triton.language as tl

from attnprobe.kernels import launch, loop
from attnprobe.kernels.fox.fused import attention as fox
from attnprobe.kernels.fpa.fused import attention as fpa
from attnprobe.kernels.launch import Tiles
from attnprobe.kernels.softmax.fused import attention as softmax

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in exp2")  # of a share that is 1 / (1 + inf) = 0

DEVICE = "cpu" if loop.INTERPRETED else "cuda"
OPS = {"softmax": softmax, "fox": fox, "fpa": fpa}
NAMES = {"softmax": (), "fox": ("d log_f",), "fpa": ("d phi", "d psi", "d beta")}
SMALL = Tiles(32, 16, 16)  # six blocks of keys in 100 positions: runs of one, two and four
BLOCK = 16
LENGTHS = (1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 100)
WIDTHS = (4, 16, 60, 64)
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
# of o; of dq, dk, dv; of the field's gradients
TOLERANCES = {torch.float32: (1e-6, 3e-6, 2e-5), torch.float16: (2e-3, 2e-3, 2e-3), torch.bfloat16: (1e-2, 2e-2, 2e-2)}
FLOOR = 2e-6  # absolute, of the largest element: where the true gradient is 0
INF = float("inf")
FIELDS = {
    "ties": lambda r: (0 * r, 0 * r),
    "falling": lambda r: (-0.05 * r, -0.05 * r),
    "rising": lambda r: (0.05 * r, 0.05 * r),
    "one deep dip": lambda r: (torch.where(r == 24, -30.0, 0.0), 0 * r - 0.5),
    "all dead": lambda r: (0 * r, 0 * r + 1000.0),
    "all a little dead": lambda r: (torch.sin(3 * r), 0 * r + 2.0),
}


def drawn(kind, B, H, G, T, D, dtype, amplitude=0.5, seed=0):
    """do, and q, k, v and the bias' fields; q, k, v and do are (B, T, H, D) in memory."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    q, do, k, v = (normal(B, T, heads, D).to(DEVICE, dtype).transpose(1, 2) for heads in (H, H, G, G))
    walk = (amplitude * normal(B, H, T)).cumsum(-1)
    fields = {
        "softmax": [],
        "fox": [torch.nn.functional.logsigmoid(normal(B, H, T) + 2)],
        "fpa": [
            walk + 0.3 * amplitude * normal(B, H, T),
            walk + 0.3 * amplitude * normal(B, H, T),
            torch.rand(H, generator=generator) + 0.5,
        ],
    }[kind]
    return do, [q, k, v, *(x.to(DEVICE) for x in fields)]


def path_bias(phi, psi, beta):
    """beta min(0, m - psi_s) over every (t, s, u), beta by row (B, H, T): hard in value, softmin in gradient."""
    p = torch.arange(phi.shape[-1], device=phi.device)
    on_path = (p[None, :, None] < p) & (p <= p[:, None, None])  # (T, S, U): s < u <= t
    along = phi[..., None, None, :]
    hard = torch.where(on_path, along.detach(), INF).amin(-1)  # (B, H, T, S)
    soft = -torch.where(on_path, -along, -1e300).logsumexp(-1)
    dead = hard < psi[..., None, :]
    return beta[..., None] * torch.where(dead, torch.where(dead, hard + soft - soft.detach() - psi[..., None, :], 0), 0)


def age_bias(log_f):
    p = torch.arange(log_f.shape[-1], device=log_f.device)
    between = (p[None, :, None] < p) & (p <= p[:, None, None])
    return torch.where(between, log_f[..., None, None, :], 0).sum(-1)


def expected(kind, do, inputs):
    """o and every gradient in float64, and what an error of each is relative to: its norm; of d beta, that of its terms by row.

    d beta is one number a head, a sum of terms of both signs that may come near 0; rounding is relative to the terms.
    """
    q, k, v, *fields = leaves = [x.double() for x in inputs]
    if kind == "fpa":
        fields[2] = leaves[5] = leaves[5].expand(q.shape[:2])[..., None].repeat(1, 1, q.shape[2])  # (B, H, T)
    for leaf in leaves:
        leaf.requires_grad_()
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    bias = {"softmax": lambda: 0, "fox": age_bias, "fpa": path_bias}[kind](*fields)
    T = q.shape[2]
    scores = q @ k.mT * q.shape[-1] ** -0.5 + bias
    o = scores.masked_fill(~torch.ones(T, T, dtype=torch.bool, device=q.device).tril(), -INF).softmax(-1) @ v
    found = [o.detach(), *torch.autograd.grad(o, leaves, do.double())]
    sizes = [x.norm() for x in found]
    if kind == "fpa":
        found[6] = found[6].sum(-1).sum_to_size(inputs[5].shape)
    return found, sizes


def computed(kind, do, inputs, tiles=SMALL, **options):
    """o and every gradient by the kernels."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    o = OPS[kind](*leaves, tiles=tiles, **options)
    return o.detach(), *torch.autograd.grad(o, leaves, do)


def check(kind, do, inputs, tiles=SMALL, **options):
    of_o, of_qkv, of_fields = TOLERANCES[inputs[0].dtype]
    names = ("o", "dq", "dk", "dv", *NAMES[kind])
    for name, ours, theirs, size in zip(names, computed(kind, do, inputs, tiles, **options), *expected(kind, do, inputs), strict=True):
        assert ours.shape == theirs.shape, name
        assert torch.isfinite(ours).all(), name
        tolerance = of_o if name == "o" else of_qkv if len(name) == 2 else of_fields
        error = ours.double() - theirs
        relative = error.norm() / size.clamp(min=1e-30)
        assert relative <= tolerance or error.abs().max() <= FLOOR, f"{name}: {relative:.1e}, at most {error.abs().max():.1e}"


@pytest.mark.parametrize("kind", OPS)
@pytest.mark.parametrize("D", WIDTHS)
@pytest.mark.parametrize("T", LENGTHS)
def test_output_and_every_gradient_equal_float64(kind, T, D):
    """Every pair of a length, a width and a dtype occurs."""
    check(kind, *drawn(kind, 1, 2, 2, T, D, DTYPES[(LENGTHS.index(T) + WIDTHS.index(D)) % 3]))


AXES = (
    ("1", "2", "B-1", "B", "B+1", "100", "200"),  # T, B the backward block
    (4, 16, 60, 64, 128),
    DTYPES,
    (Tiles(32, 16, 16), Tiles(16, 16, 32), Tiles(64, 32, 32)),
    ((1, 1), (2, 2), (3, 1)),  # heads of queries, of keys
    (0.05, 3.0, 40.0, 1000.0),  # of a field's steps
)


def cover(corners, axes):
    """The corners and, one row at a time, the row of many drawn that adds the most pairs of values, until every pair occurs."""
    draw, rows = random.Random(0), list(corners)

    def pairs(row):
        return {(a, row[a], b, row[b]) for a, b in itertools.combinations(range(len(axes)), 2)}

    left = {pair for a, b in itertools.combinations(range(len(axes)), 2) for x in axes[a] for y in axes[b] for pair in [(a, x, b, y)]}
    left -= set().union(*map(pairs, rows))
    while left:
        a, x, b, y = min(left, key=str)  # of which the row must add at least this one
        drawn_rows = [[draw.choice(axis) for axis in axes] for _ in range(40)]
        for row in drawn_rows:
            row[a], row[b] = x, y
        rows.append(tuple(max(drawn_rows, key=lambda row: len(pairs(row) & left))))
        left -= pairs(rows[-1])
    return rows


CORNERS = [
    *((T, 4, dtype, tiles, (2, 2), 3.0) for T in ("1", "B+1") for dtype in DTYPES for tiles in AXES[3]),
    *(("200", D, torch.float32, AXES[3][0], (1, 1), 3.0) for D in AXES[1]),
]
CASES = cover(CORNERS, AXES)


def test_the_cases_hold_every_pair_of_values_and_are_few():
    for a, b in itertools.combinations(range(len(AXES)), 2):
        assert {(case[a], case[b]) for case in CASES} == set(itertools.product(AXES[a], AXES[b]))
    assert len(CASES) <= 60


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, (*case[:2], case[2], case[3].block, *case[4], case[5]))))
def test_output_and_every_gradient_equal_float64_over_a_pairwise_cover(kind, case):
    length, D, dtype, tiles, (H, G), amplitude = case
    T = {"B-1": tiles.block - 1, "B": tiles.block, "B+1": tiles.block + 1}.get(length) or int(length)
    check(kind, *drawn(kind, 1, H, G, T, D, dtype, amplitude, seed=1), tiles=tiles)


@triton.jit
def coarse_tanh(x):
    exact = 1.0 - 2.0 / (1.0 + tl.exp2(2.885390081777927 * x))
    return (exact + 6144.0) - 6144.0  # fp32 between 4096 and 8192 has steps of 2^-11


@pytest.mark.skipif(not loop.INTERPRETED, reason="a GPU has the instruction itself")
def test_shares_that_are_off_by_what_the_gpu_may_add_stay_within_the_tolerances(monkeypatch):
    """exact=False: the interpreter's exact tangent is rounded to multiples of 2^-11, as coarse as the GPU's instruction."""
    do, inputs = drawn("fpa", 1, 2, 2, 100, 16, torch.bfloat16, 1.0)
    run = functools.partial(computed, "fpa", do, inputs)
    exact, close = run(), run(exact=False)
    assert all(torch.equal(a, b) for a, b in zip(exact[:4], close[:4], strict=True))
    assert (exact[4] - close[4]).norm() <= 1e-6 * exact[4].norm()
    monkeypatch.setattr(loop, "tanh", coarse_tanh)
    coarse = run(exact=False)
    assert (coarse[4] - exact[4]).norm() > 1e-6 * exact[4].norm(), "it was coarse"
    check("fpa", do, inputs, exact=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPS)
@pytest.mark.parametrize(("D", "dtype"), [(64, torch.bfloat16), (128, torch.float16), (16, torch.float32)])
@pytest.mark.parametrize("T", [129, 200])
def test_output_and_every_gradient_equal_float64_with_the_tiles_of_a_gpu(kind, D, dtype, T):
    check(kind, *drawn(kind, 1, 1, 1, T, D, dtype), tiles=None)


@pytest.mark.parametrize("kind", OPS)
def test_query_heads_share_the_heads_of_keys(kind):
    check(kind, *drawn(kind, 2, 4, 2, 37, 16, torch.float32))


@pytest.mark.parametrize("tiles", [SMALL, Tiles(16, 16, 32)], ids=["wide queries", "wide blocks"])
@pytest.mark.parametrize("name", FIELDS)
def test_special_fields_equal_float64(name, tiles):
    do, inputs = drawn("fpa", 1, 2, 2, 50, 16, torch.float32)
    inputs[3:5] = (x.contiguous() for x in FIELDS[name](torch.arange(50.0, device=DEVICE).expand(1, 2, 50)))
    check("fpa", do, inputs, tiles)


@pytest.mark.parametrize("amplitude", [0.05, 40.0, 1000.0])
def test_fields_of_every_range_equal_float64(amplitude):
    check("fpa", *drawn("fpa", 1, 2, 2, 70, 16, torch.float32, amplitude))


@pytest.mark.parametrize("name", ["ties", "rising"])
def test_a_field_that_never_dips_gets_a_gradient_of_exactly_0(name):
    do, inputs = drawn("fpa", 1, 2, 2, 50, 16, torch.float32)
    inputs[3:5] = (x.contiguous() for x in FIELDS[name](torch.arange(50.0, device=DEVICE).expand(1, 2, 50)))
    assert all(not gradient.any() for gradient in computed("fpa", do, inputs)[4:])


@pytest.mark.parametrize("kind", OPS)
def test_what_comes_later_changes_no_bit(kind):
    _, inputs = drawn(kind, 1, 2, 2, 70, 16, torch.float32)
    _, others = drawn(kind, 1, 2, 2, 70, 16, torch.float32, seed=1)
    at = torch.arange(70, device=DEVICE)
    mixed = [
        torch.where((at < 40)[:, None] if x.dim() == 4 else at < 40, x, y) if x.dim() > 1 else x
        for x, y in zip(inputs, others, strict=True)
    ]
    before, after = (OPS[kind](*x, tiles=SMALL) for x in (inputs, mixed))
    assert torch.equal(before[:, :, :40], after[:, :, :40])
    assert not torch.equal(before[:, :, 40:], after[:, :, 40:])


@pytest.mark.parametrize("kind", OPS)
def test_two_runs_agree_bitwise(kind):
    do, inputs = drawn(kind, 1, 2, 1, 70, 16, torch.float16)
    for first, second in zip(*(computed(kind, do, inputs) for _ in range(2)), strict=True):
        assert torch.equal(first, second)


def test_one_constant_added_to_field_and_level_changes_no_bit():
    """Fields in sixteenths and a shift of 64: every difference phi - psi is exact."""
    _, (q, k, v, phi, psi, beta) = drawn("fpa", 1, 2, 2, 70, 16, torch.float32)
    phi, psi = (16 * phi).round() / 16, (16 * psi).round() / 16
    assert torch.equal(fpa(q, k, v, phi, psi, beta, tiles=SMALL), fpa(q, k, v, phi + 64, psi + 64, beta, tiles=SMALL))


def test_a_falling_walk_with_no_offsets_is_fox():
    _, (q, k, v, log_f) = drawn("fox", 1, 2, 2, 70, 16, torch.float32)
    walk = log_f.double().cumsum(-1).float()
    beta = torch.ones(2, device=DEVICE)
    torch.testing.assert_close(fpa(q, k, v, walk, walk, beta, tiles=SMALL), fox(q, k, v, log_f, tiles=SMALL), rtol=1e-5, atol=1e-5)


def test_as_beta_goes_to_0_fpa_becomes_softmax():
    _, (q, k, v, phi, psi, beta) = drawn("fpa", 1, 2, 2, 70, 16, torch.float32)
    ours, plain = fpa(q, k, v, phi, psi, 1e-9 * beta, tiles=SMALL), softmax(q, k, v, tiles=SMALL)
    torch.testing.assert_close(ours, plain, rtol=1e-6, atol=1e-6)


def test_a_scale_and_a_beta_for_every_example_are_heeded():
    do, (q, k, v, phi, psi, _) = drawn("fpa", 2, 2, 2, 20, 16, torch.float32)
    beta = torch.tensor([[0.5, 1.0], [2.0, 4.0]], device=DEVICE)
    check("fpa", do, [q, k, v, phi, psi, beta])
    torch.testing.assert_close(softmax(q, k, v, scale=0.5, tiles=SMALL), softmax(2 * q, k, v, tiles=SMALL))


def test_views_strided_in_every_axis_are_read_as_they_are():
    do, inputs = drawn("softmax", 2, 2, 2, 20, 16, torch.float32)
    inputs = [x.repeat_interleave(2, -1)[..., ::2] for x in inputs]
    check("softmax", do[..., :1].expand_as(do), inputs)


@pytest.mark.parametrize("kind", OPS)
def test_nothing_is_written_outside_of_what_was_allocated(kind, monkeypatch):
    """Everything that a pass allocates stands between two walls of 4096 sentinels."""
    walls, like, empty, full = [], torch.empty_like, torch.empty, torch.full

    def walled(x, **kinds):
        dense = like(x, **kinds)
        base = full((dense.numel() + 8192,), 7.0, dtype=dense.dtype, device=dense.device)
        walls.append(base)
        return base[4096:-4096].as_strided(dense.shape, dense.stride(), 4096)

    with monkeypatch.context() as patch:
        patch.setattr(torch, "empty_like", walled)
        patch.setattr(torch, "zeros_like", lambda x: walled(x).zero_())
        patch.setattr(torch, "full", lambda shape, value, **kinds: walled(full(shape, value, **kinds)).fill_(value))
        patch.setattr(torch, "empty", lambda *shape, **kinds: walled(empty(*shape, **kinds)))
        computed(kind, *drawn(kind, 1, 2, 1, 19, 4, torch.float32))
    assert len(walls) >= 6  # o, lse, delta, dq, dk, dv
    assert all((base[:4096] == 7).all() and (base[-4096:] == 7).all() for base in walls)


BAD = {
    "q must be (B, H, T, D)": {"q": torch.zeros(2, 5, 8)},
    "must divide q's": {"k": torch.zeros(1, 3, 5, 8), "v": torch.zeros(1, 3, 5, 8)},
    "head_dim must be 1..128": {name: torch.zeros(1, 2, 5, 129) for name in "qkv"},
    "one dtype of float32": {"q": torch.zeros(1, 2, 5, 8, dtype=torch.float64)},
    "phi must be (B, H, T) = (1, 2, 5)": {"phi": torch.zeros(1, 1, 5)},
    "psi must be (B, H, T) = (1, 2, 5)": {"psi": torch.zeros(1, 2, 4)},
    "beta must be broadcastable to (B, H) = (1, 2)": {"beta": torch.zeros(3)},
    "below 2^31": {name: torch.empty_strided((1, 2, 5, 8), (0, 0, 2**30, 1), device="meta") for name in "qkv"},
    "on one device": {"k": torch.zeros(1, 2, 5, 8, device="meta")},
}


@pytest.mark.parametrize("message", BAD)
def test_arguments_that_do_not_fit_are_refused_with_what_to_do(message):
    arguments = {name: torch.zeros(1, 2, 5, 8) for name in "qkv"} | {
        "phi": torch.zeros(1, 2, 5),
        "psi": torch.zeros(1, 2, 5),
        "beta": torch.ones(2),
    }
    with pytest.raises(ValueError, match=re.escape(message)):
        fpa(**arguments | BAD[message])


def test_a_cpu_without_the_interpreter_is_told_what_it_can_do(monkeypatch):
    monkeypatch.setattr(launch, "loop", SimpleNamespace(INTERPRETED=False))
    with pytest.raises(ValueError, match="TRITON_INTERPRET=1"):
        softmax(*(torch.zeros(1, 1, 2, 4) for _ in range(3)))


@pytest.mark.parametrize(("sizes", "message"), [((24, 16, 16), "power of two"), ((16, 16, 8), "at least 16"), ((16, 32, 16), "at most")])
def test_tiles_that_cannot_be_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        Tiles(*sizes)

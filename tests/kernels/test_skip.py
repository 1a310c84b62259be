"""Tiles left out by index lists: which tiles are dead, that all passes leave out the same pairs, and what that changes at most."""

from itertools import pairwise

import pytest
import torch

from attnprobe.kernels import launch, loop, skip
from attnprobe.kernels.fox import fused as fox
from attnprobe.kernels.fox.reference import forget_bias
from attnprobe.kernels.fpa import fused as fpa
from attnprobe.kernels.fpa import path_bias, sparse_table
from attnprobe.kernels.fpa.tiles import ALIVE, DEAD, MIXED, tiles_of
from attnprobe.kernels.launch import Tiles
from attnprobe.kernels.softmax import fused as softmax

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in exp2")  # of a share that is 1 / (1 + inf) = 0

DEVICE = "cpu" if loop.INTERPRETED else "cuda"
PRUNE = -6.0
SIZES = {"one size": Tiles(16, 16, 16), "wide queries": Tiles(32, 16, 16), "wide blocks": Tiles(16, 16, 32)}
OPS = {"fox": fox.attention, "fpa": fpa.attention}


def drawn(kind, T=100, B=1, H=2, G=1):
    """do, and inputs of whose tiles many are dead and many are not: the field falls by 12 over 100 positions, then rises."""
    generator = torch.Generator().manual_seed(3)

    def normal(*shape):
        return torch.randn(shape, generator=generator).to(DEVICE)

    q, do, k, v = (normal(B, heads, T, 16) for heads in (H, H, G, G))
    if kind == "fox":
        return do, [q, k, v, -0.2 * torch.rand(B, H, T, generator=generator).to(DEVICE)]
    trend = -0.12 * torch.arange(T, device=DEVICE) + torch.where(torch.arange(T, device=DEVICE) > 80, 20.0, 0.0)
    return do, [q, k, v, trend + 0.5 * normal(B, H, T), trend + 0.5 * normal(B, H, T), torch.rand(H, generator=generator).to(DEVICE) + 0.5]


def bias(kind, fields):
    """(B, H, T, T), by the reference."""
    if kind == "fox":
        return forget_bias(*fields, fields[0].shape[-1])
    phi, psi, beta = fields
    return path_bias(phi, psi, beta[:, None, None], phi.shape[-1])


def dead_tiles(kind, inputs, tiles):
    """What the op leaves out: (B, H, I, J) by larger tiles."""
    q, k, v, *fields = inputs
    problem = launch.problem(q, k, v, None, tiles)
    if kind == "fox":
        F = launch.padded(fields[0].cumsum(-1) * loop.LOG2E.value, problem)
        return fox.dead_lists(F, problem, PRUNE).dead
    return classes(problem, *fields) == DEAD


def classes(problem, phi, psi, beta):
    phi, psi = (launch.padded(x, problem) for x in (phi, psi))
    lowest = sparse_table.lowest_table(phi, max(sparse_table.levels_for(problem.q.shape[2]), problem.tiles.levels))
    return tiles_of(lowest, psi, beta.expand(phi.shape[:2]), problem, PRUNE)


def by_pair(tile, tiles, T):
    """(B, H, I, J) by larger tiles as (B, H, T, T) by pairs."""
    queries, keys = skip.larger(tiles)
    return tile.repeat_interleave(queries, -2).repeat_interleave(keys, -1)[..., :T, :T]


def expected(kind, do, inputs, out):
    """o and every gradient in float64 without the pairs that are `out`; and the full function's weights of those, by row."""
    q, k, v, *fields = leaves = [x.double().requires_grad_() for x in inputs]
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    T = q.shape[2]
    after = ~torch.ones(T, T, dtype=torch.bool, device=q.device).tril()
    scores = (q @ k.mT * q.shape[-1] ** -0.5 + bias(kind, fields)).masked_fill(after, -torch.inf)
    o = scores.masked_fill(out, -torch.inf).softmax(-1) @ v
    lost = (scores.softmax(-1) * out).sum(-1)
    return [o.detach(), *torch.autograd.grad(o, leaves, do.double())], lost.detach()


def computed(kind, do, inputs, **options):
    leaves = [x.detach().requires_grad_() for x in inputs]
    o = OPS[kind](*leaves, **options)
    return [o.detach(), *torch.autograd.grad(o, leaves, do)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", OPS)
def test_output_and_gradients_are_those_of_the_function_without_the_dead_tiles(kind, size):
    tiles = SIZES[size]
    do, inputs = drawn(kind, B=2)
    dead = dead_tiles(kind, inputs, tiles)
    assert (dead.sum((1, 2, 3)) > 0).all(), "some tile of each example is skipped"
    ours = computed(kind, do, inputs, tiles=tiles, prune=PRUNE)
    theirs, _ = expected(kind, do, inputs, by_pair(dead, tiles, 100))
    for at, (found, wanted) in enumerate(zip(ours, theirs, strict=True)):
        assert torch.isfinite(found).all(), at
        assert (found - wanted).norm() <= (1e-6 if at == 0 else 3e-6 if at < 4 else 2e-5) * wanted.norm(), at


@pytest.mark.parametrize("kind", OPS)
def test_leaving_tiles_out_changes_output_and_gradients_by_no_more_than_the_bound_in_the_docstring(kind):
    do, inputs = drawn(kind)
    tiles = SIZES["wide queries"]
    dead = dead_tiles(kind, inputs, tiles)
    out = by_pair(dead, tiles, 100)
    assert dead.sum() > 0
    ours = computed(kind, do, inputs, tiles=tiles, prune=PRUNE)
    full, _ = expected(kind, do, inputs, torch.zeros_like(out))
    _, lost = expected(kind, do, inputs, out)
    v = inputs[2].double()
    moved = (ours[0] - full[0]).abs().amax(-1)  # (B, H, T)
    assert (moved <= 2 * lost * v.abs().max() + 1e-6).all()
    assert moved.max() > 1e-6, "something was left out"
    most = 6 * lost * (do.double() @ v.expand_as(do).mT).abs().amax(-1)  # (B, H, T)
    slope = inputs[5][:, None].double() if kind == "fpa" else 1.0
    summed = [(found - wanted).abs().sum(-1) for found, wanted in zip(ours[4:6], full[4:6], strict=True)]
    if kind == "fpa":
        assert all((x <= (slope * most).sum(-1) + 1e-4).all() for x in summed)
    assert ((ours[1] - full[1]).abs().amax(-1) <= most * 16**-0.5 * inputs[1].double().abs().max() + 1e-5).all()


@pytest.mark.parametrize("size", SIZES)
def test_tiles_without_a_bias_beside_dead_and_mixed_ones_change_nothing(size):
    """The levels of positions 32 to 63 lie below every dip, so that a head has tiles of all three classes."""
    tiles = SIZES[size]
    do, inputs = drawn("fpa")
    inputs[4][:, :, 32:64] -= 60.0
    found = classes(launch.problem(*inputs[:3], None, tiles), *inputs[3:])
    assert all((found == kind).sum() > 0 for kind in (ALIVE, MIXED, DEAD))
    ours = computed("fpa", do, inputs, tiles=tiles, prune=PRUNE)
    theirs, _ = expected("fpa", do, inputs, by_pair(found == DEAD, tiles, 100))
    for at, (x, y) in enumerate(zip(ours, theirs, strict=True)):
        assert torch.isfinite(x).all(), at
        assert (x - y).norm() <= (1e-6 if at == 0 else 3e-6 if at < 4 else 2e-5) * y.norm(), at


def test_with_no_bias_anywhere_every_bit_is_that_of_softmax_and_no_field_has_a_gradient():
    do, inputs = drawn("fpa")
    inputs[4] -= 1000.0
    found = classes(launch.problem(*inputs[:3], None, SIZES["one size"]), *inputs[3:])[..., :7, :7]
    assert (found == ALIVE).sum() == 2 * 21, "all tiles of both heads below the diagonal"
    ours = computed("fpa", do, inputs, tiles=SIZES["one size"], prune=-torch.inf)
    leaves = [x.detach().requires_grad_() for x in inputs[:3]]
    o = softmax.attention(*leaves, tiles=SIZES["one size"])
    for x, y in zip(ours, [o, *torch.autograd.grad(o, leaves, do)], strict=False):
        assert torch.equal(x, y)
    assert not any(x.any() for x in ours[4:])


@pytest.mark.parametrize("kind", OPS)
def test_where_nothing_is_dead_nor_without_a_bias_no_bit_changes(kind):
    do, inputs = drawn(kind, T=70)
    if kind == "fpa":
        assert (classes(launch.problem(*inputs[:3], None, SIZES["one size"]), *inputs[3:]) != ALIVE).all()
    for plain, listed in zip(*(computed(kind, do, inputs, tiles=SIZES["one size"], prune=p) for p in (None, -1e4)), strict=True):
        assert torch.equal(plain, listed)


@pytest.mark.parametrize("size", SIZES)
def test_each_class_is_what_it_says_of_every_pair(size):
    tiles = SIZES[size]
    _, inputs = drawn("fpa")
    inputs[4][:, 1] -= 40.0  # below every dip
    found = classes(launch.problem(*inputs[:3], None, tiles), *inputs[3:])
    b = bias("fpa", [x.double() for x in inputs[3:]])
    before = ~torch.ones(100, 100, dtype=torch.bool, device=b.device).triu()
    pairs = by_pair(found, tiles, 100)
    assert (b[(pairs == DEAD) & before] < PRUNE).all()
    assert (b[(pairs == ALIVE) & before] == 0).all()
    assert not ((pairs != MIXED) & ~before).any()
    assert all((found == kind).sum() > 0 for kind in (ALIVE, MIXED, DEAD))


def test_two_look_ups_bound_a_tile_as_tightly_as_its_pairs_do_where_its_keys_have_one_level():
    """With one level for all keys the corners' biases are a tile's highest and lowest: it is dead, or alive, iff all its pairs are."""
    _, (q, k, v, phi, psi, beta) = drawn("fpa")
    tiles, level = SIZES["one size"], 0 * psi + torch.tensor([[0.0], [-6.0]], device=DEVICE)
    found = classes(launch.problem(q, k, v, None, tiles), phi, level, beta)[..., :6, :6]
    highest, lowest = extremes(bias("fpa", [x.double() for x in (phi, level, beta)]))
    off = ~torch.ones(6, 6, dtype=torch.bool, device=phi.device).triu()
    for kind, proven in ((DEAD, highest < PRUNE), (ALIVE, lowest == 0)):
        assert (found == kind)[..., off].any()
        assert torch.equal((found == kind)[..., off], proven[..., off])


def test_a_tile_of_fox_is_dead_iff_all_of_its_pairs_are():
    _, inputs = drawn("fox")
    dead = dead_tiles("fox", inputs, SIZES["one size"])[..., :6, :6]
    highest, _ = extremes(bias("fox", [inputs[3].double()]))
    assert dead.any()
    assert torch.equal(dead, (highest < PRUNE) & ~torch.ones(6, 6, dtype=torch.bool, device=dead.device).triu())


def extremes(b):
    """The highest and the lowest of b (B, H, 100, 100) in each of the whole tiles of 16 by 16: (B, H, 6, 6)."""
    tiled = b[..., :96, :96].unflatten(-1, (6, 16)).unflatten(-3, (6, 16))  # (B, H, 6, 16, 6, 16)
    return tiled.amax((-3, -1)), tiled.amin((-3, -1))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("in_runs", [False, True])
def test_the_lists_of_all_passes_hold_the_same_pairs_each_once_and_by_runs(size, in_runs):
    tiles, T = SIZES[size], 200
    q = torch.zeros(1, 1, T, 16, device=DEVICE)
    problem = launch.problem(q, q, q, None, tiles)
    before = skip.corners(tiles, problem.padded)[2].to(DEVICE)
    drawn = torch.rand(1, 1, *before.shape, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    dead, alive = (drawn < 0.4) & before, (drawn > 0.7) & before
    made = skip.lists(dead, alive, problem, in_runs)
    position = torch.arange(T, device=DEVICE)
    for name in ("forward", "by_key", "by_query"):
        queries, keys = (tiles.queries, tiles.keys) if name == "forward" else (tiles.block, tiles.block)
        at, starts, free, count = (x[0, 0] for x in getattr(made, name))
        walked = torch.zeros(2, T, T, dtype=torch.int)  # with a bias, and without
        for owner in range(at.shape[0]):
            ends = starts[owner].tolist()
            met = [(0, run, n) for run, (a, b) in enumerate(pairwise(ends)) for n in at[owner, a:b].tolist()]
            for kind, run, other in met + [(1, 0, n) for n in free[owner, : count[owner]].tolist()]:
                i, j = (other, owner) if name == "by_key" else (owner, other)
                assert kind == 1 or not in_runs or (i ^ (j * keys // queries)).bit_length() - 1 == run
                walked[kind, i * queries : (i + 1) * queries, j * keys : (j + 1) * keys] += 1
        earlier = (position // queries)[:, None] > position // queries
        of_pairs = torch.cat([by_pair(tile, tiles, T)[0] for tile in (~dead & ~alive, alive)])
        assert torch.equal(walked, (earlier & of_pairs).int().cpu()), name


@pytest.mark.parametrize("prune", [1.0, float("nan")])
@pytest.mark.parametrize("kind", OPS)
def test_a_threshold_that_no_bias_can_be_below_is_refused(kind, prune):
    with pytest.raises(ValueError, match="prune must be None or a bias in nats, at most 0"):
        OPS[kind](*drawn(kind, T=5)[1], prune=prune)

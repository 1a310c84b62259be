"""The pieces of the benchmark that need no GPU: providers agree, fields are as dead as asked, rounds interleave, floors add up."""

import time
from dataclasses import replace
from functools import partial
from itertools import combinations

import pytest
import torch

from attnprobe.cli.bench_kernels import table
from attnprobe.kernels import loop, skip
from attnprobe.kernels.bench import cases, errors, floors, providers, session, timing
from attnprobe.kernels.bench.cases import Case
from attnprobe.kernels.bench.fields import CLOSED, dead_share, field
from attnprobe.kernels.bench.providers import PROVIDERS
from attnprobe.kernels.fpa import path_bias
from attnprobe.kernels.launch import Tiles
from attnprobe.kernels.stochastic import window_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered in exp2"),
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile"),
]

DEVICE = "cpu" if loop.INTERPRETED else "cuda"
TINY = Case(1, 2, 70, 16, 0.0, torch.float32, DEVICE, window=20)


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_computes_what_its_kind_says(name):
    found = errors.check(TINY, [name])
    leaves = PROVIDERS[name].leaves if PROVIDERS[name].on_cpu else ()
    assert [row["of"] for row in found] == ["o", *(f"d {leaf}" for leaf in leaves)]
    assert all(row["error"] <= (2e-5 if row["of"] == "d tau" else 1e-5) for row in found), found  # tau's sum nearly cancels


def test_a_window_an_order_and_a_threshold_each_change_what_is_computed():
    """So that a provider which dropped one would be far from its kind."""
    x = cases.inputs(TINY)
    found = {kind: errors.exact(kind, x)[0].detach() for kind in errors.EXACT}
    assert all(errors.relative(found[a], found[b]) > 0.05 for a, b in combinations(found, 2))


def test_fpa_pruned_leaves_dead_tiles_out_and_is_fpa_all_the_same(monkeypatch):
    """A dip of 100 closes what lies behind it for good: e^-10 bounds a key's weight, and e^-90 is what it has."""
    left_out, lists = [], skip.lists
    monkeypatch.setattr(
        skip, "lists", lambda dead, *more, **options: left_out.append(float(dead.float().mean())) or lists(dead, *more, **options)
    )
    found = errors.check(replace(TINY, T=150, dead=0.9), ["fpa pruned"])
    assert min(left_out) > 0.2
    assert all(row["error"] <= 1e-5 for row in found), found


def test_the_session_checks_pruning_where_tiles_are_dead():
    assert any(case.dead > 0 for case in session.CHECKED)


def test_what_is_timed_first_is_all_of_the_smaller_heads():
    found = [(case.D, case.dead, case.T) for case in session.cases_of([64, 128], [16, 32], [0.0, 0.9])]
    assert found == sorted(found)


def test_an_error_that_is_not_finite_is_no_small_error():
    assert errors.relative(torch.tensor([float("nan"), 1.0]), torch.ones(2)) == float("inf")
    assert errors.relative(torch.ones(2), torch.ones(2)) == 0


def test_a_mask_of_pairs_that_would_not_fit_is_refused_with_its_size():
    x = cases.inputs(TINY)
    long = torch.empty_strided((8, 1, 2**15, 16), (0, 0, 0, 1), device="meta")
    with pytest.raises(MemoryError, match="a mask of pairs takes 64 GiB"):
        providers.selective(replace(x, q=long))


@pytest.mark.parametrize("dead", [0.0, 0.5, 0.9, 0.99])
def test_a_field_has_the_share_of_dead_tiles_that_was_asked_for(dead):
    phi, psi, beta = field(1, 2, 2048, 64, dead, torch.Generator().manual_seed(0))
    assert dead_share(phi, psi, beta, 64) == pytest.approx(dead, abs=0.03)


@pytest.mark.parametrize("T", [1, 40, 64, 150])
def test_a_tile_is_dead_where_every_bias_in_it_is_below_the_threshold(T):
    """Against the whole matrix, block 16; a tile may be dead unnoticed, since the corner bounds m and psi apart, but never the reverse."""
    phi, psi, beta = field(2, 2, T, 16, 0.6, torch.Generator().manual_seed(1))
    b = torch.nn.functional.pad(path_bias(phi, psi, beta[:, None, None], T), (0, -T % 16, 0, -T % 16), value=-1e9)
    n = b.shape[-1] // 16
    tiles = b.unflatten(-1, (n, 16)).unflatten(-3, (n, 16)).amax((-1, -3))  # (B, H, n, n)
    off = torch.ones(n, n, dtype=torch.bool).tril(-1)
    exactly = float((tiles[..., off] < CLOSED).double().mean()) if n > 1 else 0.0
    share = dead_share(phi, psi, beta, 16)
    assert share == pytest.approx(exactly, abs=1e-9)
    assert share > 0.3 or T < 64


def test_rounds_interleave_and_the_median_and_quantiles_are_of_the_rounds():
    """Two functions, five rounds after two warm calls each; the clock counts calls, so a's times are 5, 7, .., 13 and b's 6, 8, .., 14."""
    order = []

    def clock(function):
        function()
        return len(order)

    found = timing.interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, clock, 5, warm=2)
    assert "".join(order) == "aabb" + 5 * "ab"
    assert found == {"a": {"median": 9, "p20": 6.6, "p80": 11.4}, "b": {"median": 10, "p20": 7.6, "p80": 12.4}}
    assert timing.summary([3.0]) == {"median": 3.0, "p20": 3.0, "p80": 3.0}


def test_without_a_gpu_a_row_says_that_nothing_was_measured_and_carries_no_time():
    for mode, names in (("both", PROVIDERS), ("decode", session.DECODERS)):
        rows = list(session.timed(Case(1, 16, 1024, 64), mode, None, 5, time.monotonic() + 60))
        assert [row["provider"] for row in rows] == list(names)
        assert all(row["measured"] is False and row["why"] == "no CUDA device" and "median" not in row for row in rows)


def test_past_the_deadline_nothing_is_measured():
    (row, *_) = session.timed(Case(1, 16, 1024, 64), "both", lambda function: 1.0, 5, time.monotonic() - 1)
    assert (row["measured"], row["why"]) == (False, "no time was left")
    assert {row["why"] for row in session.checked(time.monotonic() - 1)} == {"no time was left"}


@pytest.mark.parametrize("mode", session.MODES)
def test_a_timed_row_has_its_ratios_to_the_providers_beside_it(mode, monkeypatch):
    """A clock of our own stands in for the GPU's: 1 for the first provider of a round, 2 for the next, and so on."""
    calls = []

    def clock(function):
        function()
        calls.append(function)
        return float(1 + [f for i, f in enumerate(calls) if f not in calls[:i]].index(function))

    monkeypatch.setattr(timing, "peak", lambda function: 7)
    rows = {row["provider"]: row for row in session.timed(replace(TINY, H=1, T=20), mode, clock, 2, time.monotonic() + 600)}
    names = [name for name in rows if mode != "both" or name != "flex fpa"]  # which has no backward pass on a CPU
    for name in names:
        assert rows[name]["measured"], rows[name]
        assert (rows[name]["peak_bytes"], rows[name]["dead_tiles"]) == (7, 0)
    assert rows["fpa"]["of_fox"] == (1 + names.index("fpa")) / (1 + names.index("fox"))
    assert mode != "both" or "does not support backward on CPU" in rows["flex fpa"]["why"]


@pytest.mark.slow
def test_every_part_of_a_session_runs_and_measures_every_provider(monkeypatch):
    """Tiny cases and a clock of our own in the place of a GPU's: what a session computes there, in its order."""
    monkeypatch.setattr(session, "Case", partial(Case, dtype=torch.float32, device=DEVICE, window=6))
    monkeypatch.setattr(session, "SWEPT", {16: (Tiles(16, 16, 16), Tiles(32, 16, 16))})
    monkeypatch.setattr(session, "TOKENS", 18)
    monkeypatch.setattr(session, "WIDTH", 16)
    monkeypatch.setattr(timing, "peak", lambda function: 7)
    until = time.monotonic() + 600
    checked = list(session.checked(until, (replace(TINY, T=18, H=1),)))
    assert {row["provider"] for row in checked} == set(PROVIDERS)
    assert all(row["measured"] and row["error"] < 1e-4 for row in checked), checked
    swept = list(session.swept(until, clocked, rounds=1, T=18))
    assert len(swept) == 2 * 2 * len(session.SWEPT_PROVIDERS)
    assert all(row["measured"] for row in swept), swept
    timed = list(table(session, [18], [16], [0.9], clocked, 1, until))
    assert {row["provider"] for row in timed if row["measured"]} == set(PROVIDERS) | set(session.DECODERS)
    assert [(row["provider"], row["mode"]) for row in timed if not row["measured"]] == ([("flex fpa", "both")] if DEVICE == "cpu" else [])


def clocked(function):
    function()
    return 1.0


def test_the_decoders_agree_on_what_they_compute():
    x = cases.inputs(Case(1, 2, 70, 16, 0.7, torch.float32, DEVICE))
    rows = {name: session.decoder(name, x)().reshape(1, 2, 16) for name in session.DECODERS}
    for name, kind in (("sdpa", "softmax"), ("softmax", "softmax"), ("fox", "fox"), ("fpa", "fpa"), ("fpa evicted", "fpa")):
        theirs = errors.exact(kind, x)[0][:, :, -1].detach()
        assert errors.relative(rows[name], theirs) <= (1e-3 if name == "fpa evicted" else 1e-5), name


def test_floors_by_hand():
    """Softmax forward of 96 heads, T 2048, D 64: 201,424,896 pairs of 256 operations at 989e12: 52.1 us. 64 x 64 tiles by 4 warps:
    pairs / 4096 x 4 = 196,704 warp-loops of 348 instructions at 4 x 132 x 1.755e9 a second: 73.9 us; 34 MUFU at 2 clocks each:
    57.7 us. Memory: 96 x 2048 x (4 x 64 x 2 + 4) bytes = 101 MB: 21.1 us.
    """
    found = floors.floors("softmax forward", {"loop": 348, "mufu": 34}, {"M": 64, "N": 64}, {"num_warps": 4}, floors.Shape())
    assert found["mma"] == pytest.approx(52.1, abs=0.1)
    assert found["issue"] == pytest.approx(73.9, abs=0.1)
    assert found["mufu"] == pytest.approx(57.7, abs=0.1)
    assert found["memory"] == pytest.approx(21.1, abs=0.1)
    assert (found["bound"], found["floor"]) == ("issue", found["issue"])
    assert (
        floors.floors("fpa pruned forward", {"loop": 348, "mufu": 34}, {"M": 64, "N": 64}, {"num_warps": 4}, floors.Shape())["issue"]
        == found["issue"]
    )
    assert floors.floors("row_dots", {"loop": 0, "mufu": 0}, {}, {}, floors.Shape()) is None


@pytest.mark.parametrize("T", [1, 7, 20])
def test_the_pairs_of_a_floor_are_those_that_a_window_holds(T):
    """Counted one by one: of positions s <= t without a window and in a sliding one, of slots in a shuffled one."""
    apart = torch.arange(T)[:, None] - torch.arange(T)
    left, right = window_of(6)
    assert floors.seen(T, "fpa", 6) == int((apart >= 0).sum())
    assert floors.seen(T, "sliding", 6) == int(((apart >= 0) & (apart < 6)).sum())
    assert floors.seen(T, "stochastic", 6) == int(((apart <= left) & (-apart <= right)).sum())


def test_predicted_ratios_are_of_the_sums_of_the_passes():
    """Forward 2 over 1; all three (2 + 3 + 4) over (1 + 1 + 1) = 3. What has no floor does not count."""
    rows = [
        {"kernel": f"{kind} {step}", "head_dim": 64, "floors": {"floor": us}}
        for kind, of in (("softmax", (1, 1, 1)), ("fpa", (2, 3, 4)))
        for step, us in zip(floors.PRODUCTS, of, strict=True)
    ]
    found = floors.ratios([*rows, {"kernel": "row_dots", "head_dim": 64, "floors": None}])
    assert found == [{"kind": "fpa", "over": "softmax", "head_dim": 64, "forward": 2.0, "both": 3.0}]

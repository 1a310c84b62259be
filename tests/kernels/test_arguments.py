"""Every public operator refuses what it cannot compute: None, other types, sizes of zero, each in one line that names the argument."""

import re
from functools import partial

import numpy as np
import pytest
import torch

from attnprobe.kernels import arguments, fox, fpa, loop, power_norm, softmax, sparse, stochastic
from attnprobe.kernels.decode import Cache
from attnprobe.kernels.fox import fused as fused_fox
from attnprobe.kernels.fpa import fused as fused_fpa
from attnprobe.kernels.launch import Tiles
from attnprobe.kernels.power_norm import fused as fused_power_norm
from attnprobe.kernels.softmax import fused as fused_softmax
from attnprobe.kernels.stochastic import fused as fused_stochastic

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered in exp2"),
    pytest.mark.filterwarnings("ignore:overflow encountered in multiply"),
]

DEVICE = "cpu" if loop.INTERPRETED else "cuda"
B, H, T, D = 1, 2, 5, 8


def zeros(*shape):
    return torch.zeros(shape, device=DEVICE)


QKV = {name: zeros(B, H, T, D) for name in "qkv"}
FIELD = zeros(B, H, T)
CAUSAL = torch.ones(T, T, dtype=torch.bool, device=DEVICE).tril()
SCORED = {"scores": zeros(B, H, T, T), "mask": CAUSAL}
PERM = torch.arange(T, device=DEVICE)
PATH = {"phi": FIELD, "psi": FIELD, "beta": torch.ones(H, 1, 1, device=DEVICE), "rows": 3}
OPTIONS = {"soft": True, "of_query": False}
HEADS = torch.ones(H, device=DEVICE)
LAUNCHED = {"scale": 0.5, "tiles": Tiles(16, 16, 16)}

FUSED = {
    "softmax": (fused_softmax.attention, QKV | LAUNCHED),
    "fox": (fused_fox.attention, QKV | {"log_f": FIELD, "prune": -30.0} | LAUNCHED),
    "fpa": (fused_fpa.attention, QKV | {"phi": FIELD, "psi": FIELD, "beta": HEADS, "exact": True, "prune": -30.0} | LAUNCHED),
    "power_norm": (fused_power_norm.attention, QKV | {"tau": -1.0, "gate": "exp", "skip_silent": False} | LAUNCHED),
    "stochastic": (fused_stochastic.attention, QKV | {"perm": PERM, "window": (1, 1), "trusted": False} | LAUNCHED),
    "sliding": (fused_stochastic.sliding, QKV | {"w": 3} | LAUNCHED),
    "gated": (fused_stochastic.gated, QKV | {"perm": PERM, "gates": (FIELD, FIELD), "w": 4, "trusted": False} | LAUNCHED),
}
REFERENCE = {
    "masked_softmax": (softmax.masked_softmax, SCORED),
    "masked_log_softmax": (softmax.masked_log_softmax, SCORED),
    "softmax by torch": (softmax.attention, {name: zeros(1, B, H, T, D) for name in "qkv"} | {"mask": CAUSAL, "scale": 0.5}),
    "forget_bias": (fox.forget_bias, {"log_f": FIELD, "rows": 3}),
    "path_bias": (fpa.path_bias, PATH | OPTIONS),
    "path_sum_bias": (fpa.path_sum_bias, PATH),
    "suffix_min": (fpa.suffix_min, {"phi": FIELD}),
    "sparsemax": (sparse.sparsemax, SCORED),
    "entmax15": (sparse.entmax15, SCORED),
    "power_norm by torch": (power_norm.power_norm, SCORED | {"tau": -1.0, "gate": "exp"}),
    "filtered": (power_norm.filtered, {"k": zeros(B, H, T, D), "taps": [0.75, 0.25]}),
    "allowed": (stochastic.allowed, {"slots": PERM, "window": (1, 1), "T": 3}),
    "window_of": (stochastic.window_of, {"w": 3}),
    "halves": (stochastic.halves, {"w": 3}),
    "gated by torch": (stochastic.gated, {"paths": (zeros(B, H, T, D),) * 2, "gates": (FIELD, FIELD)}),
    "stochastic by torch": (stochastic.attention, QKV | {"perm": PERM, "window": (1, 1), "scale": 0.5}),
}
DECODING = {
    "Cache": (Cache, {"k": zeros(B, H, T, D), "v": zeros(B, H, T, D), "lengths": torch.tensor([T], device=DEVICE)}),
    "Cache of fox": (
        Cache,
        {"k": zeros(B, H, T, D), "v": zeros(B, H, T, D), "lengths": torch.tensor([T], device=DEVICE), "bias": "fox", "fields": [FIELD]},
    ),
    "Cache.empty": (Cache.empty, {"B": B, "G": H, "H": H, "D": D, "bias": "fpa", "beta": 1.0}),
    "Cache.step": (
        lambda **given: Cache.empty(B, H, H, D).step(**given),
        {name: zeros(B, H, D) for name in "qkv"} | {"splits": 2, "scale": 0.5},
    ),
    "Cache.evict": (lambda **given: Cache.empty(B, H, H, D, "fox").evict(**given), {"threshold": -1.0}),
}
OPERATORS = FUSED | REFERENCE | DECODING

NOT_TENSORS = (None, "q", 3, [1.0])
NOT_WHOLE = (None, "3", 2.5, 0, -1, True)
BAD = {
    **dict.fromkeys(("q", "k", "v", "log_f", "phi", "psi", "beta", "scores", "mask", "slots", "lengths"), NOT_TENSORS),
    **dict.fromkeys(("w", "rows", "T", "B", "G", "H", "D"), NOT_WHOLE),
    "perm": ("a", 3, [0, 1]),
    "tau": (None, "0", [1.0], float("nan")),
    "scale": ("1", float("nan"), float("inf"), torch.ones(1), [1.0]),
    "tiles": (64, "small", (16, 16, 16)),
    "prune": ("-30", float("nan"), 1.0, torch.ones(1)),
    **dict.fromkeys(("soft", "of_query", "exact", "skip_silent", "trusted"), (None, 1, "yes")),
    "gate": (None, "relu", ["exp"]),
    "window": (None, 3, (1,), (1, -1), ("a", "b")),
    "gates": (None, FIELD, (FIELD,), (FIELD, None), (gate for gate in (FIELD, FIELD))),
    "paths": (None, 3, (), (None, None)),
    "taps": (None, [], "abc", [None]),
    "bias": (None, "alibi", ["fox"]),
    "fields": (None, "f", [None], [FIELD, FIELD], [zeros(T)]),
    "splits": ("2", 0, -1, 1.5),
    "threshold": (None, "x", 0, 1.0, float("nan")),
}
CALLED = {"gates": "gates|the first gate|the second gate", "taps": "taps|a tap", "fields": "fields|log_f"}  # one of several
MISTAKES = [
    pytest.param(operator, name, value, id=f"{operator}, {name}={arguments.shown(value)}")
    for operator, (_, given) in OPERATORS.items()
    for name in given
    for value in BAD[name]
    if not (operator == "Cache.empty" and (name, value) == ("beta", 3))  # a number is a strength
]


@pytest.mark.parametrize("operator", OPERATORS)
def test_what_is_right_is_computed(operator):
    function, given = OPERATORS[operator]
    assert function(**given) is not None


@pytest.mark.parametrize(("operator", "name", "value"), MISTAKES)
def test_what_is_wrong_is_refused_in_one_line_that_names_it(operator, name, value):
    function, given = OPERATORS[operator]
    with pytest.raises(ValueError, match=rf"\b({CALLED.get(name, name)}) ") as refused:
        function(**given | {name: value})
    assert "\n" not in str(refused.value)
    assert "not" in str(refused.value)


@pytest.mark.parametrize("empty", range(4))
@pytest.mark.parametrize("operator", FUSED)
def test_a_size_of_zero_is_refused(operator, empty):
    function, given = FUSED[operator]
    shape = [B, H, T, D]
    shape[empty] = 0
    with pytest.raises(ValueError, match=r"and B, H and T at least 1, not|gates must be"):
        function(**given | {name: zeros(*shape) for name in "qkv"})


@pytest.mark.parametrize("shape", [(0, 1, 5, 8), (1, 0, 5, 8), (1, 1, 5, 0)])
def test_a_cache_of_no_sequence_head_or_width_is_refused(shape):
    k = zeros(*shape)
    with pytest.raises(ValueError, match=re.escape(f"of at least 1, not {shape}")):
        Cache(k, k, torch.zeros(shape[0], dtype=torch.long, device=DEVICE))


def test_a_cache_of_numbers_says_that_it_takes_tensors():
    with pytest.raises(ValueError, match=r"k must be a tensor, not 1; torch.as_tensor makes one of numbers"):
        Cache(1, 1, -1, 16)
    with pytest.raises(ValueError, match="D must be a whole number of at least 1, the head dimension, not 0"):
        Cache.empty(1, 1, 1, 0)


def test_whole_numbers_of_numpy_are_taken_as_those_of_python():
    w, q = np.int64(4), QKV | {"tiles": Tiles(16, 16, 16)}
    assert stochastic.window_of(w) == (1, 2)
    assert torch.equal(stochastic.allowed(PERM, stochastic.window_of(w), np.int64(T)), stochastic.allowed(PERM, (1, 2), T))
    for function, given in {fused_stochastic.sliding: {}, fused_stochastic.gated: {"perm": PERM, "gates": (FIELD + 1, FIELD + 1)}}.items():
        ours = {"v": torch.arange(B * H * T * D, device=DEVICE).view(B, H, T, D).float()}
        assert torch.equal(function(**q | ours | given, w=w), function(**q | ours | given, w=4))


@pytest.mark.parametrize("rows", [0, T + 1])
@pytest.mark.parametrize("function", [partial(fox.forget_bias, FIELD), partial(fpa.path_bias, FIELD, FIELD, HEADS[:, None, None])])
def test_rows_beyond_the_keys_are_refused(function, rows):
    with pytest.raises(ValueError, match=f"rows must be a whole number from 1 to 5, the number of keys, not {rows}"):
        function(rows=rows)


@pytest.mark.parametrize("function", [fpa.path_bias, fpa.path_sum_bias])
@pytest.mark.parametrize("rows", [1, T])
@pytest.mark.parametrize(("name", "shape"), [("psi", (B, H, T + 1)), ("psi", (3, 1, H, T)), ("beta", (3, 1, 1)), ("beta", (H, 1, T))])
def test_a_level_or_a_strength_of_another_shape_is_refused(name, shape, rows, function):
    of = {"psi": (B, H, T), "beta": (B, H, 1, 1)}[name]
    with pytest.raises(ValueError, match=re.escape(f"{name} must be broadcastable to {of}, not {shape}")):
        function(**PATH | {"rows": rows, name: zeros(*shape)})


@pytest.mark.parametrize("shape", [(), (2, 0)])
@pytest.mark.parametrize("operator", ["path_bias", "path_sum_bias", "suffix_min", "forget_bias"])
def test_a_field_is_over_one_position_or_more(operator, shape):
    function, given = REFERENCE[operator]
    field = "log_f" if operator == "forget_bias" else "phi"
    with pytest.raises(ValueError, match=re.escape(f"{field} must be (..., T), T positions, at least 1, not a tensor of shape {shape}")):
        function(**given | {field: zeros(*shape)})


def test_a_filter_is_over_keys():
    with pytest.raises(ValueError, match=re.escape("k must be (..., S, D), not a tensor of shape (5,)")):
        power_norm.filtered(zeros(5), [1.0])


@pytest.mark.parametrize("operator", ["stochastic", "stochastic by torch"])
@pytest.mark.parametrize("perm", [[0, 0, 1, 2, 3], [0.0, 1.0, 2.0, 3.0, 4.0], [0, 1, 2, 3], list(range(7))])
def test_what_is_no_permutation_of_the_slots_is_refused_by_the_kernel_and_by_the_formula(operator, perm):
    function, given = OPERATORS[operator]
    with pytest.raises(ValueError, match=r"perm must (hold each of 0..4 once|be int32 or int64 of shape)"):
        function(**given | {"perm": torch.tensor(perm, device=DEVICE)})


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_lengths_are_integers_of_any_size(dtype):
    k = zeros(1, 1, 5, 8)
    assert Cache(k, k, torch.tensor([3], device=DEVICE).to(dtype)).lengths.tolist() == [3]
    with pytest.raises(ValueError, match=re.escape("integers from 0 to S = 5, not [True] of torch.bool")):
        Cache(k, k, torch.tensor([True], device=DEVICE))


def test_a_mask_of_numbers_and_scores_of_integers_are_refused():
    with pytest.raises(ValueError, match=r"mask must be boolean, True = may attend, not torch.float32"):
        softmax.masked_softmax(SCORED["scores"], CAUSAL.float())
    with pytest.raises(ValueError, match=r"scores must be of floating-point numbers, not torch.int64; convert with .float"):
        sparse.sparsemax(SCORED["scores"].long(), CAUSAL)


@pytest.mark.parametrize("size", [8, 24, None, "16", 32.0])
def test_tiles_are_powers_of_two(size):
    with pytest.raises(ValueError, match=f"Tiles.block must be a power of two of at least 16, as the matrix units need, not {size}"):
        Tiles(block=size)

"""Routings against masks built key by key, what their randomness depends on, and where they are other routings."""

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import Batch, stack
from attnprobe.probes.mixers.parts import Dims, Draw
from attnprobe.probes.mixers.routing.stochastic import shuffled
from attnprobe.probes.mixers.stream import Dense
from attnprobe.probes.model import Model
from attnprobe.probes.model_spec import ModelSpec
from attnprobe.probes.spec import REGISTRIES, parse
from attnprobe.probes.stack import draw as draw_init
from attnprobe.probes.streams import stream

SEEDS, B, H, T, D = (4, 9), 3, 2, 13, 5
N = len(SEEDS)
TRAIN, TEST = Draw(SEEDS, 2, 7, "train"), Draw(SEEDS, 2, 7, "test", 3)
CASES = ["full", "swa(w=1)", "swa(w=4)", "sa(w=1)", "sa(w=4)", "sa(w=7)", "sa(w=4,draw=fixed)", "gated(w=2)", "gated(w=7)",
         "union(w=2)", "union(w=7)", "moba(block=3,top=1)", "moba(block=3,top=2)",
         "moba(block=5,top=3)", "moba(block=2,top=9)", "moba(block=13)"]  # fmt: skip


def routing(text):
    return parse(text).layers[0].routing


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def keys_and_queries(rows=T):
    return random(N, B, H, T, D)[..., -rows:, :], random(N, B, H, T, D, seed=1)


def order(seed, draw, fixed=False):
    """A seed's permutation by the paths of the stream, written out."""
    if fixed:
        return stream(seed, "route", draw.layer, 0).permutation(T)
    path = (draw.layer, draw.step) if draw.split == "train" else ("test", draw.number, draw.layer)
    return stream(seed, "route", *path).permutation(T)


def in_window(t, s, w):
    return 0 <= t - s < w


def in_order(sigma, t, s, w):
    lo = (w - 1) // 2
    return -(w - 1 - lo) <= sigma[t] - sigma[s] <= lo and s <= t


def chosen_blocks(q, k, t, block, top):
    """The blocks that row t sees: scores in float64, the best of the past ones one by one, the later of equal ones."""
    own = t // block
    means = [k[j * block : min(T, (j + 1) * block)].mean(0) for j in range(own + 1)]
    left, taken = list(range(own)), [own]
    while left and len(taken) < top:
        best = max(left, key=lambda j: (float(q[t] @ means[j]), j))
        left.remove(best)
        taken.append(best)
    return taken


def loop_masks(part, q, k, draw):
    """The masks of a routing, one (seed, example, head, query, key) at a time."""
    paths = np.zeros((2 if part.name == "gated" else 1, N, B, H, T, T), bool)
    for n, seed in enumerate(SEEDS):
        sigma = order(seed, draw, part.name == "sa" and part.draw == "fixed")
        for b, h, t in np.ndindex(B, H, T):
            blocks = chosen_blocks(q[n, b, h], k[n, b, h], t, part.block, part.top) if part.name == "moba" else []
            for s in range(t + 1):
                if part.name == "full":
                    seen = [True]
                elif part.name == "swa":
                    seen = [in_window(t, s, part.w)]
                elif part.name == "sa":
                    seen = [in_order(sigma, t, s, part.w)]
                elif part.name == "moba":
                    seen = [s // part.block in blocks]
                else:
                    seen = [in_order(sigma, t, s, part.w // 2), in_window(t, s, part.w - part.w // 2)]
                    seen = seen if part.name == "gated" else [any(seen)]
                paths[:, n, b, h, t, s] = seen
    return torch.from_numpy(paths)


def masks_of(part, q, k, draw):
    found = part.masks(q, k, draw)
    assert all(mask.dtype == torch.bool for mask in found)
    return torch.stack([mask.expand(N, B, H, q.shape[-2], T) for mask in found])


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("draw", [TRAIN, TEST], ids=["train", "test"])
@pytest.mark.parametrize("rows", [1, 4, T])
def test_masks_are_those_built_key_by_key(text, draw, rows):
    part = routing(text)
    q, k = keys_and_queries()
    expected = loop_masks(part, q, k, draw)[..., -rows:, :]
    assert torch.equal(masks_of(part, q[..., -rows:, :], k, draw), expected)


def test_every_routing_is_among_the_cases():
    assert {routing(text).name for text in CASES} == set(REGISTRIES["routing"])


@pytest.mark.parametrize("text", CASES)
def test_a_query_sees_itself_and_nothing_later_on_every_path(text):
    mask = masks_of(routing(text), *keys_and_queries(), TRAIN)
    assert mask.diagonal(dim1=-2, dim2=-1).all()
    assert not mask.triu(1).any()


@pytest.mark.parametrize("text", ["sa(w=4)", "sa(w=4,draw=fixed)", "union(w=6)", "gated(w=6)"])
def test_a_seed_s_masks_do_not_depend_on_its_company(text):
    part = routing(text)
    k = random(3, 1, 1, T, D)
    for draw in (TRAIN, TEST):
        drawn = {
            ids: part.masks(k, k, Draw(ids, draw.layer, draw.step, draw.split, draw.number))[0] for ids in ((9,), (4, 9, 1), (1, 4, 9))
        }
        assert torch.equal(drawn[9,][0], drawn[4, 9, 1][1])
        assert torch.equal(drawn[9,][0], drawn[1, 4, 9][2])
        assert not torch.equal(drawn[4, 9, 1][0], drawn[4, 9, 1][1])


def test_a_fresh_order_is_that_of_its_layer_step_split_and_draw_and_a_fixed_one_of_its_layer_alone():
    q, k = keys_and_queries()
    draws = [Draw(SEEDS, 1, 0, "train"), Draw(SEEDS, 2, 0, "train"), Draw(SEEDS, 1, 1, "train"), Draw(SEEDS, 1, 0, "test"),
             Draw(SEEDS, 1, 0, "test", 2), Draw(SEEDS, 2, 0, "test")]  # fmt: skip
    fresh, fixed = ([routing(text).masks(q, k, draw)[0] for draw in draws] for text in ("sa(w=4)", "sa(w=4,draw=fixed)"))
    assert not any(torch.equal(a, b) for i, a in enumerate(fresh) for b in fresh[:i])
    of_layer = [fixed[0], fixed[1], fixed[0], fixed[0], fixed[0], fixed[1]]
    assert all(torch.equal(a, b) for a, b in zip(fixed, of_layer, strict=True))
    assert torch.equal(fixed[0], fresh[0])
    assert not torch.equal(fixed[0], fixed[1])
    assert torch.equal(routing("sa(w=4)").masks(q, k, Draw(SEEDS, 1, 99, "test"))[0], fresh[3])


@pytest.mark.parametrize("text", ["swa(w=4)", "sa(w=4)", "sa(w=4,draw=fixed)", "gated(w=4)", "union(w=4)", "moba(block=3)", "full"])
def test_a_routing_is_called_random_where_the_test_draw_changes_its_masks(text):
    part, (q, k) = routing(text), keys_and_queries()
    first, second = (part.masks(q, k, Draw(SEEDS, 1, 9, "test", number)) for number in (1, 2))
    assert part.random == (not all(torch.equal(a, b) for a, b in zip(first, second, strict=True)))
    assert part.content_free == all(
        torch.equal(a, b) for a, b in zip(first, part.masks(2 - q, k.flip(-1), Draw(SEEDS, 1, 9, "test", 1)), strict=True)
    )


@pytest.mark.parametrize(
    "text", [f"swa(w={T})", f"sa(w={2 * T - 1})", f"union(w={2 * T})", "moba(block=13)", "moba(block=40,top=1)", "moba(block=3,top=5)"]
)
def test_a_routing_that_reaches_every_key_is_full(text):
    q, k = keys_and_queries()
    assert torch.equal(masks_of(routing(text), q, k, TRAIN), masks_of(routing("full"), q, k, TRAIN))


@pytest.mark.parametrize("w", range(1, 2 * T))
def test_in_the_sequence_s_own_order_sa_is_a_causal_window_of_its_past_half(w):
    """sigma(t) = t: t - s in [-hi, lo] and s <= t, so 0 <= t - s <= lo = floor((w - 1) / 2), a window of floor((w + 1) / 2)."""
    q, k = keys_and_queries()
    mask = shuffled(w, T, k, np.arange(T)[None].repeat(N, 0))
    assert torch.equal(mask.expand(N, B, H, T, T), masks_of(routing(f"swa(w={(w + 1) // 2})"), q, k, TRAIN)[0])


def test_blocks_that_score_the_same_go_to_the_later():
    """All keys equal: row 11 of blocks of 3, top 3, sees its own block 3 and blocks 2 and 1; the short last block holds row 12."""
    q, k = random(N, B, H, T, D), torch.ones(N, B, H, T, D, dtype=torch.float64)
    (mask,) = routing("moba(block=3,top=3)").masks(q, k, TRAIN)
    seen = mask[0, 0, 0].int().tolist()
    assert seen[11] == [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    assert seen[12] == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    assert seen[4] == [1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]


def test_a_union_sees_what_either_half_sees():
    q, k = keys_and_queries()
    sa, swa = masks_of(routing("gated(w=7)"), q, k, TEST)
    assert torch.equal(masks_of(routing("union(w=7)"), q, k, TEST)[0], sa | swa)
    assert torch.equal(sa, masks_of(routing("sa(w=3)"), q, k, TEST)[0])
    assert torch.equal(swa, masks_of(routing("swa(w=4)"), q, k, TEST)[0])


def layer_of(spec, seq_len=T):
    """One layer of two heads, its parameters, a batch and an input (N, B, T, 6)."""
    shape = ModelSpec(11, seq_len, "learned", "learned", "token", rows=seq_len, model_dim=6, classes=3, num_heads=H, init_std=1.0,
                      output_std=1.0, key_std=1.0, pair_std=1.0)  # fmt: skip
    model = Model(shape, parse(spec), D, "cpu")
    p = {name: torch.stack([torch.from_numpy(draw_init(init, seed, name)) for seed in SEEDS]) for name, init in model.parameters().items()}
    own = {name.removeprefix("layer1."): value.double() for name, value in p.items() if name.startswith("layer1.")}
    batches = [Batch(np.zeros((B, seq_len), int), np.zeros((B, 1)), np.arange(seq_len), np.ones(seq_len, bool)) for _ in SEEDS]
    return model.layers[0], own, stack(batches, "cpu", torch.float64), random(N, B, seq_len, 6, seed=3)


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("with_bias", ["", "selective+", "fox+"])
def test_the_last_rows_alone_are_the_last_of_all_rows(text, with_bias):
    layer, p, batch, x = layer_of(with_bias + text)
    some, every = (layer(p, Dense(x), batch, TRAIN, rows) for rows in (3, T))
    torch.testing.assert_close(some, every[:, :, -3:])


def by_hand(p, x, mask, bias=0):
    """Softmax attention over a mask, before the output map: (N, B, H, T, D)."""
    q, k, v = ((x @ p[name][:, None]).unflatten(-1, (H, D)).transpose(2, 3) for name in ("query", "key", "value"))
    scores = q @ k.mT / D**0.5
    return torch.softmax((scores + (bias(scores) if bias else 0)).masked_fill(~mask, -torch.inf), -1) @ v


def test_gates_weigh_two_paths_of_the_same_queries_keys_and_values():
    layer, p, batch, x = layer_of("gated(w=6)")
    assert not p["routing.sa_offset"].any()
    assert not p["routing.swa_offset"].any()
    p |= {f"routing.{path}_offset": random(N, 1, 1, H, seed=i) for i, path in enumerate(("sa", "swa"))}
    total = 0
    for path, mask in zip(("sa", "swa"), layer.routing.masks(x, x[:, :, None], TRAIN), strict=True):
        gate = torch.sigmoid(x @ p[f"routing.{path}_gate"][:, None] + p[f"routing.{path}_offset"])  # (N, B, T, H)
        total = total + gate.transpose(2, 3)[..., None] * by_hand(p, x, mask)
    expected = total.transpose(2, 3).flatten(3) @ p["output"][:, None]
    torch.testing.assert_close(layer(p, Dense(x), batch, TRAIN, T), expected)


@pytest.mark.parametrize("name", ["dcp", "selective", "selective(maps=own)"])
def test_a_mask_of_pairs_sums_over_the_whole_path_whatever_the_routing_hides(name):
    layer, p, batch, x = layer_of(f"{name}+swa(w=5)")
    own = {key.removeprefix("bias."): value for key, value in p.items() if key.startswith("bias.")}
    o = by_hand(p, x, layer.routing.masks(x, x, TRAIN)[0], lambda scores: layer.bias(own, Dense(x), scores, TRAIN))
    torch.testing.assert_close(layer(p, Dense(x), batch, TRAIN, T), o.transpose(2, 3).flatten(3) @ p["output"][:, None])


def test_no_gradient_passes_through_the_choice_of_blocks():
    q, k = (x.requires_grad_() for x in keys_and_queries())
    (mask,) = routing("moba(block=3)").masks(q, k, TRAIN)
    assert not mask.requires_grad


REFUSED = {
    "swa(w=0)": "swa: w must be at least 1 (the token itself), not 0",
    "sa(w=-3)": "sa: w must be at least 1 (the token itself), not -3",
    "sa(draw=new)": "sa: draw must be fresh or fixed, not 'new'",
    "gated(w=1)": "gated: w must be at least 2 (a key for each path), not 1",
    "union(w=1)": "union: w must be at least 2 (a key for each path), not 1",
    "moba(block=0)": "moba: block must be at least 1, not 0",
    "moba(top=0)": "moba: top must be at least 1, not 0",
    "swaa": "unknown part 'swaa'; did you mean 'swa'?",
    "swa+sa": "'swa' and 'sa' are both a routing",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items())
def test_a_bad_routing_is_refused_in_one_line(refused, text, message):
    refused(text, message)


@pytest.mark.parametrize(
    ("text", "seq_len", "message"),
    [("swa(w=17)", 16, "w must be at most 16"), ("sa(w=17)", 16, "w must be at most 16"), ("gated(w=17)", 16, "w must be at most 16"),
     ("union(w=17)", 16, "w must be at most 16"), ("moba", 8, "it needs two blocks"), ("moba(top=4)", 24, "top must be at most 3")],
)  # fmt: skip
def test_a_routing_that_does_not_fit_a_sequence_says_so(text, seq_len, message):
    routing(text).fits(seq_len + 1)
    with pytest.raises(ValueError, match=message):
        routing(text).fits(seq_len)


def test_a_routing_of_a_window_sees_as_many_keys():
    made = {name: REGISTRIES["routing"][name].of_window(16) for name in REGISTRIES["routing"]}
    assert made == {name: routing(name) for name in made}
    assert REGISTRIES["routing"]["moba"].of_window(32) == routing("moba(top=4)")
    for w in (0, 4, 12):
        with pytest.raises(ValueError, match=f"must be a multiple of 8, not {w}"):
            REGISTRIES["routing"]["moba"].of_window(w)


def test_parameters_of_gates_are_a_scalar_a_head_and_path():
    inits = routing("gated").parameters(Dims(6, D, H))
    assert {name: init.shape for name, init in inits.items()} == {
        "sa_gate": (6, H), "swa_gate": (6, H), "sa_offset": (1, 1, H), "swa_offset": (1, 1, H),
    }  # fmt: skip

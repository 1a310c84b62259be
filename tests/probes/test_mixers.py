"""Every part of a mechanism: its formula, causality bit for bit, gradients, and that no part reaches nothing."""

import math

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import Batch
from attnprobe.probes.mixers.stream import Dense, Lookup
from attnprobe.probes.spec import REGISTRIES, axis_of, parse

N, B, H, T, D, M = 2, 3, 2, 7, 5, 6
SOFTMIN = {"fpa": "field", "fpa-nopsi": "field", "fpa-qlevel": "field", "bottleneck": "gate"}  # parameters with the softmin's gradient


def part(name):
    return getattr(parse(name).layers[0], axis_of()[name.partition("(")[0]])


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(("taps", "sigma"), [(7, 2.0), (1, 2.0), (3, 0.5), (20, 2.0)])
def test_fir_equals_its_sum(taps, sigma):
    k = random(N, B, H, T, D)
    raw = [math.exp(-(i**2) / (2 * sigma**2)) for i in range(taps)]
    expected = torch.zeros_like(k)
    for s in range(T):
        for i in range(min(taps, s + 1)):
            expected[..., s, :] += raw[i] / sum(raw) * k[..., s - i, :]
    got = parse(f"fir(taps={taps},sigma={sigma})").layers[0].key_filter({}, k)
    torch.testing.assert_close(got, expected)


def test_half_gaussian_taps_are_the_published_ones():
    from attnprobe.probes.mixers.key_filter.fir import half_gaussian

    assert [round(h, 5) for h in half_gaussian(7, 2.0)] == [0.33288, 0.29377, 0.2019, 0.10807, 0.04505, 0.01463, 0.0037]


@pytest.mark.parametrize("D", [1, 2, 5, 8])
def test_rope_rotates_pairs_by_position_and_leaves_an_odd_last_coordinate(D):
    q, k = random(N, B, H, 3, D), random(N, B, H, T, D, seed=1)
    rotated_q, rotated_k = part("rope")({}, q, k)

    def by_hand(row, t):
        out, half = list(row), D // 2
        for i in range(half):
            angle = t * 10000 ** (-2 * i / D)
            a, b = row[i], row[i + half]
            out[i], out[i + half] = a * math.cos(angle) - b * math.sin(angle), a * math.sin(angle) + b * math.cos(angle)
        return out

    for t in range(T):
        np.testing.assert_allclose(rotated_k[1, 2, 0, t].tolist(), by_hand(k[1, 2, 0, t].tolist(), t), atol=1e-12)
    for i in range(3):
        np.testing.assert_allclose(rotated_q[1, 2, 0, i].tolist(), by_hand(q[1, 2, 0, i].tolist(), T - 3 + i), atol=1e-12)


def test_rope_scores_depend_on_distance_alone():
    same = random(1, 1, 1, 1, D).expand(1, 1, 1, T, D)
    q, k = part("rope")({}, same, same)
    scores = (q @ k.mT)[0, 0, 0]
    for distance in range(T):
        torch.testing.assert_close(scores.diagonal(-distance), scores.diagonal(-distance)[:1].expand(T - distance))


def test_selective_s_modes_differ_and_an_unknown_one_is_refused(outputs, token_model, tokens):
    found = [outputs(*token_model(spec), tokens()) for spec in ("selective", "selective(maps=own)")]
    assert not torch.allclose(*found)
    with pytest.raises(ValueError, match=r"head0 \(published\) or own, not 'heads'"):
        parse("selective(maps=heads)")


def narrow(name):
    """A routing's spec with a window that is narrow on seven tokens; any other name as it is."""
    return {"moba": "moba(block=2)"}.get(name, f"{name}(w=3)" if name in REGISTRIES["routing"] and name != "full" else name)


SPECS = [*map(narrow, axis_of()), "selective(maps=own)", "fir+rope+fpa", "zero-keys+fpa"]


@pytest.mark.parametrize("spec", SPECS)
def test_a_later_token_changes_no_earlier_output_bit(outputs, token_model, tokens, spec):
    model, p = token_model(spec, layers=2, mlp=8, positions="learned")
    batch = tokens()
    before = outputs(model, p, batch)
    for t in (1, T - 1):
        changed = batch.tokens.clone()
        changed[..., t] = (changed[..., t] + 1) % 11
        after = outputs(model, p, Batch(changed, batch.target, batch.scored, batch.keys, {}, changed))
        assert torch.equal(after[:, :, :t], before[:, :, :t])
        assert not torch.equal(after[:, :, t:], before[:, :, t:])


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec != "fpa-hard"])
def test_gradients_are_those_of_finite_differences(outputs, token_model, tokens, spec):
    model, p = token_model(spec, heads=1)
    batch = tokens(n=1)
    names = [name for name in p if name.startswith("layer1")]
    if bias := next((piece for piece in spec.split("+") if piece in SOFTMIN), None):
        names = [name for name in names if not name.endswith(SOFTMIN[bias])]  # not that of the minimum, tests/kernels checks it
    values = tuple(p[name].clone().requires_grad_() for name in names)

    def loss(*given):
        return outputs(model, {**p, **dict(zip(names, given, strict=True))}, batch).square().mean()

    assert torch.autograd.gradcheck(loss, values, eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("axis", REGISTRIES)
def test_every_value_of_every_axis_changes_some_output(outputs, token_model, tokens, axis):
    found = {}
    for name in REGISTRIES[axis]:
        model, p = token_model({"none": "softmax"}.get(name, narrow(name)))
        found[name] = outputs(model, p, tokens())
    if axis == "bias":  # the hard and soft FPA differ in the gradient alone
        torch.testing.assert_close(found.pop("fpa-hard"), found["fpa"])
    values = list(found.values())
    assert all(not torch.allclose(a, b) for i, a in enumerate(values) for b in values[:i])


def test_hard_and_soft_fpa_differ_in_the_field_s_gradient(outputs, token_model, tokens):
    gradients = []
    for spec in ("fpa", "fpa-hard"):
        model, p = token_model(spec)
        field = p["layer1.bias.field"].requires_grad_()
        gradients.append(torch.autograd.grad(outputs(model, p, tokens()).square().sum(), field)[0])
    assert not torch.allclose(*gradients)


def test_a_table_and_dense_vectors_give_the_same_linear_map():
    table, weight = random(N, 11, M), random(N, M, 4, seed=1)
    ids = torch.randint(0, 11, (N, B, T), generator=torch.Generator().manual_seed(0))
    dense = torch.stack([table[n][ids[n]] for n in range(N)])
    torch.testing.assert_close(Lookup(table, ids, ids).linear(weight), Dense(dense).linear(weight))
    torch.testing.assert_close(Lookup(table, ids, ids).last(2).linear(weight), Dense(dense).last(2).linear(weight))

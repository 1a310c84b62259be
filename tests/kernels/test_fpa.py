"""The FPA bias against a float64 loop over every (t, s, u), forward and every gradient."""

import pytest
import torch

from attnprobe.kernels.fpa import path_bias, path_sum_bias, suffix_min
from attnprobe.kernels.fpa.path import AT_ONCE, MANY

LENGTHS = [1, 2, 3, 4, 5, 8, 9, 16, 29, 33]
RANGES = [0.1, 30.0, 1000.0]
INF = float("inf")


def walk(T, spread, dtype=torch.float64, seed=0):
    """Three random fields (3, T) whose values span about `spread`."""
    x = torch.randn(3, T, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).cumsum(-1)
    return (spread * x / x.std().clamp(min=1e-3) / 3 if T > 1 else spread * x).to(dtype)


def loop_minima(phi, soft):
    """m (..., T, T) by a loop over pairs, with the gradient that the definition names, by autograd on a detached softmin."""
    T = phi.shape[-1]
    rows = []
    for t in range(T):
        row = []
        for s in range(T):
            path = phi[..., s + 1 : t + 1]
            if s >= t:
                row.append(torch.full_like(phi[..., 0], INF))
                continue
            hard = path.min(-1).values
            if soft:
                smooth = -torch.logsumexp(-path, -1)
            else:
                earliest = torch.stack([(path[i] == path[i].min()).nonzero()[0, 0] for i in range(len(path))])
                smooth = path.gather(-1, earliest[:, None])[:, 0]
            row.append(hard.detach() + (smooth - smooth.detach()))
        rows.append(torch.stack(row, -1))
    return torch.stack(rows, -2)


def loop_bias(phi, psi, beta, soft, of_query):
    m = loop_minima(phi, soft)
    level = psi[..., :, None] if of_query else psi[..., None, :]
    return -beta * torch.where(m < level, level - m, torch.zeros_like(m))


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("spread", RANGES)
@pytest.mark.parametrize("T", LENGTHS)
def test_suffix_minimum_and_its_gradient_equal_the_last_row_of_the_loop(T, spread, soft):
    phi = walk(T, spread).requires_grad_()
    cotangent = torch.randn(3, T, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    expected, got = loop_minima(phi, soft)[..., -1, :], suffix_min(phi, soft)
    assert torch.equal(got, expected)
    # at T = 1 no entry depends on phi: 0 phi keeps the graph whole
    losses = [(m.masked_fill(m == INF, 0) * cotangent).sum() + 0 * phi.sum() for m in (expected, got)]
    d_expected, d_got = (torch.autograd.grad(loss, phi)[0] for loss in losses)
    torch.testing.assert_close(d_got, d_expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("rows", [1, "all"])
@pytest.mark.parametrize("spread", RANGES)
@pytest.mark.parametrize("T", [1, 2, 3, 8, 9, 21])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("of_query", [False, True])
def test_bias_and_every_gradient_equal_the_loop(T, spread, rows, dtype, soft, of_query):
    check_against_the_loop(T, spread, rows, dtype, soft, of_query)


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("of_query", [False, True])
@pytest.mark.parametrize("T", [33, 64, 70])
def test_bias_and_every_gradient_equal_the_loop_over_one_to_three_doublings_of_a_block(T, soft, of_query):
    check_against_the_loop(T, 5.0, "all", torch.float64, soft, of_query)


def check_against_the_loop(T, spread, rows, dtype, soft, of_query):
    rows = T if rows == "all" else 1
    phi, psi = walk(T, spread), walk(T, spread, seed=3) + 0.5
    beta = torch.tensor([0.7, 1.0, 2.5], dtype=torch.float64)[:, None, None]
    if dtype == torch.float32:  # round the inputs first, so that both sides see the same numbers
        phi, psi, beta = phi.float().double(), psi.float().double(), beta.float().double()
    exact = [x.clone().requires_grad_() for x in (phi, psi, beta)]
    ours = [x.to(dtype).requires_grad_() for x in (phi, psi, beta)]
    cotangent = torch.randn(3, rows, T, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    expected = loop_bias(*exact, soft, of_query)[..., -rows:, :]
    got = path_bias(*ours, rows, soft, of_query)
    tolerance = {"rtol": 1e-9, "atol": 1e-9} if dtype == torch.float64 else {"rtol": 2e-5, "atol": 2e-5 * max(1.0, spread)}
    torch.testing.assert_close(got.double(), expected, **tolerance)
    d_expected = torch.autograd.grad((expected * cotangent).sum(), exact, allow_unused=True)
    d_got = torch.autograd.grad((got.double() * cotangent).sum(), ours)
    for a, b in zip(d_got, d_expected, strict=True):
        assert torch.isfinite(a).all()
        torch.testing.assert_close(a.double(), torch.zeros_like(a).double() if b is None else b, **tolerance)


def test_a_tie_between_field_and_level_is_alive_and_passes_no_gradient():
    """phi = (0, 2, 2), psi = 2 everywhere: min over later fields is 2 = psi, so b = 0 and nothing flows back."""
    phi = torch.tensor([0.0, 2.0, 2.0], requires_grad=True)
    psi = torch.full((3,), 2.0, requires_grad=True)
    for rows in (1, 3):
        b = path_bias(phi, psi, torch.ones(1, 1), rows)
        assert torch.equal(b, torch.zeros(rows, 3))
        assert all(torch.equal(g, torch.zeros(3)) for g in torch.autograd.grad(b.sum(), (phi, psi)))


def test_bias_of_a_walk_by_hand():
    """Field and level 1, 0, 2, -1 (W with steps +1 -1 +2 -3), beta 2, last query: minima after s are min(0,2,-1) = -1, -1, -1.

    b = 2 min(0, -1 - (1, 0, 2)) = (-4, -2, -6), and 0 at the query itself. At t = 2: min(0,2) = 0, 2: b = 2 (0 - 1, 0) = (-2, 0).
    """
    w = torch.tensor([1.0, 0.0, 2.0, -1.0])
    b = path_bias(w, w, torch.full((1, 1), 2.0), 4)
    assert b[3].tolist() == [-4.0, -2.0, -6.0, 0.0]
    assert b[2].tolist() == [-2.0, 0.0, 0.0, 0.0]
    assert path_bias(w, w, torch.full((1, 1), 2.0), 1)[0].tolist() == [-4.0, -2.0, -6.0, 0.0]


def test_the_bias_does_not_change_when_a_dip_lasts_longer_and_the_sum_does():
    short, long = torch.tensor([1.0, -1.0, 3.0, 3.0]), torch.tensor([1.0, -1.0, -1.0, 3.0])
    psi, beta = torch.zeros(4), torch.ones(1, 1)
    assert path_bias(short, psi, beta, 1)[0, 0] == path_bias(long, psi, beta, 1)[0, 0] == -1
    assert path_sum_bias(short, psi, beta, 1)[0, 0] == -1
    assert path_sum_bias(long, psi, beta, 1)[0, 0] == -2


def test_sum_bias_equals_a_loop():
    phi, psi = walk(9, 3.0), walk(9, 3.0, seed=5)
    expected = torch.zeros(3, 9, 9, dtype=torch.float64)
    for t in range(9):
        for s in range(t):
            expected[:, t, s] = (phi[:, s + 1 : t + 1] - psi[:, s, None]).clamp(max=0).sum(-1)
    beta = torch.full((3, 1, 1), 1.5, dtype=torch.float64)
    got = path_sum_bias(phi, psi, beta, 9)
    torch.testing.assert_close(got.tril(), 1.5 * expected)
    torch.testing.assert_close(path_sum_bias(phi, psi, beta, 1), 1.5 * expected[:, -1:])


@pytest.mark.parametrize("T", [1, 2, 9])
def test_the_sum_s_gradients_are_those_of_finite_differences_and_one_row_has_those_of_all(T):
    inputs = [
        walk(T, 3.0).requires_grad_(),
        walk(T, 3.0, seed=5).requires_grad_(),
        torch.full((3, 1, 1), 1.5, dtype=torch.float64).requires_grad_(),
    ]
    for rows in (1, T):
        assert torch.autograd.gradcheck(lambda *x, rows=rows: path_sum_bias(*x, rows).tril(T - rows), inputs)
    one, all_rows = (torch.autograd.grad(path_sum_bias(*inputs, rows)[:, -1].square().sum(), inputs) for rows in (1, T))
    assert all(torch.allclose(a, b) for a, b in zip(one, all_rows, strict=True))


def test_hard_gradient_of_a_tie_goes_to_the_earliest_minimiser():
    """Key 0 has level 9, the last query's path is 1, 1, 4: its minimum 1 is reached at u = 1 first, so d b / d phi_1 = beta."""
    phi, psi = torch.tensor([5.0, 1.0, 1.0, 4.0], requires_grad=True), torch.tensor([9.0, 0.0, 0.0, 0.0])
    for rows in (1, 4):
        b = path_bias(phi, psi, torch.full((1, 1), 2.0), rows, soft=False)[-1, 0]
        assert b.item() == 2 * (1 - 9)
        assert torch.autograd.grad(b, phi)[0].tolist() == [0.0, 2.0, 0.0, 0.0]


def test_the_bias_takes_a_beta_of_fewer_axes_and_gives_it_its_own_gradient():
    phi, psi = walk(9, 3.0).view(1, 3, 1, 9).requires_grad_(), walk(9, 3.0, seed=1).view(1, 3, 1, 9)
    beta = torch.full((1, 1, 1, 1, 1), 1.5, dtype=torch.float64, requires_grad=True)
    (d_beta,) = torch.autograd.grad(path_bias(phi, psi, beta, 9).sum(), beta)
    torch.testing.assert_close(d_beta, (path_bias(phi, psi, beta, 9).sum() / 1.5).view_as(beta).detach())


@pytest.mark.parametrize("function", [path_bias, path_sum_bias])
@pytest.mark.parametrize("rows", [1, 9])
@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 1)])
def test_a_level_and_a_strength_may_be_broadcast_in_every_row_count(shape, rows, function):
    phi = walk(9, 3.0)
    psi = torch.full((1,), 0.5, dtype=torch.float64, requires_grad=True)
    beta = torch.full(shape, 1.5, dtype=torch.float64, requires_grad=True)
    whole = [psi.detach().expand(3, 9).clone().requires_grad_(), beta.detach().expand(3, 1, 1).clone().requires_grad_()]
    b, expected = function(phi, psi, beta, rows).tril(9 - rows), function(phi, *whole, rows).tril(9 - rows)
    assert torch.equal(b, expected)
    assert b.any()
    for got, own in zip(torch.autograd.grad(b.sum(), (psi, beta)), torch.autograd.grad(expected.sum(), whole), strict=True):
        torch.testing.assert_close(got, own.sum_to_size(got.shape))


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("T", [5, 8, 40])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_fields_of_16_bits_have_the_gradient_of_the_same_numbers_in_float64(dtype, T, soft):
    """To a rounding error of 2^-10 (float16) or 2^-7 (bfloat16), once for each of a few dozen sums, of gradients that reach 100."""
    rounded = [walk(T, 3.0, dtype), walk(T, 3.0, dtype, seed=3) + 0.5, torch.tensor([0.75, 1.0, 2.5], dtype=dtype)[:, None, None]]
    ours, exact = ([x.to(to).requires_grad_() for x in rounded] for to in (dtype, torch.float64))
    gradients = [torch.autograd.grad(path_bias(*x, T, soft).sum(), x) for x in (ours, exact)]
    for got, expected in zip(*gradients, strict=True):
        assert got.dtype == dtype
        assert (got.double() - expected).abs().max() <= 16 * torch.finfo(dtype).eps * expected.abs().max()


def expanded(x):
    return x[..., :1].expand_as(x)


def strided(x):
    return x.repeat_interleave(2, -1)[..., ::2]


def transposed(x):
    return x.mT.contiguous().mT


@pytest.mark.parametrize("T", [8, 9, 40])
@pytest.mark.parametrize("layout", [expanded, strided, transposed])
def test_a_gradient_of_any_layout_gives_what_a_contiguous_one_gives_and_is_left_as_it_is(layout, T):
    inputs = [walk(T, 3.0).requires_grad_(), walk(T, 3.0, seed=3).requires_grad_(), torch.ones(3, 1, 1, dtype=torch.float64)]
    cotangent = layout(torch.randn(3, T, T, dtype=torch.float64, generator=torch.Generator().manual_seed(4)))
    before, b = cotangent.clone(), path_bias(*inputs, T)
    results = [torch.autograd.grad(b, inputs[:2], d, retain_graph=True) for d in (cotangent, before)]
    assert torch.equal(cotangent, before)
    assert all(torch.equal(x, y) for x, y in zip(*results, strict=True))


@pytest.mark.parametrize("T", [8, 9])
def test_a_bias_cannot_be_changed_in_place_under_its_backward_nor_differentiated_twice(T):
    """The bias that is given is the bias that is kept: a silent change would change which pairs pass a gradient."""
    phi, psi = walk(T, 3.0).requires_grad_(), walk(T, 3.0, seed=3)
    with pytest.raises(RuntimeError, match="modified inplace"):
        path_bias(phi, psi, torch.ones(1, 1), T).add_(1)
    b = path_bias(phi, psi, torch.ones(1, 1), T)
    b.detach().zero_()
    with pytest.raises(RuntimeError, match="modified inplace"):
        b.sum().backward()
    (d_phi,) = torch.autograd.grad(path_bias(phi, psi, torch.ones(1, 1), T).square().sum(), phi, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        d_phi.sum().backward()


def test_a_strength_of_0_gives_no_bias_and_finite_gradients():
    phi, psi = (walk(9, 3.0, seed=seed).requires_grad_() for seed in (0, 3))
    beta = torch.zeros(3, 1, 1, dtype=torch.float64, requires_grad=True)
    b = path_bias(phi, psi, beta, 9)
    assert not b.any()
    assert all(torch.isfinite(g).all() for g in torch.autograd.grad(b.sum(), (phi, psi, beta)))


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("of_query", [False, True])
@pytest.mark.parametrize("T", [24, 100, 150])
def test_many_rows_which_are_walked_and_taken_in_chunks_have_what_few_rows_have(T, of_query, soft):
    R = MANY + 5
    generator = torch.Generator().manual_seed(0)
    phi, psi = (torch.randn(R, T, generator=generator, dtype=torch.float64).cumsum(-1).requires_grad_() for _ in "ab")
    beta = torch.rand(R, 1, 1, generator=generator, dtype=torch.float64).add_(0.5).requires_grad_()
    cotangent = torch.randn(R, T, T, generator=generator, dtype=torch.float64)
    if T > 24:
        assert R > AT_ONCE // 128**2  # more than a chunk
    b = path_bias(phi, psi, beta, T, soft, of_query)
    gradients = torch.autograd.grad(b, (phi, psi, beta), cotangent)
    for rows in (slice(0, 3), slice(R - 3, R)):
        some = [x[rows].detach().requires_grad_() for x in (phi, psi, beta)]
        few = path_bias(*some, T, soft, of_query)
        assert torch.equal(b[rows], few)
        for got, expected in zip(gradients, torch.autograd.grad(few, some, cotangent[rows]), strict=True):
            torch.testing.assert_close(got[rows], expected, rtol=1e-11, atol=1e-11)


def test_no_rows_give_no_bias():
    phi = torch.zeros(0, 5, requires_grad=True)
    b = path_bias(phi, phi, torch.ones(0, 1, 1), 5)
    assert b.shape == (0, 5, 5)
    assert torch.autograd.grad(b.sum(), phi)[0].shape == (0, 5)

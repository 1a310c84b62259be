"""The disjoint sparse table against ranges taken one by one, in float64."""

import pytest
import torch

from attnprobe.kernels.fpa.sparse_table import given_to_field, levels_for, lowest_table, mass_table


def field(T, spread):
    return spread * torch.randn(2, 3, T, generator=torch.Generator().manual_seed(T), dtype=torch.float64)


def pairs(T):
    """(s, t, l) of every s < t: l the highest bit in which they differ."""
    return [(s, t, (s ^ t).bit_length() - 1) for t in range(T) for s in range(t)]


@pytest.mark.parametrize("more", [0, 2])
@pytest.mark.parametrize("T", [1, 2, 3, 8, 13, 33])
def test_two_look_ups_give_the_minimum_and_the_log_sum_exp_of_every_range(T, more):
    phi, L = field(T, 10.0), levels_for(T) + more
    lowest, mass = lowest_table(phi, L), mass_table(phi, L)
    assert lowest.shape == mass.shape == (2, 3, L, T)
    for s, t, l in pairs(T):
        path = phi[..., s + 1 : t + 1]
        assert torch.equal(torch.minimum(lowest[..., l, s], lowest[..., l, t]), path.min(-1).values)
        torch.testing.assert_close(torch.logaddexp(mass[..., l, s], mass[..., l, t]), (-path).logsumexp(-1), rtol=1e-12, atol=1e-12)


def test_the_cells_by_hand():
    """phi = (3, 1, 2, 0). Level 0: keys 0 and 2 have nothing after them in their block, queries 1 and 3 have themselves: inf 1 inf 0.

    Level 1: key 0 has position 1, key 1 nothing; query 2 has itself, query 3 the minimum of 2 and 0: 1 inf 2 0.
    """
    inf = float("inf")
    assert lowest_table(torch.tensor([3.0, 1.0, 2.0, 0.0]), 2).tolist() == [[inf, 1.0, inf, 0.0], [1.0, inf, 2.0, 0.0]]


@pytest.mark.parametrize("spread", [0.1, 300.0])
@pytest.mark.parametrize("T", [2, 3, 8, 13, 33])
def test_the_gradient_through_the_table_is_that_of_every_softmin_by_autograd(T, spread):
    phi, L = field(T, spread).requires_grad_(), levels_for(T) + 1
    weights = torch.randn(len(pairs(T)), 2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    mass, cells = mass_table(phi.detach(), L), torch.zeros(2, 3, L, T, dtype=torch.float64)
    total = 0
    for (s, t, l), weight in zip(pairs(T), weights, strict=True):
        total = total - (weight * (-phi[..., s + 1 : t + 1]).logsumexp(-1)).sum()
        of_query = torch.sigmoid(mass[..., l, t] - mass[..., l, s])
        cells[..., l, t] += weight * of_query
        cells[..., l, s] += weight * (1 - of_query)
    (expected,) = torch.autograd.grad(total, phi)
    torch.testing.assert_close(given_to_field(phi.detach(), cells), expected, rtol=1e-10, atol=1e-10)

"""The power norm: an example by hand, and that the shares of a row do not depend on the size of its scores."""

import math

import pytest
import torch

from attnprobe.kernels.power_norm import GATES, power_norm

MASK = torch.ones(1, 4, dtype=torch.bool)


def test_weights_by_hand():
    """Scores 1, 1/2, -1 and a masked 9 over tau = 0: r = 1, 1/2, 0, R = 1, u = 1, 2^-10, 0; gamma = 1 - 1/e."""
    mask = torch.tensor([[True, True, True, False]])
    weights = power_norm(torch.tensor([[1.0, 0.5, -1.0, 9.0]]), mask, 0.0, "exp")
    gamma, total = 1 - math.exp(-1), 1 + 2**-10
    torch.testing.assert_close(weights, torch.tensor([[gamma / total, gamma * 2**-10 / total, 0.0, 0.0]]))


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("size", [1e-30, 1e-5, 1e4, 1e30])
def test_shares_do_not_depend_on_the_size_of_the_scores_where_a_plain_tenth_power_leaves_float32(size, gate):
    x = torch.tensor([[0.9, 1.0, 0.5, -3.0]])
    assert not math.isfinite((x * size).relu().pow(10).sum().item()) or (x * size).relu().pow(10).sum() < 1e-37
    shares, sized = (power_norm(scores, MASK, 0.0, gate) for scores in (x, x * size))
    torch.testing.assert_close(sized / sized.sum(), shares / shares.sum())


def test_the_mass_of_a_row_is_its_gate():
    x = torch.tensor([[0.9, 1.5, 0.5, -3.0]])
    assert power_norm(x, MASK, -0.5, "exp").sum().item() == pytest.approx(1 - math.exp(-2))
    assert power_norm(x, MASK, -0.5, "rate").sum().item() == pytest.approx(2 / 3)

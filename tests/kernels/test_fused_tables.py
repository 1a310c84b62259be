"""The Triton tables and their gradient against the torch tables in float64, over chunks of every number and size."""

import pytest
import torch

from attnprobe.kernels import loop
from attnprobe.kernels.fpa import fused_tables, sparse_table
from attnprobe.kernels.fpa.sparse_table import levels_for

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in exp2")  # of a share that is 1 / (1 + inf) = 0

DEVICE = "cpu" if loop.INTERPRETED else "cuda"
LOG2E = loop.LOG2E.value
# (T, size of a chunk, levels beyond those needed, range of the field): one chunk, full and not; two; seven, the last one short;
# three, of which one is alone in its block; thirteen
CASES = [
    (1, 16, 3, 5.0),
    (2, 16, 0, 0.1),
    (3, 16, 3, 300.0),
    (16, 16, 0, 5.0),
    (17, 16, 2, 0.1),
    (100, 16, 0, 300.0),
    (129, 64, 0, 5.0),
    (200, 16, 1, 0.1),
    (300, 1024, 0, 300.0),
]


def field(T, spread, rows=(1, 2)):
    return (spread * torch.randn(*rows, T, generator=torch.Generator().manual_seed(T))).to(DEVICE)


def chunks(monkeypatch, size):
    monkeypatch.setattr(fused_tables, "CHUNK", size)


@pytest.mark.parametrize(("T", "chunk", "more", "spread"), CASES)
def test_tables_equal_the_torch_tables(T, chunk, more, spread, monkeypatch):
    chunks(monkeypatch, chunk)
    phi, L = field(T, spread), levels_for(T) + more
    assert torch.equal(fused_tables.lowest_table(phi, L), sparse_table.lowest_table(phi, L))
    mass, expected = fused_tables.mass_table(phi, L), sparse_table.mass_table(phi.double(), L)
    assert torch.isfinite(mass).all()
    nothing = expected < -1e29
    assert torch.equal(mass < -1e29, nothing)
    bound = 3e-5 + 1.2e-7 * expected.abs()  # the second is what rounding a value of this size to fp32 takes
    assert ((mass.double() / LOG2E - expected).abs() <= bound)[~nothing].all()


@pytest.mark.parametrize(("T", "chunk", "more", "spread"), CASES)
def test_the_gradient_equals_that_of_the_torch_tables(T, chunk, more, spread, monkeypatch):
    chunks(monkeypatch, chunk)
    phi, L = field(T, spread), levels_for(T) + more
    held = torch.randn(1, 2, L, T, generator=torch.Generator().manual_seed(1)).to(DEVICE)
    p, l = torch.arange(T, device=DEVICE), torch.arange(L, device=DEVICE)[:, None]
    held *= ((p >> l) % 2 == 1) | (p + 1 < torch.minimum(((p >> l) + 1) << l, torch.tensor(T)))  # no pair shares with an empty cell
    ours = fused_tables.given_to_field(phi, fused_tables.mass_table(phi, L), held)
    theirs = sparse_table.given_to_field(phi.double(), held.double())
    assert torch.isfinite(ours).all()
    assert (ours.double() - theirs).norm() <= 1e-6 * theirs.norm()


def test_two_runs_agree_bitwise(monkeypatch):
    chunks(monkeypatch, 16)
    phi, held = field(40, 3.0), field(40, 1.0, (1, 2, 6))
    first, second = (fused_tables.given_to_field(phi, fused_tables.mass_table(phi, 6), held) for _ in range(2))
    assert torch.equal(first, second)


def test_a_field_of_seventeen_chunks_of_the_size_of_a_gpu_has_its_table():
    T = 16 * fused_tables.CHUNK + 5
    phi, L = field(T, 2.0, (1,)), levels_for(T)
    assert torch.equal(fused_tables.lowest_table(phi, L), sparse_table.lowest_table(phi, L))

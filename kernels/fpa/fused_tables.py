"""The disjoint sparse tables of FPA and the gradient through them in Triton: cells and layout as in `sparse_table`, any T.

A program owns a chunk of C = 2^c positions of one row. Below level c a cell lies in one chunk, and prefixes and suffixes are
doubled in registers, each level taking the total of the sibling block. From level c on, a cell is the chunk's prefix or suffix
combined with a run of whole chunks, whose totals an earlier launch has left in TOTALS. The gradient goes the same way back: what
such cells hold for whole chunks is left per chunk and level, and the chunk's program collects it. Every sum has one writer and one
order. Masses are log2 of sums of 2^(-phi log2 e): as the attention loop wants them, `sparse_table.mass_table` times log2 e.
"""

import torch
import triton
import triton.language as tl

from attnprobe.kernels.launch import log2
from attnprobe.kernels.listing import Listed
from attnprobe.kernels.loop import LOG2E, share

CHUNK = 1024  # positions of a program, at most
OPTIONS = {"num_warps": 8}
NOTHING = tl.constexpr(-1e30)  # the mass of an empty range; finite, so that two of them differ by 0
INF = tl.constexpr(float("inf"))


def lowest_table(phi, L):
    """Minima of phi (..., T) over every cell: (..., L, T); an empty cell is +inf."""
    return table(phi, L, soft=False)


def mass_table(phi, L):
    """log2 sum e^{-phi} over every cell, phi (..., T): (..., L, T); an empty cell is -1e30."""
    return table(phi, L, soft=True)


def table(phi, L, soft):
    """phi (..., T), fp32, combined over every cell: (..., L, T)."""
    T, c, grid = layout(phi, L)
    cells = torch.empty(*phi.shape[:-1], L, T, dtype=torch.float32, device=phi.device)
    with torch.cuda.device_of(phi):
        totals = totals_of(phi, T, grid, c, soft)
        cells_of_chunk[grid](phi, totals, cells, T, L, grid[1], **sizes(c, grid), SOFT=soft, **OPTIONS)
    return cells


def given_to_field(phi, mass, held):
    """The gradient that the cells' softmins hold, held (..., L, T), given to the field phi (..., T): (..., T). mass: phi's table."""
    L = mass.shape[-2]
    T, c, grid = layout(phi, L)
    given = torch.empty_like(phi)
    upper = max(0, L - c)
    to_chunks, runs = (torch.empty(*grid, max(1, upper), dtype=torch.float32, device=phi.device) for _ in range(2))
    with torch.cuda.device_of(phi):
        totals = totals_of(phi, T, grid, c, True)
        if upper:
            given_to_chunks[grid](phi, totals, held, to_chunks, runs, T, L, grid[1], **sizes(c, grid), **OPTIONS)
        given_to_positions[grid](
            phi, totals, mass, held, to_chunks, runs, given, T, L, grid[1],
            **sizes(c, grid), UPPER=triton.next_power_of_2(max(1, upper)), **OPTIONS,
        )  # fmt: skip
    return given


def layout(phi, L):
    """T, the log2 c of a chunk, which no table of L levels exceeds, and the grid of rows by chunks."""
    T = phi.shape[-1]
    c = min(log2(CHUNK), L, max(1, (T - 1).bit_length()))
    return T, c, (phi.numel() // T, -(-T // (1 << c)))


def sizes(c, grid):
    return {"C": 1 << c, "LEVEL": c, "CHUNKS": triton.next_power_of_2(grid[1])}


def totals_of(phi, T, grid, c, soft):
    """Every chunk's total: (R, chunks)."""
    totals = torch.empty(grid, dtype=torch.float32, device=phi.device)
    total_of_chunk[grid](phi, totals, T, grid[1], C=1 << c, SOFT=soft, **OPTIONS)
    return totals


@triton.jit
def combined(a, b, SOFT: tl.constexpr):
    """One range of two adjacent ones."""
    if SOFT:
        top = tl.maximum(a, b)
        both = top + tl.log2(tl.exp2(a - top) + tl.exp2(b - top))
    else:
        both = tl.minimum(a, b)
    return both


@triton.jit
def total(x, SOFT: tl.constexpr):
    """All of x (n,) as one range."""
    if SOFT:
        top = tl.max(x, 0)
        whole = top + tl.log2(tl.sum(tl.exp2(x - top), 0))
    else:
        whole = tl.min(x, 0)
    return whole


@triton.jit
def chunk(PHI, p, T, SOFT: tl.constexpr):
    """The field at p, as what is combined; beyond T an empty range."""
    phi = tl.load(PHI + p, mask=p < T, other=INF)
    if SOFT:
        phi = tl.where(p < T, -LOG2E * phi, NOTHING)
    return phi


@triton.jit
def siblings(blocks, n: tl.constexpr):
    """blocks (n,) with each in the place of its sibling."""
    left, right = tl.split(tl.reshape(blocks, (n // 2, 2)))
    return tl.reshape(tl.join(right, left), (n,))


@triton.jit
def parents(blocks, n: tl.constexpr):
    """The totals (n / 2,) of pairs of siblings (n,), left and right apart."""
    return tl.split(tl.reshape(blocks, (n // 2, 2)))


@triton.jit
def spread(blocks, n: tl.constexpr, C: tl.constexpr):
    """blocks (n,) at each of their positions: (C,)."""
    return tl.reshape(tl.broadcast_to(blocks[:, None], (n, C // n)), (C,))


@triton.jit
def doubled(x, CELLS, p, T, C: tl.constexpr, LEVEL: tl.constexpr, SOFT: tl.constexpr, STORED: tl.constexpr):
    """Prefixes [start, p] and suffixes (p, end] of a chunk x (C,); if STORED, every level's cells on the way."""
    prefix = x
    suffix = tl.full([C], NOTHING if SOFT else INF, tl.float32)
    totals = x
    for l in tl.static_range(LEVEL):
        right = ((p >> l) & 1) == 1
        cell = tl.where(right, prefix, suffix)
        if STORED:
            tl.store(CELLS + l * T + p, cell, mask=p < T)
        longer = combined(spread(siblings(totals, C >> l), C >> l, C), cell, SOFT)
        prefix = tl.where(right, longer, prefix)
        suffix = tl.where(right, suffix, longer)
        first, second = parents(totals, C >> l)
        totals = combined(first, second, SOFT)
    return prefix, suffix


@triton.jit
def run_of_chunks(k, u, CHUNKS: tl.constexpr):
    """Which chunks (CHUNKS,) the cells of chunk k hold whole at level c + u: those on its side of their block's middle."""
    j = tl.arange(0, CHUNKS)
    beside = tl.where(((k >> u) & 1) == 1, (j < k).to(tl.int32), (j > k).to(tl.int32))
    return (beside == 1) & ((j >> u) == (k >> u))


@triton.jit
def total_of_chunk(PHI, TOTALS, T, COUNT, C: tl.constexpr, SOFT: tl.constexpr):
    """TOTALS (R, COUNT)."""
    r = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1)
    p = k * C + tl.arange(0, C)
    tl.store(TOTALS + r * COUNT + k, total(chunk(PHI + r * T, p, T, SOFT), SOFT))


@triton.jit
def cells_of_chunk(
    PHI, TOTALS, CELLS, T, LEVELS, COUNT, C: tl.constexpr, LEVEL: tl.constexpr, CHUNKS: tl.constexpr, SOFT: tl.constexpr
):  # fmt: skip
    """CELLS (R, LEVELS, T) at the positions of one chunk."""
    r = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1)
    p = k * C + tl.arange(0, C)
    CELLS += r * LEVELS * T
    prefix, suffix = doubled(chunk(PHI + r * T, p, T, SOFT), CELLS, p, T, C, LEVEL, SOFT, True)
    empty = NOTHING if SOFT else INF
    j = tl.arange(0, CHUNKS)
    totals = tl.load(TOTALS + r * COUNT + j, mask=j < COUNT, other=empty)
    for u in range(LEVELS - LEVEL):
        run = total(tl.where(run_of_chunks(k, u, CHUNKS), totals, empty), SOFT)
        own = tl.where(((k >> u) & 1) == 1, prefix, suffix)
        tl.store(CELLS + (u + LEVEL) * T + p, combined(run, own, SOFT), mask=p < T)


@triton.jit
def given_to_chunks(
    PHI, TOTALS, HELD, TO_CHUNKS, RUNS, T, LEVELS, COUNT, C: tl.constexpr, LEVEL: tl.constexpr, CHUNKS: tl.constexpr
):  # fmt: skip
    """TO_CHUNKS (R, COUNT, LEVELS - LEVEL): what one chunk's cells at level c + u hold for the whole chunks beside it, of mass RUNS."""
    r = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1)
    p = k * C + tl.arange(0, C)
    prefix, suffix = doubled(chunk(PHI + r * T, p, T, True), PHI, p, T, C, LEVEL, True, False)
    j = tl.arange(0, CHUNKS)
    totals = tl.load(TOTALS + r * COUNT + j, mask=j < COUNT, other=NOTHING)
    for u in range(LEVELS - LEVEL):
        run = total(tl.where(run_of_chunks(k, u, CHUNKS), totals, NOTHING), True)
        own = tl.where(((k >> u) & 1) == 1, prefix, suffix)
        held = tl.load(HELD + (r * LEVELS + u + LEVEL) * T + p, mask=p < T, other=0.0)
        at = (r * COUNT + k) * (LEVELS - LEVEL) + u
        tl.store(TO_CHUNKS + at, tl.sum(held * share(own, run), 0))
        tl.store(RUNS + at, run)


@triton.jit
def given_to_positions(
    PHI, TOTALS, MASS, HELD, TO_CHUNKS, RUNS, GIVEN, T, LEVELS, COUNT,
    C: tl.constexpr, LEVEL: tl.constexpr, CHUNKS: tl.constexpr, UPPER: tl.constexpr,
):  # fmt: skip
    """GIVEN (R, T) at the positions of one chunk: from its own cells, and its share of what others hold for whole chunks."""
    r = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1)
    p = k * C + tl.arange(0, C)
    PHI += r * T
    MASS += r * LEVELS * T
    HELD += r * LEVELS * T
    prefix, suffix = doubled(chunk(PHI, p, T, True), PHI, p, T, C, LEVEL, True, False)
    j = tl.arange(0, CHUNKS)
    totals = tl.load(TOTALS + r * COUNT + j, mask=j < COUNT, other=NOTHING)
    d_prefix = tl.zeros([C], tl.float32)
    d_suffix = tl.zeros([C], tl.float32)
    for u in range(LEVELS - LEVEL):
        run = total(tl.where(run_of_chunks(k, u, CHUNKS), totals, NOTHING), True)
        held = tl.load(HELD + (u + LEVEL) * T + p, mask=p < T, other=0.0)
        if ((k >> u) & 1) == 1:
            d_prefix += held * share(run, prefix)
        else:
            d_suffix += held * share(run, suffix)

    u = tl.arange(0, UPPER)[None, :]
    beside = tl.where(((j[:, None] >> u) & 1) == 1, (k < j)[:, None].to(tl.int32), (k > j)[:, None].to(tl.int32))
    reads = (beside == 1) & ((j[:, None] >> u) == (k >> u)) & (u < LEVELS - LEVEL) & (j < COUNT)[:, None]
    at = (r * COUNT + j[:, None]) * (LEVELS - LEVEL) + u
    own = tl.load(TOTALS + r * COUNT + k)
    less = tl.where(reads, own - tl.load(RUNS + at, mask=reads, other=0.0), NOTHING)
    d_total = tl.sum(tl.load(TO_CHUNKS + at, mask=reads, other=0.0) * tl.exp2(less), 1)
    d_totals = tl.sum(d_total, 0) + tl.zeros([1], tl.float32)

    for l in tl.static_range(LEVEL - 1, -1, -1):
        right = ((p >> l) & 1) == 1
        b = tl.arange(0, C >> l)
        first = k * C + b * (1 << l)
        end = tl.minimum(first + ((1 << l) - 1), T - 1)
        odd = (b & 1) == 1
        edge = tl.load(MASS + l * T + tl.where(odd, end, first), mask=first < T, other=NOTHING)
        blocks = tl.where(odd, edge, combined(chunk(PHI, first, T, True), edge, True))
        others = siblings(blocks, C >> l)
        d_totals = spread(d_totals, C >> (l + 1), C >> l) * share(others, blocks)
        toward = spread(others, C >> l, C)
        cell = tl.load(MASS + l * T + p, mask=p < T, other=NOTHING)
        held = tl.load(HELD + l * T + p, mask=p < T, other=0.0)
        passed = tl.where(right, d_prefix, d_suffix)
        d_totals += siblings(tl.sum(tl.reshape(passed * share(cell, toward), (C >> l, 1 << l)), 1), C >> l)
        kept = passed * share(toward, cell) + held
        d_prefix = tl.where(right, kept, d_prefix)
        d_suffix = tl.where(right, d_suffix, kept)
    tl.store(GIVEN + r * T + p, d_prefix + d_totals, mask=p < T)


def kernels(head_dim, dtype):
    """For the gate: the kernels of the tables at T of up to 16 chunks, once, since neither head dimension nor dtype matters to them."""
    if (head_dim, dtype) != (64, "bf16"):
        return
    constants = sizes(log2(CHUNK), (1, 16))
    types = {"COUNT": "i32"}
    for name, soft in (("lowest", False), ("mass", True)):
        yield Listed(f"table {name}_totals", total_of_chunk, {"C": CHUNK, "SOFT": soft}, OPTIONS, types)
        yield Listed(f"table {name}_cells", cells_of_chunk, constants | {"SOFT": soft}, OPTIONS, types)
    yield Listed("table given_to_chunks", given_to_chunks, constants, OPTIONS, types)
    yield Listed("table given_to_positions", given_to_positions, constants | {"UPPER": 4}, OPTIONS, types)

"""Launches the attention loop: checks the arguments, chooses the tiles, allocates what a pass writes."""

import math
from dataclasses import dataclass
from numbers import Real

import torch

from attnprobe.kernels import arguments, loop
from attnprobe.kernels.skip import Skip

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
WIDEST = 128  # head dimensions
ADDRESSES = 2**31  # a row's offset within one head is a 32-bit integer


@dataclass(frozen=True)
class Tiles:
    """Sizes of tiles, powers of two of at least 16: queries and keys (keys <= queries) forward, both `block` backward."""

    queries: int = 128
    keys: int = 64
    block: int = 64
    forward_warps: int = 8
    backward_warps: int = 4
    forward_stages: int = 3
    backward_stages: int = 2

    def __post_init__(self):
        for name in ("queries", "keys", "block"):
            size = getattr(self, name)
            if not isinstance(size, int) or size < 16 or size & (size - 1):
                raise ValueError(f"Tiles.{name} must be a power of two of at least 16, as the matrix units need, not {size}")
        if self.keys > self.queries:
            raise ValueError(
                f"Tiles.keys must be at most Tiles.queries = {self.queries}, since blocks of keys divide those of queries, not {self.keys}"
            )

    @property
    def levels(self):
        """Levels within the larger block: every table must have as many."""
        return log2(max(self.queries, self.block))


@dataclass(frozen=True)
class Bias:
    """What the loop reads of a bias: KIND, and by query head F (B, H, P), or psi (B, H, P), beta (B, H) and the table (B, H, L, P)."""

    kind: int = loop.NONE.value
    F: torch.Tensor | None = None
    psi: torch.Tensor | None = None
    beta: torch.Tensor | None = None
    lowest: torch.Tensor | None = None
    skip: Skip | None = None

    @property
    def levels(self):
        return 1 if self.lowest is None else self.lowest.shape[-2]

    @property
    def constants(self):
        """What the loop is compiled for."""
        return {"KIND": self.kind, "SKIP": self.skip is not None}


@dataclass(frozen=True)
class BiasGradient:
    """What the backward passes read and write beside dq, dk, dv: the mass table, and sums by position (B, H, P) and by cell.

    exact: whether the shares are (`loop.lean`).
    """

    exact: bool = True
    mass: torch.Tensor | None = None
    by_key: torch.Tensor | None = None
    by_query: torch.Tensor | None = None
    cells: torch.Tensor | None = None


@dataclass(frozen=True)
class Problem:
    """The checked q (B, H, T, D), k and v (B, G, T, D), G dividing H, the scale, and the tiles."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    scale: float
    tiles: Tiles

    @property
    def padded(self):
        """P, the multiple of a block that T is padded to."""
        whole = max(self.tiles.queries, self.tiles.block)
        return -(-self.q.shape[2] // whole) * whole

    @property
    def wide(self):
        """D padded to what the matrix units take."""
        return wide(self.q.shape[-1])

    def grid(self, block):
        B, H, T, _ = self.q.shape
        return B * H, -(-T // block)

    @property
    def constants(self):
        """What every kernel is compiled for: D, as padded, and whether the interpreter needs wider operands."""
        return {"D": self.q.shape[-1], "WIDE": self.wide, "WIDEN": loop.INTERPRETED and self.q.dtype == torch.bfloat16}

    @property
    def rounded(self):
        """Whether o's dtype holds less than the fp32 it is computed in."""
        return self.q.dtype != torch.float32

    @property
    def sizes(self):
        """T, H, and the query heads that share a head of keys."""
        _, H, T, _ = self.q.shape
        return T, H, H // self.k.shape[1]


def forward(problem, bias):
    """o (B, H, T, D), like q; what rounding it left, o itself for fp32; the logits' log-sum-exp (B, H, P) in units of log 2.

    Beyond T the log-sum-exp is inf, so that padding gets no weight.
    """
    q, k, v, tiles = problem.q, problem.k, problem.v, problem.tiles
    o = torch.empty_like(q)
    lse = torch.full((*q.shape[:2], problem.padded), math.inf, dtype=torch.float32, device=q.device)
    rest = torch.empty_like(o) if problem.rounded else o
    F, lowest, psi, beta = (lse if x is None else x for x in (bias.F, bias.lowest, bias.psi, bias.beta))
    lists = (lse,) * 4 if bias.skip is None else bias.skip.forward
    T, H, group = problem.sizes
    with torch.cuda.device_of(q):
        loop.forward[problem.grid(tiles.queries)](
            q, k, v, o, rest, lse, F, lowest, psi, beta, *lists,
            T, problem.padded, H, group, bias.levels, problem.scale * loop.LOG2E.value, *strides(q, k, v, o),
            M=tiles.queries, N=tiles.keys, WITHIN=log2(tiles.queries), num_warps=tiles.forward_warps, num_stages=tiles.forward_stages,
            ROUNDED=problem.rounded, **problem.constants, **bias.constants,
        )  # fmt: skip
    return o, rest, lse


def backward(problem, bias, o, rest, lse, do, found):
    """dq, dk and dv; `found`, a BiasGradient, is filled."""
    q, k, v, block = problem.q, problem.k, problem.v, problem.tiles.block
    do = do if do.stride(-1) == 1 else do.contiguous()
    T, H, group = problem.sizes
    delta, dq = torch.empty_like(lse), torch.empty_like(q)
    dk, dv = (torch.empty(q.shape, dtype=k.dtype if group == 1 else torch.float32, device=q.device) for _ in range(2))
    F, lowest, psi, beta = (lse if x is None else x for x in (bias.F, bias.lowest, bias.psi, bias.beta))
    mass, by_key, by_query, cells = (lse if x is None else x for x in (found.mass, found.by_key, found.by_query, found.cells))
    of_keys, of_queries = ((lse,) * 4,) * 2 if bias.skip is None else (bias.skip.by_key, bias.skip.by_query)
    read = q, k, v, do, lse, delta
    of_bias = F, lowest, psi, beta, mass
    numbers = T, problem.padded, H, group, bias.levels, problem.scale, problem.scale * loop.LOG2E.value, *strides(q, k, v, do)
    options = {"num_warps": problem.tiles.backward_warps, "num_stages": problem.tiles.backward_stages}
    options |= problem.constants | bias.constants | {"WITHIN": log2(block), "EXACT": found.exact}
    grid = problem.grid(block)
    with torch.cuda.device_of(q):
        loop.row_dots[grid](
            o, rest, do, delta, T, problem.padded, H, *strides(o, do),
            D=q.shape[-1], WIDE=problem.wide, M=block, ROUNDED=problem.rounded,
        )  # fmt: skip
        loop.key_gradients[grid](
            *read, dk, dv, *of_bias, by_key, cells, by_key, *of_keys, *numbers, *strides(dk), N=block, **options
        )  # fmt: skip
        loop.query_gradients[grid](
            *read, dq, *of_bias, by_query, cells, by_query, *of_queries, *numbers, *strides(dq), M=block, **options
        )  # fmt: skip
    if group > 1:
        dk, dv = (d.unflatten(1, (-1, group)).sum(2).to(k.dtype) for d in (dk, dv))
    return dq, dk, dv


def problem(q, k, v, scale, tiles):
    """The Problem of these arguments; ValueError where the loop cannot compute it."""
    arguments.tensors(q=q, k=k, v=v)
    scale = None if scale is None else arguments.number("scale", scale)
    if not isinstance(tiles, Tiles | None):
        raise ValueError(f"tiles must be None, for those chosen by head_dim and dtype, or a launch.Tiles, not {arguments.shown(tiles)}")
    if q.dim() != 4 or k.dim() != 4 or k.shape != v.shape:
        raise ValueError(f"q must be (B, H, T, D), k and v (B, G, T, D), not {shapes(q, k, v)}; flatten further leading axes into B")
    (B, H, T, D), G = q.shape, k.shape[1]
    if not 1 <= D <= WIDEST or min(B, H, T) < 1:
        raise ValueError(f"head_dim must be 1..{WIDEST}, a tile's registers, and B, H and T at least 1, not {shapes(q, k, v)}")
    if (k.shape[0], *k.shape[2:]) != (B, T, D) or G < 1 or H % G:
        raise ValueError(f"k and v must share q's B, T and D, and their number of heads must divide q's, not {shapes(q, k, v)}")
    if q.dtype not in DTYPES or not q.dtype == k.dtype == v.dtype:
        raise ValueError(
            f"q, k and v must share one dtype of float32, float16 and bfloat16, not {q.dtype}, {k.dtype}, {v.dtype}; convert with .to()"
        )
    on_one_device(q, k, v)
    if not (q.is_cuda or loop.INTERPRETED):
        raise ValueError(
            f"a fused kernel needs tensors on CUDA, not {q.device}; call .cuda(), or use the reference formula, "
            "or set TRITON_INTERPRET=1 before triton is imported"
        )
    q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k, v))
    if (farthest := max(T * x.stride(2) for x in (q, k, v))) >= ADDRESSES:
        raise ValueError(f"T times the stride of T must be below 2^31, a 32-bit offset, not {farthest}; call .contiguous()")
    return Problem(q, k, v, D**-0.5 if scale is None else scale, tiles or tiles_for(D, q.element_size()))


def by_position(name, x, q):
    """x, which must be (B, H, T) on q's device, as contiguous fp32: a field needs its precision whatever q's dtype."""
    arguments.floating(**{name: x})
    if x.shape != q.shape[:-1]:
        raise ValueError(f"{name} must be (B, H, T) = {tuple(q.shape[:-1])}, by query head, not {tuple(x.shape)}; use .expand()")
    on_one_device(q, x)
    return x.float().contiguous()


def by_head(name, x, q):
    """x, a number or any shape that broadcasts to (B, H), as contiguous fp32 (B, H)."""
    x = x if torch.is_tensor(x) else torch.tensor(arguments.number(name, x), device=q.device)
    on_one_device(q, x)
    try:
        return x.detach().float().expand(q.shape[:2]).contiguous()
    except RuntimeError as error:
        raise ValueError(f"{name} must be broadcastable to (B, H) = {tuple(q.shape[:2])}, not {tuple(x.shape)}") from error


def check_prune(prune):
    """Raises unless prune is None or a bias that may be a bound."""
    if prune is not None and not (isinstance(prune, Real) and prune <= 0):
        text = arguments.shown(prune)
        raise ValueError(f"prune must be None or a bias in nats, at most 0, below which tiles are left out, not {text}; -30 is usual")


def padded(x, problem):
    """x (..., T) with zeros appended up to P."""
    return torch.nn.functional.pad(x, (0, problem.padded - x.shape[-1]))


def on_one_device(*tensors):
    if len({x.device for x in tensors}) > 1:
        raise ValueError(f"all tensors must be on one device, not {', '.join(str(x.device) for x in tensors)}; move them with .to()")


def tiles_for(head_dim, bytes_an_element):
    """Tiles whose hot loops spill nothing on sm_80 and sm_90; chosen by compiling, not by timing."""
    if bytes_an_element == 4:  # exact fp32 products run on the ordinary units and hold both operands in registers
        queries, warps = (32, 4) if head_dim <= 64 else (16, 8)
        return Tiles(queries, 16, 16, forward_warps=warps, backward_warps=8, forward_stages=2, backward_stages=1)
    if head_dim > 64:
        return Tiles(128, 64, 32, forward_warps=8, backward_warps=8, forward_stages=2, backward_stages=2)
    return Tiles()


def wide(head_dim):
    return max(16, 1 << (head_dim - 1).bit_length())


def strides(*tensors):
    return [stride for x in tensors for stride in x.stride()[:3]]


def shapes(*tensors):
    return ", ".join(str(tuple(x.shape)) for x in tensors)


def log2(power):
    return power.bit_length() - 1

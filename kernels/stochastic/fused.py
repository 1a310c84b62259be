"""Stochastic attention in Triton: rows gathered by a permutation, a band in permuted order, causal in the sequence's own order.

Slot a holds position PERM[a]: tiles are blocks of slots, whose rows are loaded from, and stored to, where their positions are, so no
permuted copy of anything exists, every element of every output has one writer, and two runs agree bitwise. A query in slot a sees
slots a - LEFT to a + RIGHT with a position that is not later. In a tile inside the band only the order is tested; without a
permutation (a sliding window, RIGHT = 0) nothing. Letters as in `loop`; its steps are used as they are.
"""

from dataclasses import replace

import torch
import triton
import triton.language as tl

from attnprobe.kernels import arguments, launch, listing, loop
from attnprobe.kernels.loop import absorbed, dot, key_step, put, query_step, row_dots, rows
from attnprobe.kernels.stochastic import reference

INF = tl.constexpr(float("inf"))
LOWEST = tl.constexpr(-1e30)  # of a row that has seen no key yet: finite, since -inf less itself is no number


@triton.jit
def band(first, M: tl.constexpr, N: tl.constexpr, before, after, T):
    """Blocks of N slots that slots [first, first + M) meet from `before` to `after` slots off: start, stop, and of the whole ones both."""
    start = tl.maximum(first - before, 0) // N
    stop = tl.cdiv(tl.minimum(first + M + after, T), N)
    whole = tl.cdiv(tl.maximum(first + M - 1 - before, 0), N)
    end = tl.minimum((first + after + 1) // N, T // N)
    return start, stop, whole, tl.maximum(whole, end)


@triton.jit
def held(PERM, a, T, PERMUTED: tl.constexpr):
    """The positions in slots a, T or more past the last."""
    if PERMUTED:
        return tl.load(PERM + a, mask=a < T, other=T)
    else:
        return a


@triton.jit
def seen(a, b, position_a, position_b, LEFT, RIGHT, T, PERMUTED: tl.constexpr):
    """Whether queries in slots a see keys in slots b; the two broadcast."""
    inside = (a - b <= LEFT) & (b - a <= RIGHT) & (b < T)
    if PERMUTED:
        inside &= position_b <= position_a
    return inside


@triton.jit
def forward(
    Q, K, V, O, REST, LSE, PERM, T, H, GROUP, LEFT, RIGHT, scale2,
    sqb, sqh, sqt, skb, skh, skt, svb, svh, svt, sob, soh, sot, spb,
    D: tl.constexpr, WIDE: tl.constexpr, M: tl.constexpr, N: tl.constexpr, PERMUTED: tl.constexpr, WIDEN: tl.constexpr,
    ROUNDED: tl.constexpr,
):  # fmt: skip
    """O and LSE (BH, T), by position, of a block of M slots; REST as in `loop.forward`. PERM (B or 1, T), its batch stride spb."""
    bh = tl.program_id(0).to(tl.int64)
    b, h = bh // H, bh % H
    first = tl.program_id(1) * M
    PERM += b * spb
    K += b * skb + h // GROUP * skh
    V += b * svb + h // GROUP * svh
    a = first + tl.arange(0, M)
    t = held(PERM, a, T, PERMUTED)
    q = rows(Q + b * sqb + h * sqh, t, sqt, T, D, WIDE, False)
    top = tl.full([M], LOWEST, tl.float32)
    total = tl.zeros([M], tl.float32)
    out = tl.zeros([M, WIDE], tl.float32)
    start, stop, whole, end = band(first, M, N, LEFT, RIGHT, T)
    for j in range(whole, end):
        s = held(PERM, j * N + tl.arange(0, N), T, PERMUTED)
        scores = dot(q, tl.trans(rows(K, s, skt, T, D, WIDE, True)), WIDEN) * scale2
        if PERMUTED:
            scores = tl.where(t[:, None] >= s[None, :], scores, -INF)
        top, total, out = absorbed(scores, rows(V, s, svt, T, D, WIDE, True), top, total, out, WIDEN)
    for edge in range(stop - start - (end - whole)):
        j = start + edge
        j += tl.where(j >= whole, end - whole, 0)
        c = j * N + tl.arange(0, N)
        s = held(PERM, c, T, PERMUTED)
        scores = dot(q, tl.trans(rows(K, s, skt, T, D, WIDE, False)), WIDEN) * scale2
        scores = tl.where(seen(a[:, None], c[None, :], t[:, None], s[None, :], LEFT, RIGHT, T, PERMUTED), scores, -INF)
        top, total, out = absorbed(scores, rows(V, s, svt, T, D, WIDE, False), top, total, out, WIDEN)
    total = tl.where(a < T, total, 1.0)  # a slot past the last may have seen no key
    out = out / total[:, None]
    put(O + b * sob + h * soh, t, sot, out, T, D, WIDE)
    if ROUNDED:
        put(REST + b * sob + h * soh, t, sot, out - out.to(O.dtype.element_ty).to(tl.float32), T, D, WIDE)
    tl.store(LSE + bh * T + t, top + tl.log2(total), mask=t < T)


@triton.jit
def key_gradients(
    Q, K, V, DO, LSE, DELTA, DK, DV, PERM, T, H, GROUP, LEFT, RIGHT, scale, scale2,
    sqb, sqh, sqt, skb, skh, skt, svb, svh, svt, sgb, sgh, sgt, sdb, sdh, sdt, spb,
    D: tl.constexpr, WIDE: tl.constexpr, N: tl.constexpr, PERMUTED: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    """DK and DV (by query head) of a block of N slots; tiles are transposed, keys by queries. LSE and DELTA (BH, T) by position."""
    bh = tl.program_id(0).to(tl.int64)
    b, h = bh // H, bh % H
    first = tl.program_id(1) * N
    PERM += b * spb
    Q += b * sqb + h * sqh
    DO += b * sgb + h * sgh
    LSE += bh * T
    DELTA += bh * T
    c = first + tl.arange(0, N)
    s = held(PERM, c, T, PERMUTED)
    k = rows(K + b * skb + h // GROUP * skh, s, skt, T, D, WIDE, False)
    v = rows(V + b * svb + h // GROUP * svh, s, svt, T, D, WIDE, False)
    dk = tl.zeros([N, WIDE], tl.float32)
    dv = tl.zeros([N, WIDE], tl.float32)
    start, stop, whole, end = band(first, N, N, RIGHT, LEFT, T)
    for i in range(whole, end):
        t = held(PERM, i * N + tl.arange(0, N), T, PERMUTED)
        shift = -tl.load(LSE + t)[None, :]
        if PERMUTED:
            shift = tl.where(t[None, :] >= s[:, None], shift, -INF)
        q, do = rows(Q, t, sqt, T, D, WIDE, True), rows(DO, t, sgt, T, D, WIDE, True)
        _, dk, dv = key_step(shift, scale2, k, v, q, do, tl.load(DELTA + t), dk, dv, WIDEN)
    for edge in range(stop - start - (end - whole)):
        i = start + edge
        i += tl.where(i >= whole, end - whole, 0)
        a = i * N + tl.arange(0, N)
        t = held(PERM, a, T, PERMUTED)
        shift = -tl.load(LSE + t, mask=t < T, other=INF)[None, :]
        shift = tl.where(seen(a[None, :], c[:, None], t[None, :], s[:, None], LEFT, RIGHT, T, PERMUTED), shift, -INF)
        q, do = rows(Q, t, sqt, T, D, WIDE, False), rows(DO, t, sgt, T, D, WIDE, False)
        delta = tl.load(DELTA + t, mask=t < T, other=0.0)
        _, dk, dv = key_step(shift, scale2, k, v, q, do, delta, dk, dv, WIDEN)
    put(DK + b * sdb + h * sdh, s, sdt, dk * scale, T, D, WIDE)
    put(DV + b * sdb + h * sdh, s, sdt, dv, T, D, WIDE)


@triton.jit
def query_gradients(
    Q, K, V, DO, LSE, DELTA, DQ, PERM, T, H, GROUP, LEFT, RIGHT, scale, scale2,
    sqb, sqh, sqt, skb, skh, skt, svb, svh, svt, sgb, sgh, sgt, sdb, sdh, sdt, spb,
    D: tl.constexpr, WIDE: tl.constexpr, M: tl.constexpr, PERMUTED: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    """DQ of a block of M slots."""
    bh = tl.program_id(0).to(tl.int64)
    b, h = bh // H, bh % H
    first = tl.program_id(1) * M
    PERM += b * spb
    K += b * skb + h // GROUP * skh
    V += b * svb + h // GROUP * svh
    a = first + tl.arange(0, M)
    t = held(PERM, a, T, PERMUTED)
    q = rows(Q + b * sqb + h * sqh, t, sqt, T, D, WIDE, False)
    do = rows(DO + b * sgb + h * sgh, t, sgt, T, D, WIDE, False)
    lse = tl.load(LSE + bh * T + t, mask=t < T, other=INF)[:, None]
    delta = tl.load(DELTA + bh * T + t, mask=t < T, other=0.0)
    dq = tl.zeros([M, WIDE], tl.float32)
    start, stop, whole, end = band(first, M, M, LEFT, RIGHT, T)
    for j in range(whole, end):
        s = held(PERM, j * M + tl.arange(0, M), T, PERMUTED)
        shift = -lse
        if PERMUTED:
            shift = tl.where(t[:, None] >= s[None, :], shift, -INF)
        k, v = rows(K, s, skt, T, D, WIDE, True), rows(V, s, svt, T, D, WIDE, True)
        _, dq = query_step(shift, scale2, q, k, v, do, delta, dq, WIDEN)
    for edge in range(stop - start - (end - whole)):
        j = start + edge
        j += tl.where(j >= whole, end - whole, 0)
        c = j * M + tl.arange(0, M)
        s = held(PERM, c, T, PERMUTED)
        shift = tl.where(seen(a[:, None], c[None, :], t[:, None], s[None, :], LEFT, RIGHT, T, PERMUTED), -lse, -INF)
        k, v = rows(K, s, skt, T, D, WIDE, False), rows(V, s, svt, T, D, WIDE, False)
        _, dq = query_step(shift, scale2, q, k, v, do, delta, dq, WIDEN)
    put(DQ + b * sdb + h * sdh, t, sdt, dq * scale, T, D, WIDE)


def attention(q, k, v, perm, *, window, scale=None, tiles=None, trusted=False):
    """softmax of scale q_t . k_s over the s <= t within a window of slots about t's own, times v: (B, H, T, D).

    Shapes: perm int32 or int64, (T,) or (B, T), the position that stands in each slot: of slots sigma it is sigma.argsort(-1); None
    where slots are positions. window (left, right): the slots before and after the query's own, which it always sees; of w slots it
    is `window_of(w)`. The others as in `softmax.fused.attention`; positions written into q and k stay those of the sequence.
    trusted: perm's values are not looked at, for which CUDA would wait; what is no permutation then reads and writes anywhere.
    Differentiable once.
    """
    return Attention.apply(q, k, v, perm, window, scale, tiles, trusted)


def sliding(q, k, v, *, w, scale=None, tiles=None):
    """softmax of scale q_t . k_s over 0 <= t - s < w, times v: (B, H, T, D). Shapes as in `attention`."""
    arguments.whole("w", w, 1, meaning=", the token itself")
    return Attention.apply(q, k, v, None, (w - 1, 0), scale, tiles, True)


def gated(q, k, v, perm, gates, *, w, scale=None, tiles=None, trusted=False):
    """The shuffled path over w // 2 slots and the sliding one over the rest of w, each behind its gate: (B, H, T, D).

    Shapes: gates two of (B, H, T), shuffled first: sigmoids, which need not sum to 1. The others as in `attention`.
    """
    shuffled, rest = reference.halves(w)
    arguments.tensors(q=q)
    if not isinstance(gates, list | tuple) or len(gates) != 2:
        raise ValueError(f"gates must be two of (B, H, T), the shuffled path's first, not {arguments.shown(gates)}")
    arguments.floating(**dict(zip(("the first gate", "the second gate"), gates, strict=True)))
    if any(gate.shape != q.shape[:-1] for gate in gates):
        raise ValueError(f"gates must be two of (B, H, T) = {tuple(q.shape[:-1])}, not {launch.shapes(*gates)}; use .expand()")
    paths = (
        attention(q, k, v, perm, window=reference.window_of(shuffled), scale=scale, tiles=tiles, trusted=trusted),
        sliding(q, k, v, w=rest, scale=scale, tiles=tiles),
    )
    return reference.gated(paths, gates)


class Attention(torch.autograd.Function):
    """See `attention`; without a permutation, slots are positions."""

    @staticmethod
    def forward(ctx, q, k, v, perm, window, scale, tiles, trusted):
        arguments.flag("trusted", trusted)
        problem = launch.problem(q, k, v, scale, tiles)
        if tiles is None:
            problem = replace(problem, tiles=tiles_for(q.shape[-1], q.element_size()))
        q, k, v, tiles = problem.q, problem.k, problem.v, problem.tiles
        T = q.shape[2]
        ctx.window, ctx.permuted = tuple(min(side, T) for side in reference.checked(window)), perm is not None
        ctx.settings = problem.scale, tiles
        if ctx.permuted:
            arguments.tensors(perm=perm)
            launch.on_one_device(q, perm)
            reference.permutation(perm, q, trusted)
        o, lse = torch.empty_like(q), torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)
        rest = torch.empty_like(o) if problem.rounded else o
        perm = perm.int().reshape(-1, T).contiguous() if ctx.permuted else torch.zeros(1, 1, dtype=torch.int32, device=q.device)
        with torch.cuda.device_of(q):
            forward[problem.grid(tiles.queries)](
                q, k, v, o, rest, lse, perm, *problem.sizes, *ctx.window, problem.scale * loop.LOG2E.value,
                *launch.strides(q, k, v, o), stride_of(perm), M=tiles.queries, N=tiles.keys, PERMUTED=ctx.permuted,
                ROUNDED=problem.rounded, **problem.constants, num_warps=tiles.forward_warps, num_stages=tiles.forward_stages,
            )  # fmt: skip
        ctx.save_for_backward(q, k, v, o, rest, lse, perm)
        return o

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, do):
        q, k, v, o, rest, lse, perm = ctx.saved_tensors
        problem = launch.Problem(q, k, v, *ctx.settings)
        do = do if do.stride(-1) == 1 else do.contiguous()
        (_, H, T, _), G, block = q.shape, k.shape[1], problem.tiles.block
        delta, dq, grid = torch.empty_like(lse), torch.empty_like(q), problem.grid(block)
        dk, dv = (torch.empty(q.shape, dtype=k.dtype if q.shape[1] == G else torch.float32, device=q.device) for _ in range(2))
        numbers = *problem.sizes, *ctx.window, problem.scale, problem.scale * loop.LOG2E.value, *launch.strides(q, k, v, do)
        options = {"num_warps": problem.tiles.backward_warps, "num_stages": problem.tiles.backward_stages, "PERMUTED": ctx.permuted}
        options |= problem.constants
        with torch.cuda.device_of(q):
            row_dots[grid](
                o, rest, do, delta, T, T, H, *launch.strides(o, do),
                D=q.shape[-1], WIDE=problem.wide, M=block, ROUNDED=problem.rounded,
            )  # fmt: skip
            key_gradients[grid](q, k, v, do, lse, delta, dk, dv, perm, *numbers, *launch.strides(dk), stride_of(perm), N=block, **options)
            query_gradients[grid](q, k, v, do, lse, delta, dq, perm, *numbers, *launch.strides(dq), stride_of(perm), M=block, **options)
        if H != G:
            dk, dv = (d.unflatten(1, (G, -1)).sum(2).to(k.dtype) for d in (dk, dv))
        return dq, dk, dv, None, None, None, None, None


def tiles_for(head_dim, bytes_an_element):
    """The loop's tiles, but for wide heads of 16 bits fewer keys forward, where the band's test would spill."""
    tiles = launch.tiles_for(head_dim, bytes_an_element)
    return replace(tiles, keys=32) if head_dim > 64 and bytes_an_element < 4 else tiles


def stride_of(perm):
    return 0 if perm.shape[0] == 1 else perm.stride(0)


def kernels(head_dim, dtype):
    """What `compile` compiles of this module."""
    tiles = tiles_for(head_dim, listing.BYTES[dtype])
    shape = {"D": head_dim, "WIDE": launch.wide(head_dim), "WIDEN": False}
    types = {"PERM": "*i32", "LEFT": "i32", "RIGHT": "i32", "spb": "i32"}
    ahead, back = listing.forward_options(tiles), listing.backward_options(tiles)
    for name, permuted in (("stochastic", True), ("sliding", False)):
        of_this = shape | {"PERMUTED": permuted}
        of_forward = of_this | {"M": tiles.queries, "N": tiles.keys, "ROUNDED": dtype != "fp32"}
        yield listing.Listed(f"{name} forward", forward, of_forward, ahead, types)
        yield listing.Listed(f"{name} key_gradients", key_gradients, of_this | {"N": tiles.block}, back, types)
        yield listing.Listed(f"{name} query_gradients", query_gradients, of_this | {"M": tiles.block}, back, types)

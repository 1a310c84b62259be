"""The power norm (pn_fir_tau) in Triton: causal, one pass forward, two backward, without exponentials of scores and without atomics.

u = (r / R)^10 is homogeneous in r, so a running maximum does for it what it does for softmax: when the maximum grows from M to M',
all that was summed is multiplied by (M / M')^10. The gate's gradient goes to the key that holds a row's maximum, the first of equals.
The forward pass remembers its tile alone, the first of equals too; rows sorted by that tile meet it once more before the backward
passes, and there each finds its key. So the loops over all pairs have nothing to do with it, and no two kernels need round alike.

With W = gamma(R) / sum u and D = do . sum u v / sum u, a pair's score has the gradient 10 W / R (r / R)^9 (do . v - D), and gamma'(R) D
more at the index. Silent rows and rows beyond T have factors 0: they give and get exactly 0. Letters as in `loop`.
"""

from dataclasses import replace

import torch
import triton
import triton.language as tl

from attnprobe.kernels import arguments, launch, listing, loop
from attnprobe.kernels.loop import dot, put, rows
from attnprobe.kernels.power_norm.silent import lists, live_tiles

UNGATED = tl.constexpr(0)
EXP = tl.constexpr(1)
RATE = tl.constexpr(2)
KINDS = {"none": UNGATED.value, "exp": EXP.value, "rate": RATE.value}
LEAST = tl.constexpr(2.0**-126)  # the smallest normal fp32: a row with less above tau counts as silent, ours
LOWEST = tl.constexpr(-3e38)  # finite, since 0 times it must be 0
NOWHERE = tl.constexpr(2147483647)  # the tile, or the key, of no row
ROOM = tl.constexpr(2.0**-22)  # four roundings: what a row's maximum can fall short of 1, twice near 1 and once for each tau / R
LOG2E = tl.constexpr(loop.LOG2E.value)


@triton.jit
def tenth_power(x):
    x2 = x * x
    x4 = x2 * x2
    return x4 * x4 * x2


@triton.jit
def reciprocal(top):
    """1 / top, 0 where top is that of a silent row."""
    return tl.where(top >= LEAST, 1.0 / tl.maximum(top, LEAST), 0.0)


@triton.jit
def gated(R, GATE: tl.constexpr):
    """gamma(R) and gamma'(R), R > 0; 1 - e^-R by its series where subtracting would cancel."""
    if GATE == EXP:
        slope = tl.exp2(-R * LOG2E)
        near = tl.minimum(R, 0.5)
        series = 1.0 - near * (1.0 / 9.0)  # of (1 - e^-R) / R, the rest below 1e-9
        for n in tl.static_range(8, 1, -1):
            series = 1.0 - near * (1.0 / n) * series
        gamma = tl.where(R < 0.5, R * series, 1.0 - slope)
    elif GATE == RATE:
        slope = 1.0 / ((1.0 + R) * (1.0 + R))
        gamma = R / (1.0 + R)
    else:
        slope = R * 0.0
        gamma = slope + 1.0
    return gamma, slope


@triton.jit
def absorbed(x, j, v, scale, tau, top, total, out, tile, WIDEN: tl.constexpr):
    """The running row (top (M,), total (M,), out (M, D), tile (M,)) after block j of keys: x (M, N) = q . k, v (N, D)."""
    over_tau = tl.max(x, 1) * scale - tau
    higher = tl.maximum(top, over_tau)
    over = reciprocal(higher)
    kept = tenth_power(top * over)
    shift = tau * over
    if v.dtype != tl.float32:  # the largest must be 1 as rounded to v's dtype: the mean of a row with one key is then that key's value
        shift -= ROOM * (2.0 + tl.abs(shift))
    u = tenth_power(tl.clamp(x * (scale * over)[:, None] - shift[:, None], 0.0, 1.0))
    out = out * kept[:, None] + dot(u.to(v.dtype), v, WIDEN)
    return higher, total * kept + tl.sum(u, 1), out, tl.where(over_tau > top, j, tile)


@triton.jit
def forward(
    Q, K, V, O, MEAN, TOP, TOTAL, TILE, LIVE, TAU, T, H, GROUP, scale,
    sqb, sqh, sqt, skb, skh, skt, svb, svh, svt, sob, soh, sot,
    D: tl.constexpr, WIDE: tl.constexpr, M: tl.constexpr, N: tl.constexpr, GATE: tl.constexpr, WIDEN: tl.constexpr,
    KEPT: tl.constexpr, FLAGGED: tl.constexpr,
):  # fmt: skip
    """O of one block of M queries, N <= M keys at a time; if KEPT, what the backward passes need of it.

    TAU (BH,). MEAN (BH, T, D) sum u v / sum u, TOP R, TOTAL sum u, TILE (BH, T) the block of N keys that holds R, NOWHERE for a silent
    row. If FLAGGED, LIVE (BH, blocks of M, blocks of N) is 1 where a pair of the tile exceeds the threshold.
    """
    bh = tl.program_id(0).to(tl.int64)
    i = tl.num_programs(1) - 1 - tl.program_id(1)  # long rows first
    b, h = bh // H, bh % H
    t = i * M + tl.arange(0, M)
    K += b * skb + h // GROUP * skh
    V += b * svb + h // GROUP * svh
    LIVE += (bh * tl.num_programs(1) + i) * tl.num_programs(1) * (M // N)
    q = rows(Q + b * sqb + h * sqh, t, sqt, T, D, WIDE, False)
    tau = tl.load(TAU + bh)
    top = tl.zeros([M], tl.float32)
    total = tl.zeros([M], tl.float32)
    out = tl.zeros([M, WIDE], tl.float32)
    tile = tl.zeros([M], tl.int32)
    for j in range(i * (M // N)):
        s = j * N + tl.arange(0, N)
        x = dot(q, tl.trans(rows(K, s, skt, T, D, WIDE, True)), WIDEN)
        if FLAGGED:
            tl.store(LIVE + j, (tl.max(tl.max(x, 1), 0) * scale - tau > 0.0).to(tl.int8))
        top, total, out, tile = absorbed(x, j, rows(V, s, svt, T, D, WIDE, True), scale, tau, top, total, out, tile, WIDEN)
    for own in tl.static_range(M // N):
        j = i * (M // N) + own
        s = j * N + tl.arange(0, N)
        x = dot(q, tl.trans(rows(K, s, skt, T, D, WIDE, False)), WIDEN)
        x = tl.where(t[:, None] >= s[None, :], x, LOWEST)
        if FLAGGED:
            tl.store(LIVE + j, (tl.max(tl.max(x, 1), 0) * scale - tau > 0.0).to(tl.int8))
        top, total, out, tile = absorbed(x, j, rows(V, s, svt, T, D, WIDE, False), scale, tau, top, total, out, tile, WIDEN)
    live = top >= LEAST
    gamma, _ = gated(top, GATE)
    mean = out * tl.where(live, 1.0 / tl.maximum(total, LEAST), 0.0)[:, None]
    put(O + b * sob + h * soh, t, sot, mean * gamma[:, None], T, D, WIDE)
    if KEPT:
        put(MEAN + bh * T * D, t, D, mean, T, D, WIDE)
        tl.store(TOP + bh * T + t, top, mask=t < T)
        tl.store(TOTAL + bh * T + t, total, mask=t < T)
        tl.store(TILE + bh * T + t, tl.where(live, tile, NOWHERE), mask=t < T)


@triton.jit
def peaks(
    Q, K, INDEX, ORDER, FIRST, T, H, GROUP, sqb, sqh, sqt, skb, skh, skt,
    D: tl.constexpr, WIDE: tl.constexpr, M: tl.constexpr, N: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    """INDEX (BH, T) of the rows whose maximum one block of N keys holds: the first of the block's highest; M rows at a time.

    ORDER (BH, T): the rows by their maximum's block; FIRST (BH, blocks of N + 1): where each block's rows start in it.
    """
    bh = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1)
    b, h = bh // H, bh % H
    FIRST += bh * (tl.num_programs(1) + 1) + j
    s = j * N + tl.arange(0, N)
    k = rows(K + b * skb + h // GROUP * skh, s, skt, T, D, WIDE, False)
    stop = tl.load(FIRST + 1)
    for at in range(tl.load(FIRST), stop, M):
        n = at + tl.arange(0, M)
        t = tl.load(ORDER + bh * T + n, mask=n < stop, other=T)
        x = dot(rows(Q + b * sqb + h * sqh, t, sqt, T, D, WIDE, False), tl.trans(k), WIDEN)
        x = tl.where(t[:, None] >= s[None, :], x, LOWEST)
        highest = x == tl.max(x, 1)[:, None]
        tl.store(INDEX + bh * T + t, tl.min(tl.where(highest, s[None, :], NOWHERE), 1), mask=n < stop)


@triton.jit
def row_terms(
    MEAN, DO, TOP, TOTAL, DELTA, EDGE, WEIGHT, FACTOR, T, H, scale, sgb, sgh, sgt,
    D: tl.constexpr, WIDE: tl.constexpr, M: tl.constexpr, GATE: tl.constexpr,
):  # fmt: skip
    """DELTA = D, EDGE = gamma'(R) D scale / 10, WEIGHT = W / R, FACTOR = W^(1/10) scale / R of each row; 0 where it is silent.

    With p = FACTOR (q . k - tau / scale) = W^(1/10) r / R, p^10 is the weight itself and p^9 FACTOR is W / R (r / R)^9 scale: one factor
    serves both.
    """
    bh = tl.program_id(0).to(tl.int64)
    b, h = bh // H, bh % H
    t = tl.program_id(1) * M + tl.arange(0, M)
    mean = rows(MEAN + bh * T * D, t, D, T, D, WIDE, False)
    do = rows(DO + b * sgb + h * sgh, t, sgt, T, D, WIDE, False).to(tl.float32)
    top = tl.load(TOP + bh * T + t, mask=t < T, other=0.0)
    total = tl.load(TOTAL + bh * T + t, mask=t < T, other=1.0)
    gamma, slope = gated(top, GATE)
    delta = tl.sum(mean * do, 1)
    live = top >= LEAST
    over = reciprocal(top)
    weight = tl.where(live, gamma / tl.maximum(total, LEAST), 1.0)
    tl.store(DELTA + bh * T + t, delta, mask=t < T)
    tl.store(EDGE + bh * T + t, tl.where(live, slope * delta * (0.1 * scale), 0.0), mask=t < T)
    tl.store(WEIGHT + bh * T + t, weight * over, mask=t < T)
    tl.store(FACTOR + bh * T + t, tl.exp2(tl.log2(weight) * 0.1) * over * scale, mask=t < T)


@triton.jit
def key_step(x, k, v, do, q, factor, delta, dk, dv, WIDEN: tl.constexpr):
    """dk / 10 and dv with a block of queries added; x (N, M) = q . k - tau / scale."""
    p = tl.clamp(x * factor[None, :], 0.0, 1.0)
    p2 = p * p
    p4 = p2 * p2
    p9 = p4 * p4 * p
    dv += dot((p9 * p).to(do.dtype), do, WIDEN)
    dr = p9 * (dot(v, tl.trans(do), WIDEN) - delta[None, :]) * factor[None, :]
    return dk + dot(dr.to(q.dtype), q, WIDEN), dv


@triton.jit
def key_gradients(
    Q, K, V, DO, FACTOR, DELTA, EDGE, INDEX, ORDER, FIRST, DK, DV, TAU, LIST, COUNT, T, H, GROUP, scale,
    sqb, sqh, sqt, skb, skh, skt, svb, svh, svt, sgb, sgh, sgt, sdb, sdh, sdt,
    D: tl.constexpr, WIDE: tl.constexpr, N: tl.constexpr, KEYS: tl.constexpr, WIDEN: tl.constexpr, LISTED: tl.constexpr,
):  # fmt: skip
    """DK and DV (by query head) of a block of N keys; tiles are transposed, keys by queries.

    ORDER, FIRST: as in `peaks`, of blocks of KEYS keys; the gate's gradient is the rows' whose INDEX is one of the N keys. If LISTED,
    of the later query blocks only the first COUNT (BH, blocks) of LIST (BH, blocks, blocks) are read.
    """
    bh = tl.program_id(0).to(tl.int64)
    j, blocks = tl.program_id(1), tl.num_programs(1)
    b, h = bh // H, bh % H
    s = j * N + tl.arange(0, N)
    Q += b * sqb + h * sqh
    DO += b * sgb + h * sgh
    FACTOR += bh * T
    DELTA += bh * T
    LIST += (bh * blocks + j) * blocks
    dk = tl.zeros([N, WIDE], tl.float32)
    FIRST += bh * (tl.cdiv(T, KEYS) + 1)
    stop = tl.load(FIRST + tl.cdiv(tl.minimum((j + 1) * N, T), KEYS))
    for at in range(tl.load(FIRST + j * N // KEYS), stop, N):
        n = at + tl.arange(0, N)
        t = tl.load(ORDER + bh * T + n, mask=n < stop, other=T)
        edge = tl.load(EDGE + bh * T + t, mask=t < T, other=0.0)
        index = tl.load(INDEX + bh * T + t, mask=t < T, other=-1)
        at_top = tl.where(s[:, None] == index[None, :], edge[None, :], 0.0)
        dk += dot(at_top.to(Q.dtype.element_ty), rows(Q, t, sqt, T, D, WIDE, False), WIDEN)
    k = rows(K + b * skb + h // GROUP * skh, s, skt, T, D, WIDE, False)
    v = rows(V + b * svb + h // GROUP * svh, s, svt, T, D, WIDE, False)
    least = tl.load(TAU + bh) / scale
    dv = tl.zeros([N, WIDE], tl.float32)
    count = blocks - 1 - j
    if LISTED:
        count = tl.load(COUNT + bh * blocks + j)
    for at in range(count):
        i = j + 1 + at
        if LISTED:
            i = tl.load(LIST + at)
        t = i * N + tl.arange(0, N)
        q = rows(Q, t, sqt, T, D, WIDE, False)
        do = rows(DO, t, sgt, T, D, WIDE, False)
        factor = tl.load(FACTOR + t, mask=t < T, other=0.0)
        delta = tl.load(DELTA + t, mask=t < T, other=0.0)
        dk, dv = key_step(dot(k, tl.trans(q), WIDEN) - least, k, v, do, q, factor, delta, dk, dv, WIDEN)

    q = rows(Q, s, sqt, T, D, WIDE, False)
    do = rows(DO, s, sgt, T, D, WIDE, False)
    factor = tl.load(FACTOR + s, mask=s < T, other=0.0)
    delta = tl.load(DELTA + s, mask=s < T, other=0.0)
    x = tl.where(s[None, :] >= s[:, None], dot(k, tl.trans(q), WIDEN) - least, 0.0)
    dk, dv = key_step(x, k, v, do, q, factor, delta, dk, dv, WIDEN)
    put(DK + b * sdb + h * sdh, s, sdt, dk * 10.0, T, D, WIDE)
    put(DV + b * sdb + h * sdh, s, sdt, dv, T, D, WIDE)


@triton.jit
def query_step(x, k, v, do, slope, shift, delta, dq, given, WIDEN: tl.constexpr):
    """dq / scale and the sum of scores' gradients, both over 10 W / R, with a block of keys added; x (M, N) = q . k."""
    z = tl.clamp(x * slope[:, None] - shift[:, None], 0.0, 1.0)
    z2 = z * z
    z4 = z2 * z2
    dr = z4 * z4 * z * (dot(do, tl.trans(v), WIDEN) - delta[:, None])
    return dq + dot(dr.to(k.dtype), k, WIDEN), given + tl.sum(dr, 1)


@triton.jit
def query_gradients(
    Q, K, V, DO, TOP, WEIGHT, DELTA, EDGE, INDEX, DQ, DTAU, TAU, LIST, COUNT, T, H, GROUP, scale,
    sqb, sqh, sqt, skb, skh, skt, svb, svh, svt, sgb, sgh, sgt, sdb, sdh, sdt,
    D: tl.constexpr, WIDE: tl.constexpr, M: tl.constexpr, WIDEN: tl.constexpr, LISTED: tl.constexpr,
):  # fmt: skip
    """DQ and DTAU's rows (BH, T) of a block of M queries; what the gate gives is the one key row at the index.

    If LISTED, of the earlier key blocks only the first COUNT (BH, blocks) of LIST (BH, blocks, blocks) are read.
    """
    bh = tl.program_id(0).to(tl.int64)
    blocks = tl.num_programs(1)
    i = blocks - 1 - tl.program_id(1)  # long rows first
    b, h = bh // H, bh % H
    t = i * M + tl.arange(0, M)
    K += b * skb + h // GROUP * skh
    V += b * svb + h // GROUP * svh
    LIST += (bh * blocks + i) * blocks
    q = rows(Q + b * sqb + h * sqh, t, sqt, T, D, WIDE, False)
    do = rows(DO + b * sgb + h * sgh, t, sgt, T, D, WIDE, False)
    over = reciprocal(tl.load(TOP + bh * T + t, mask=t < T, other=0.0))
    delta = tl.load(DELTA + bh * T + t, mask=t < T, other=0.0)
    slope, shift = scale * over, tl.load(TAU + bh) * over
    dq = tl.zeros([M, WIDE], tl.float32)
    given = tl.zeros([M], tl.float32)
    count = i
    if LISTED:
        count = tl.load(COUNT + bh * blocks + i)
    for at in range(count):
        j = at
        if LISTED:
            j = tl.load(LIST + at)
        s = j * M + tl.arange(0, M)
        k = rows(K, s, skt, T, D, WIDE, True)
        v = rows(V, s, svt, T, D, WIDE, True)
        dq, given = query_step(dot(q, tl.trans(k), WIDEN), k, v, do, slope, shift, delta, dq, given, WIDEN)

    k = rows(K, t, skt, T, D, WIDE, False)
    v = rows(V, t, svt, T, D, WIDE, False)
    x = tl.where(t[:, None] >= t[None, :], dot(q, tl.trans(k), WIDEN), LOWEST)
    dq, given = query_step(x, k, v, do, slope, shift, delta, dq, given, WIDEN)
    weight = tl.load(WEIGHT + bh * T + t, mask=t < T, other=0.0)
    edge = tl.load(EDGE + bh * T + t, mask=t < T, other=0.0)
    index = tl.load(INDEX + bh * T + t, mask=t < T, other=-1)
    at_top = rows(K, tl.where(index < 0, T, index), skt, T, D, WIDE, False).to(tl.float32)
    dq = dq * (weight * scale)[:, None] + at_top * edge[:, None]
    put(DQ + b * sdb + h * sdh, t, sdt, dq * 10.0, T, D, WIDE)
    tl.store(DTAU + bh * T + t, -10.0 * (given * weight + edge / scale), mask=t < T)


def attention(q, k, v, tau, *, gate="exp", scale=None, skip_silent=False, tiles=None):
    """The causal power norm of scale q_t . k_s over tau, times v: (B, H, T, D); a row with no score above tau is exactly 0.

    gamma(R) sum_s u_s v_s / sum_s u_s with r = relu(score - tau), R = max r, u = (r / R)^10 over s <= t; gate, of R: `exp`, `rate` or
    `none`. Shapes: tau a number, or broadcastable to (B, H); the others as in `softmax.fused.attention`. Keys are read as they are:
    filter them first (`reference.filtered`). skip_silent: the backward passes leave out tiles with no pair above tau, bit for bit
    the same. R below 2^-126 counts as 0. Differentiable once.
    """
    return Attention.apply(q, k, v, tau, gate, scale, skip_silent, tiles)


class Attention(torch.autograd.Function):
    """See `attention`."""

    @staticmethod
    def forward(ctx, q, k, v, tau, gate, scale, skip_silent, tiles):
        arguments.flag("skip_silent", skip_silent)
        problem = launch.problem(q, k, v, scale, tiles)
        if tiles is None:
            problem = replace(problem, tiles=tiles_for(q.shape[-1], q.element_size()))
        if not 0 < problem.scale < float("inf"):
            raise ValueError(f"scale must be positive and finite, not {problem.scale}; negate q for a negative one")
        if gate not in tuple(KINDS):
            raise ValueError(f"gate must be one of {', '.join(KINDS)}, not {gate!r}")
        q, k, v, tiles, wanted = problem.q, problem.k, problem.v, problem.tiles, any(ctx.needs_input_grad)
        ctx.settings = problem.scale, tiles
        ctx.gate, ctx.skip_silent, ctx.tau = KINDS[gate], skip_silent, tau
        threshold = launch.by_head("tau", tau, q)
        o = torch.empty_like(q)
        top, total, tile = (by_row(q, dtype) for dtype in (torch.float32, torch.float32, torch.int32)) if wanted else (threshold,) * 3
        mean = torch.empty(q.shape, dtype=torch.float32, device=q.device) if wanted else o
        grid, flagged = problem.grid(tiles.queries), wanted and skip_silent
        live = torch.empty(*grid, grid[1] * (tiles.queries // tiles.keys), dtype=torch.int8, device=q.device).zero_() if flagged else o
        with torch.cuda.device_of(q):
            forward[grid](
                q, k, v, o, mean, top, total, tile, live, threshold, *problem.sizes, problem.scale, *launch.strides(q, k, v, o),
                M=tiles.queries, N=tiles.keys, GATE=ctx.gate, KEPT=wanted, FLAGGED=flagged, **problem.constants,
                num_warps=tiles.forward_warps, num_stages=tiles.forward_stages,
            )  # fmt: skip
        ctx.save_for_backward(q, k, v, threshold, mean, top, total, tile, live)
        return o

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, do):
        q, k, v, threshold, mean, top, total, tile, live = ctx.saved_tensors
        problem = launch.Problem(q, k, v, *ctx.settings)
        do = do if do.stride(-1) == 1 else do.contiguous()
        G, block, grid = k.shape[1], problem.tiles.block, problem.grid(problem.tiles.block)
        delta, edge, weight, factor, d_tau = (by_row(q, torch.float32) for _ in range(5))
        dq = torch.empty_like(q)
        dk, dv = (torch.empty(q.shape, dtype=k.dtype if q.shape[1] == G else torch.float32, device=q.device) for _ in range(2))
        sorted_rows = by_tile(tile, problem)
        index = by_row(q, torch.int32).fill_(-1)
        of_key = of_query = (index, index)
        if ctx.skip_silent:
            tiles = live_tiles(live.bool(), problem.tiles.queries, problem.tiles.keys, block, q.shape[2])
            of_query, of_key = lists(tiles), lists(tiles.mT)
        numbers = *problem.sizes, problem.scale, *launch.strides(q, k, v, do)
        options = {"num_warps": problem.tiles.backward_warps, "num_stages": problem.tiles.backward_stages} | problem.constants
        with torch.cuda.device_of(q):
            row_terms[grid](
                mean, do, top, total, delta, edge, weight, factor, *problem.sizes[:2], problem.scale, *launch.strides(do),
                D=q.shape[-1], WIDE=problem.wide, M=block, GATE=ctx.gate,
            )  # fmt: skip
            peaks[problem.grid(problem.tiles.keys)](
                q, k, index, *sorted_rows, *problem.sizes, *launch.strides(q, k), M=block, N=problem.tiles.keys, **options
            )
            key_gradients[grid](
                q, k, v, do, factor, delta, edge, index, *sorted_rows, dk, dv, threshold, *of_key, *numbers, *launch.strides(dk),
                N=block, KEYS=problem.tiles.keys, LISTED=ctx.skip_silent, **options,
            )  # fmt: skip
            query_gradients[grid](
                q, k, v, do, top, weight, delta, edge, index, dq, d_tau, threshold, *of_query, *numbers, *launch.strides(dq),
                M=block, LISTED=ctx.skip_silent, **options,
            )  # fmt: skip
        if q.shape[1] != G:
            dk, dv = (d.unflatten(1, (G, -1)).sum(2).to(k.dtype) for d in (dk, dv))
        d_tau = d_tau.sum(-1).sum_to_size(ctx.tau.shape).to(ctx.tau.dtype) if ctx.needs_input_grad[3] else None
        return dq, dk, dv, d_tau, None, None, None, None


def tiles_for(head_dim, bytes_an_element):
    """The loop's tiles, but in fp32 fewer queries forward, which would spill."""
    tiles = launch.tiles_for(head_dim, bytes_an_element)
    return replace(tiles, queries=16) if bytes_an_element == 4 else tiles


def by_tile(tile, problem):
    """The rows in the order of their tiles, silent ones last, int32 (B, H, T); and where each tile's start, int32 (B, H, tiles + 1)."""
    tiles, order = tile.sort(dim=-1, stable=True)
    bounds = torch.arange(problem.grid(problem.tiles.keys)[1] + 1, dtype=tile.dtype, device=tile.device)
    return order.int(), torch.searchsorted(tiles, bounds.repeat(*tile.shape[:2], 1), out_int32=True)


def by_row(q, dtype):
    return torch.empty(q.shape[:-1], dtype=dtype, device=q.device)


def kernels(head_dim, dtype):
    """What `compile` compiles of this module."""
    tiles = tiles_for(head_dim, listing.BYTES[dtype])
    shape = {"D": head_dim, "WIDE": launch.wide(head_dim)}
    types = dict.fromkeys(("TILE", "INDEX", "ORDER", "FIRST", "LIST", "COUNT"), "*i32") | {"LIVE": "*i8", "MEAN": "*fp32"}
    ahead, back = listing.forward_options(tiles), listing.backward_options(tiles)
    of_forward = shape | {"M": tiles.queries, "N": tiles.keys, "GATE": EXP.value, "WIDEN": False, "FLAGGED": False}
    yield listing.Listed("power_norm forward", forward, of_forward | {"KEPT": True}, ahead, types)
    yield listing.Listed("power_norm forward alone", forward, of_forward | {"KEPT": False}, ahead, types)
    yield listing.Listed("power_norm forward flagged", forward, of_forward | {"KEPT": True, "FLAGGED": True}, ahead, types)
    yield listing.Listed("power_norm row_terms", row_terms, shape | {"M": tiles.block, "GATE": EXP.value}, {}, types)
    of_peaks = shape | {"M": tiles.block, "N": tiles.keys, "WIDEN": False}
    yield listing.Listed("power_norm peaks", peaks, of_peaks, back, types)
    for listed in (False, True):
        suffix, of_backward = " listed" * listed, shape | {"WIDEN": False, "LISTED": listed}
        of_keys = of_backward | {"N": tiles.block, "KEYS": tiles.keys}
        yield listing.Listed(f"power_norm key_gradients{suffix}", key_gradients, of_keys, back, types)
        yield listing.Listed(f"power_norm query_gradients{suffix}", query_gradients, of_backward | {"M": tiles.block}, back, types)

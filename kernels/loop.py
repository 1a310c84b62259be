"""The Triton attention loop that softmax, FoX and FPA share: causal, forward and both backward passes, without atomics.

KIND is known at compile time and says what is added to scale q_t . k_s: NONE nothing; AGE the forget bias F_t - F_s; PATH
FPA's beta min(0, m - psi_s), m = min_{s<u<=t} phi_u by two look-ups in the disjoint sparse table (`fpa/sparse_table.py`): for
s < t with l the highest set bit of s xor t, m = min(LOWEST[l, t], LOWEST[l, s]). All pairs of two different blocks share one
l, and the blocks that share l with a given block are a contiguous run: so an outer loop goes over runs and keeps what depends
on the owner's rows alone in registers; for NONE and AGE there is one run. Only the block on the diagonal goes through the
levels within a block. If SKIP, each run is not of all its blocks but of those that lists name (`skip.py`): no branch, which would
take the asynchronous copies from the loop. Of PATH, a second list names the blocks that no bias reaches: they go through the loop of
NONE, which is shorter, most of all in the backward passes.

Logits are in units of log 2, as exp2 wants them. Every element of every output has one writer, which adds in one order: two
runs agree bitwise. Each query head h is a program of its own and reads the keys of head h // GROUP. Letters are the glossary's; BH is
the batch times the heads; P is T padded to whole blocks, and whatever is by position has P columns, so that only Q, K, V, O and
their gradients are masked; a block's rows are (M,) queries or (N,) keys.
"""

import numpy
import triton
import triton.language as tl

from attnprobe.kernels.versions import check_interpreter

NONE = tl.constexpr(0)
AGE = tl.constexpr(1)
PATH = tl.constexpr(2)
LOG2E = tl.constexpr(1.4426950408889634)
HALF_LN2 = tl.constexpr(0.34657359027997264)
INF = tl.constexpr(float("inf"))


@triton.jit
def rows(X, at, stride, T, D: tl.constexpr, WIDE: tl.constexpr, WHOLE: tl.constexpr):
    """X[at, :D] as (rows, WIDE), 0 beyond D; beyond T too, unless the rows are known to be WHOLE."""
    d = tl.arange(0, WIDE)
    x = X + at[:, None] * stride + d[None, :]
    if WHOLE and D == WIDE:
        loaded = tl.load(x)
    elif WHOLE:
        loaded = tl.load(x, mask=(d < D)[None, :], other=0.0)
    elif D == WIDE:
        loaded = tl.load(x, mask=(at < T)[:, None], other=0.0)
    else:
        loaded = tl.load(x, mask=(at < T)[:, None] & (d < D)[None, :], other=0.0)
    return loaded


INTERPRETED = not isinstance(rows, triton.JITFunction)  # triton was imported with TRITON_INTERPRET=1
if INTERPRETED:
    check_interpreter(triton.__version__, numpy.__version__)
EMULATED = tl.constexpr(INTERPRETED)  # no assembly: its interpreter twin


@triton.jit
def put(X, at, stride, x, T, D: tl.constexpr, WIDE: tl.constexpr):
    """Store x (rows, WIDE) at X[at, :D], the rows below T."""
    d = tl.arange(0, WIDE)
    tl.store(X + at[:, None] * stride + d[None, :], x.to(X.dtype.element_ty), mask=(at < T)[:, None] & (d < D)[None, :])


@triton.jit
def dot(a, b, WIDEN: tl.constexpr):
    """a b in fp32. WIDEN: the interpreter would multiply the bit patterns of bf16."""
    if WIDEN:
        a, b = a.to(tl.float32), b.to(tl.float32)
    return tl.dot(a, b, input_precision="ieee")


@triton.jit
def tables_of(bh, LOWEST, MASS, DCELLS, P, LEVELS, WITHIN: tl.constexpr, KIND: tl.constexpr):
    """How many runs a block has, and the tables of one head."""
    runs = 1
    if KIND == PATH:
        runs = LEVELS - WITHIN
        LOWEST += bh * LEVELS * P
        MASS += bh * LEVELS * P
        DCELLS += bh * LEVELS * P
    return runs, LOWEST, MASS, DCELLS


@triton.jit
def keys_of_run(i, l, KIND: tl.constexpr):
    """The key blocks [start, stop) before query block i whose highest bit of difference from it is l; one run where KIND is not PATH."""
    if KIND == PATH:
        start = ((i >> l) - 1) << l
        stop = start + (((i >> l) & 1) << l)
    else:
        start = 0
        stop = i
    return start, stop


@triton.jit
def queries_of_run(j, l, blocks, KIND: tl.constexpr):
    """The query blocks [start, stop) after key block j, as in `keys_of_run`."""
    if KIND == PATH:
        start = ((j >> l) + 1) << l
        stop = tl.minimum(start + ((1 - ((j >> l) & 1)) << l), blocks)
    else:
        start = j + 1
        stop = blocks
    return start, stop


@triton.jit
def listed(FIRST, run, start, stop, SKIP: tl.constexpr):
    """Where a run's blocks stand in the list, or [start, stop) itself."""
    if SKIP:
        start = tl.load(FIRST + run)
        stop = tl.load(FIRST + run + 1)
    return start, stop


@triton.jit
def block_at(AT, n, SKIP: tl.constexpr):
    """The n-th block of the list, or n itself."""
    if SKIP:
        n = tl.load(AT + n)
    return n


@triton.jit
def lowest_within(LOWEST, a, b, P, WITHIN: tl.constexpr):
    """m of every pair of rows a and b of one block, +inf where they are one position; symmetric in a and b."""
    apart = a[:, None] ^ b[None, :]
    m = tl.where(apart < 0, 0.0, INF)
    for l in range(WITHIN):
        of_a = tl.load(LOWEST + l * P + a)
        of_b = tl.load(LOWEST + l * P + b)
        m = tl.where((apart >> l) == 1, tl.minimum(of_a[:, None], of_b[None, :]), m)
    return m


@triton.jit
def share(other, own):
    """The share of the softmin mass that lies on the side of `own`, both log-sum-exps in units of log 2: in [0, 1], never 0 / 0."""
    return reciprocal(1.0 + tl.exp2(other - own))


@triton.jit
def reciprocal(x):
    """1 / x for 1 <= x <= inf, to one unit in the last place."""
    if EMULATED:
        return 1.0 / x
    else:
        return tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def tanh(x):
    """The hyperbolic tangent, to 2^-11 by the GPU's one instruction; its interpreter twin is exact."""
    if EMULATED:
        return 1.0 - 2.0 / (1.0 + tl.exp2(x * LOG2E * 2.0))
    else:
        return tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def lean(other, own, EXACT: tl.constexpr):
    """What is summed in the place of `share`: itself if EXACT, else 2 share - 1, which takes two instructions a pair less."""
    if EXACT:
        return share(other, own)
    else:
        return tanh(own * HALF_LN2 - other * HALF_LN2)


@triton.jit
def from_lean(leaned, passed, EXACT: tl.constexpr):
    """The sum of passed x share, of the sums of passed x lean and of passed."""
    if EXACT:
        return leaned
    else:
        return 0.5 * (leaned + passed)


@triton.jit
def cells_within(DCELLS, MASS, at, passed, P, WITHIN: tl.constexpr, OF_QUERY: tl.constexpr):
    """Sum each pair's own share of `passed` (rows, others of the same block) into the rows' cells of the levels within a block."""
    apart = at[:, None] ^ at[None, :]
    for l in range(WITHIN):
        mass = tl.load(MASS + l * P + at)
        held = tl.sum(tl.where((apart >> l) == 1, passed * share(mass[None, :], mass[:, None]), 0.0), 1)
        tl.store(DCELLS + l * P + at, held, mask=((at >> l) & 1) == OF_QUERY)


@triton.jit
def absorbed(scores, v, top, total, out, WIDEN: tl.constexpr):
    """The running softmax (top (M,), total (M,), out (M, D)) after a block of keys: scores (M, N), v (N, D)."""
    higher = tl.maximum(top, tl.max(scores, 1))
    kept = tl.exp2(top - higher)
    p = tl.exp2(scores - higher[:, None])
    out = out * kept[:, None] + dot(p.to(v.dtype), v, WIDEN)
    return higher, total * kept + tl.sum(p, 1), out


@triton.jit
def forward(
    Q, K, V, O, REST, LSE, F, LOWEST, PSI, BETA, AT, FIRST, ALIVE, COUNT, T, P, H, GROUP, LEVELS, scale2,
    sqb, sqh, sqt, skb, skh, skt, svb, svh, svt, sob, soh, sot,
    D: tl.constexpr, WIDE: tl.constexpr, M: tl.constexpr, N: tl.constexpr, WITHIN: tl.constexpr, KIND: tl.constexpr, WIDEN: tl.constexpr,
    ROUNDED: tl.constexpr, SKIP: tl.constexpr,
):  # fmt: skip
    """O and LSE (BH, P) of one block of M queries, N <= M keys at a time; if ROUNDED, REST is what O's dtype could not hold.

    F, PSI (BH, P); LOWEST (BH, LEVELS, P); BETA (BH,); WITHIN = log2 M; AT, FIRST, ALIVE, COUNT: as in `skip`.
    """
    bh = tl.program_id(0).to(tl.int64)
    i = tl.num_programs(1) - 1 - tl.program_id(1)  # long rows first
    b, h = bh // H, bh % H
    t = i * M + tl.arange(0, M)
    K += b * skb + h // GROUP * skh
    V += b * svb + h // GROUP * svh
    q = rows(Q + b * sqb + h * sqh, t, sqt, T, D, WIDE, False)
    top = tl.full([M], -INF, tl.float32)
    total = tl.zeros([M], tl.float32)
    out = tl.zeros([M, WIDE], tl.float32)
    runs = 1
    if KIND == AGE:
        F += bh * P
        f_t = tl.load(F + t)
    if KIND == PATH:
        runs = LEVELS - WITHIN
        LOWEST += bh * LEVELS * P
        PSI += bh * P
        beta2 = tl.load(BETA + bh) * LOG2E
    if SKIP:
        AT += (bh * (P // M) + i) * (P // N)
        FIRST += (bh * (P // M) + i) * (runs + 1)
    for run in range(runs):
        start, stop = keys_of_run(i, run, KIND)
        start, stop = listed(FIRST, run, start * (M // N), stop * (M // N), SKIP)
        if KIND == PATH:
            level = LOWEST + (run + WITHIN) * P
            lowest_t = tl.load(level + t)
        for n in range(start, stop):
            s = block_at(AT, n, SKIP) * N + tl.arange(0, N)
            scores = dot(q, tl.trans(rows(K, s, skt, T, D, WIDE, True)), WIDEN) * scale2
            if KIND == AGE:
                scores += f_t[:, None] - tl.load(F + s)[None, :]
            if KIND == PATH:
                psi = tl.load(PSI + s)
                closed = tl.minimum(tl.load(level + s) - psi, 0.0)
                scores += beta2 * tl.minimum(closed[None, :], lowest_t[:, None] - psi[None, :])
            top, total, out = absorbed(scores, rows(V, s, svt, T, D, WIDE, True), top, total, out, WIDEN)
    if SKIP and KIND == PATH:
        ALIVE += (bh * (P // M) + i) * (P // N)
        for n in range(tl.load(COUNT + bh * (P // M) + i)):
            s = tl.load(ALIVE + n) * N + tl.arange(0, N)
            scores = dot(q, tl.trans(rows(K, s, skt, T, D, WIDE, True)), WIDEN) * scale2
            top, total, out = absorbed(scores, rows(V, s, svt, T, D, WIDE, True), top, total, out, WIDEN)
    for j in tl.static_range(M // N):
        s = i * M + j * N + tl.arange(0, N)
        scores = dot(q, tl.trans(rows(K, s, skt, T, D, WIDE, False)), WIDEN) * scale2
        if KIND == AGE:
            scores += f_t[:, None] - tl.load(F + s)[None, :]
        if KIND == PATH:
            psi = tl.load(PSI + s)
            scores += beta2 * tl.minimum(lowest_within(LOWEST, t, s, P, WITHIN) - psi[None, :], 0.0)
        scores = tl.where(t[:, None] >= s[None, :], scores, -INF)
        top, total, out = absorbed(scores, rows(V, s, svt, T, D, WIDE, False), top, total, out, WIDEN)
    out = out / total[:, None]
    put(O + b * sob + h * soh, t, sot, out, T, D, WIDE)
    if ROUNDED:
        put(REST + b * sob + h * soh, t, sot, out - out.to(O.dtype.element_ty).to(tl.float32), T, D, WIDE)
    tl.store(LSE + bh * P + t, top + tl.log2(total), mask=t < T)


@triton.jit
def row_dots(
    O, REST, DO, DELTA, T, P, H, sob, soh, sot, sgb, sgh, sgt,
    D: tl.constexpr, WIDE: tl.constexpr, M: tl.constexpr, ROUNDED: tl.constexpr,
):  # fmt: skip
    """DELTA_t = o_t . do_t, what the gradient of the normalisation subtracts in every logit of row t.

    With o as rounded alone, a row whose weight lies on one key would get gradients of rounding errors: dp - DELTA cancels there.
    """
    bh = tl.program_id(0).to(tl.int64)
    b, h = bh // H, bh % H
    t = tl.program_id(1) * M + tl.arange(0, M)
    o = rows(O + b * sob + h * soh, t, sot, T, D, WIDE, False).to(tl.float32)
    if ROUNDED:
        o += rows(REST + b * sob + h * soh, t, sot, T, D, WIDE, False).to(tl.float32)
    do = rows(DO + b * sgb + h * sgh, t, sgt, T, D, WIDE, False).to(tl.float32)
    tl.store(DELTA + bh * P + t, tl.sum(o * do, 1), mask=t < P)


@triton.jit
def key_step(shift, scale2, k, v, q, do, delta, dk, dv, WIDEN: tl.constexpr):
    """dk and dv with a block of queries added, and the logits' gradient (N, M); shift is the bias less the log-sum-exp."""
    p = tl.exp2(dot(k, tl.trans(q), WIDEN) * scale2 + shift)
    dv += dot(p.to(do.dtype), do, WIDEN)
    ds = p * (dot(v, tl.trans(do), WIDEN) - delta[None, :])
    dk += dot(ds.to(q.dtype), q, WIDEN)
    return ds, dk, dv


@triton.jit
def key_gradients(
    Q, K, V, DO, LSE, DELTA, DK, DV, F, LOWEST, PSI, BETA, MASS, DF, DCELLS, DPSI, AT, FIRST, ALIVE, COUNT, T, P, H, GROUP, LEVELS,
    scale, scale2,
    sqb, sqh, sqt, skb, skh, skt, svb, svh, svt, sgb, sgh, sgt, sdb, sdh, sdt,
    D: tl.constexpr, WIDE: tl.constexpr, N: tl.constexpr, WITHIN: tl.constexpr, KIND: tl.constexpr, WIDEN: tl.constexpr,
    EXACT: tl.constexpr, SKIP: tl.constexpr,
):  # fmt: skip
    """What a block of N keys owns: DK, DV (by query head), and -dF, or DPSI over -beta and its cells of DCELLS, where s has bit l clear.

    Tiles are transposed, keys by queries. MASS and DCELLS (BH, LEVELS, P): log2-sum-exp2 of the ranges of -phi, and the gradient
    over beta that their minima hold. A padding query has lse = inf, so that p = 0.
    """
    bh = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1)
    b, h = bh // H, bh % H
    s = j * N + tl.arange(0, N)
    Q += b * sqb + h * sqh
    DO += b * sgb + h * sgh
    LSE += bh * P
    DELTA += bh * P
    k = rows(K + b * skb + h // GROUP * skh, s, skt, T, D, WIDE, False)
    v = rows(V + b * svb + h // GROUP * svh, s, svt, T, D, WIDE, False)
    dk = tl.zeros([N, WIDE], tl.float32)
    dv = tl.zeros([N, WIDE], tl.float32)
    given = tl.zeros([N], tl.float32)
    runs, LOWEST, MASS, DCELLS = tables_of(bh, LOWEST, MASS, DCELLS, P, LEVELS, WITHIN, KIND)
    if KIND == AGE:
        F += bh * P
        f_s = tl.load(F + s)
    if KIND == PATH:
        psi = tl.load(PSI + bh * P + s)
        beta2 = tl.load(BETA + bh) * LOG2E
    if SKIP:
        AT += (bh * (P // N) + j) * (P // N)
        FIRST += (bh * (P // N) + j) * (runs + 1)
    for run in range(runs):
        start, stop = queries_of_run(j, run, tl.num_programs(1), KIND)
        start, stop = listed(FIRST, run, start, stop, SKIP)
        if KIND == PATH:
            level = (run + WITHIN) * P
            mass_s = tl.load(MASS + level + s)
            closed = tl.minimum(tl.load(LOWEST + level + s) - psi, 0.0)
            opened = tl.zeros([N], tl.float32)
            leaned = tl.zeros([N], tl.float32)
        for n in range(start, stop):
            t = block_at(AT, n, SKIP) * N + tl.arange(0, N)
            q = rows(Q, t, sqt, T, D, WIDE, False)
            do = rows(DO, t, sgt, T, D, WIDE, False)
            delta = tl.load(DELTA + t)
            lse = tl.load(LSE + t)[None, :]
            if KIND == NONE:
                shift = -lse
            if KIND == AGE:
                shift = tl.load(F + t)[None, :] - f_s[:, None] - lse
            if KIND == PATH:
                lowest_t = tl.load(LOWEST + level + t)
                depth = tl.minimum(closed[:, None], lowest_t[None, :] - psi[:, None])
                shift = beta2 * depth - lse
            ds, dk, dv = key_step(shift, scale2, k, v, q, do, delta, dk, dv, WIDEN)
            if KIND == AGE:
                given += tl.sum(ds, 1)
            if KIND == PATH:
                passed = tl.where(depth < 0.0, ds, 0.0)
                opened += tl.sum(passed, 1)
                leaned += tl.sum(passed * lean(tl.load(MASS + level + t)[None, :], mass_s[:, None], EXACT), 1)
        if KIND == PATH:
            given += opened
            tl.store(DCELLS + level + s, from_lean(leaned, opened, EXACT), mask=s < tl.where(start < stop, P, 0))

    if SKIP and KIND == PATH:
        ALIVE += (bh * (P // N) + j) * (P // N)
        for n in range(tl.load(COUNT + bh * (P // N) + j)):
            t = tl.load(ALIVE + n) * N + tl.arange(0, N)
            q, do = rows(Q, t, sqt, T, D, WIDE, False), rows(DO, t, sgt, T, D, WIDE, False)
            _, dk, dv = key_step(-tl.load(LSE + t)[None, :], scale2, k, v, q, do, tl.load(DELTA + t), dk, dv, WIDEN)
    q = rows(Q, s, sqt, T, D, WIDE, False)
    do = rows(DO, s, sgt, T, D, WIDE, False)
    delta = tl.load(DELTA + s)
    shift = -tl.load(LSE + s)[None, :]
    if KIND == AGE:
        shift += f_s[None, :] - f_s[:, None]
    if KIND == PATH:
        depth = tl.minimum(lowest_within(LOWEST, s, s, P, WITHIN) - psi[:, None], 0.0)
        shift += beta2 * depth
    shift = tl.where(s[None, :] >= s[:, None], shift, -INF)
    ds, dk, dv = key_step(shift, scale2, k, v, q, do, delta, dk, dv, WIDEN)
    put(DK + b * sdb + h * sdh, s, sdt, dk * scale, T, D, WIDE)
    put(DV + b * sdb + h * sdh, s, sdt, dv, T, D, WIDE)
    if KIND == AGE:
        tl.store(DF + bh * P + s, given + tl.sum(ds, 1))
    if KIND == PATH:
        passed = tl.where(depth < 0.0, ds, 0.0)
        tl.store(DPSI + bh * P + s, given + tl.sum(passed, 1))
        cells_within(DCELLS, MASS, s, passed, P, WITHIN, 0)


@triton.jit
def query_step(shift, scale2, q, k, v, do, delta, dq, WIDEN: tl.constexpr):
    """dq with a block of keys added, and the logits' gradient (M, N); shift as in `key_step`."""
    p = tl.exp2(dot(q, tl.trans(k), WIDEN) * scale2 + shift)
    ds = p * (dot(do, tl.trans(v), WIDEN) - delta[:, None])
    return ds, dq + dot(ds.to(k.dtype), k, WIDEN)


@triton.jit
def query_gradients(
    Q, K, V, DO, LSE, DELTA, DQ, F, LOWEST, PSI, BETA, MASS, DF, DCELLS, DBETA, AT, FIRST, ALIVE, COUNT, T, P, H, GROUP, LEVELS,
    scale, scale2,
    sqb, sqh, sqt, skb, skh, skt, svb, svh, svt, sgb, sgh, sgt, sdb, sdh, sdt,
    D: tl.constexpr, WIDE: tl.constexpr, M: tl.constexpr, WITHIN: tl.constexpr, KIND: tl.constexpr, WIDEN: tl.constexpr,
    EXACT: tl.constexpr, SKIP: tl.constexpr,
):  # fmt: skip
    """What a block of M queries owns: DQ, and dF, or DBETA's rows (BH, P) and its cells of DCELLS, where t has bit l set."""
    bh = tl.program_id(0).to(tl.int64)
    i = tl.num_programs(1) - 1 - tl.program_id(1)  # long rows first
    b, h = bh // H, bh % H
    t = i * M + tl.arange(0, M)
    K += b * skb + h // GROUP * skh
    V += b * svb + h // GROUP * svh
    q = rows(Q + b * sqb + h * sqh, t, sqt, T, D, WIDE, False)
    do = rows(DO + b * sgb + h * sgh, t, sgt, T, D, WIDE, False)
    lse = tl.load(LSE + bh * P + t)[:, None]
    delta = tl.load(DELTA + bh * P + t)
    dq = tl.zeros([M, WIDE], tl.float32)
    given = tl.zeros([M], tl.float32)
    runs, LOWEST, MASS, DCELLS = tables_of(bh, LOWEST, MASS, DCELLS, P, LEVELS, WITHIN, KIND)
    if KIND == AGE:
        F += bh * P
        f_t = tl.load(F + t)
    if KIND == PATH:
        PSI += bh * P
        beta2 = tl.load(BETA + bh) * LOG2E
    if SKIP:
        AT += (bh * (P // M) + i) * (P // M)
        FIRST += (bh * (P // M) + i) * (runs + 1)
    for run in range(runs):
        start, stop = keys_of_run(i, run, KIND)
        start, stop = listed(FIRST, run, start, stop, SKIP)
        if KIND == PATH:
            level = (run + WITHIN) * P
            lowest_t = tl.load(LOWEST + level + t)
            mass_t = tl.load(MASS + level + t)
            opened = tl.zeros([M], tl.float32)
            leaned = tl.zeros([M], tl.float32)
        for n in range(start, stop):
            s = block_at(AT, n, SKIP) * M + tl.arange(0, M)
            k = rows(K, s, skt, T, D, WIDE, True)
            v = rows(V, s, svt, T, D, WIDE, True)
            if KIND == NONE:
                shift = -lse
            if KIND == AGE:
                shift = f_t[:, None] - tl.load(F + s)[None, :] - lse
            if KIND == PATH:
                psi = tl.load(PSI + s)
                closed = tl.minimum(tl.load(LOWEST + level + s) - psi, 0.0)
                depth = tl.minimum(closed[None, :], lowest_t[:, None] - psi[None, :])
                shift = beta2 * depth - lse
            ds, dq = query_step(shift, scale2, q, k, v, do, delta, dq, WIDEN)
            if KIND == AGE:
                given += tl.sum(ds, 1)
            if KIND == PATH:
                given += tl.sum(ds * depth, 1)
                passed = tl.where(depth < 0.0, ds, 0.0)
                opened += tl.sum(passed, 1)
                leaned += tl.sum(passed * lean(tl.load(MASS + level + s)[None, :], mass_t[:, None], EXACT), 1)
        if KIND == PATH:
            tl.store(DCELLS + level + t, from_lean(leaned, opened, EXACT), mask=t < tl.where(start < stop, P, 0))

    if SKIP and KIND == PATH:
        ALIVE += (bh * (P // M) + i) * (P // M)
        for n in range(tl.load(COUNT + bh * (P // M) + i)):
            s = tl.load(ALIVE + n) * M + tl.arange(0, M)
            k, v = rows(K, s, skt, T, D, WIDE, True), rows(V, s, svt, T, D, WIDE, True)
            _, dq = query_step(-lse, scale2, q, k, v, do, delta, dq, WIDEN)
    k = rows(K, t, skt, T, D, WIDE, False)
    v = rows(V, t, svt, T, D, WIDE, False)
    shift = -lse
    if KIND == AGE:
        shift += f_t[:, None] - f_t[None, :]
    if KIND == PATH:
        psi = tl.load(PSI + t)
        depth = tl.minimum(lowest_within(LOWEST, t, t, P, WITHIN) - psi[None, :], 0.0)
        shift += beta2 * depth
    shift = tl.where(t[:, None] >= t[None, :], shift, -INF)
    ds, dq = query_step(shift, scale2, q, k, v, do, delta, dq, WIDEN)
    if KIND == AGE:
        tl.store(DF + bh * P + t, given + tl.sum(ds, 1))
    if KIND == PATH:
        tl.store(DBETA + bh * P + t, given + tl.sum(ds * depth, 1))
        cells_within(DCELLS, MASS, t, tl.where(depth < 0.0, ds, 0.0), P, WITHIN, 1)
    put(DQ + b * sdb + h * sdh, t, sdt, dq * scale, T, D, WIDE)

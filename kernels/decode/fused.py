"""One query row against cached keys in Triton: the keys are split among programs, whose partial softmaxes a second kernel combines.

A program owns one head of keys and a contiguous share of its blocks, and serves all query heads that read it, so that a key is
loaded once. FPA's depth r of each of its keys is lowered by the new token and stored on the way: 12 bytes a key and query head.
Every element has one writer: two runs agree bitwise. KIND is as in `loop`. The interpreter's bf16 is widened, as there.
"""

import torch
import triton
import triton.language as tl

from attnprobe.kernels import launch, loop
from attnprobe.kernels.launch import wide
from attnprobe.kernels.listing import Listed
from attnprobe.kernels.loop import AGE, INF, LOG2E, NONE, PATH, absorbed, dot, put, rows

PROGRAMS = 264  # two for each of an H200's 132 multiprocessors, shared among the heads of keys
MOST_SPLITS = 64
KINDS = {"none": NONE.value, "fox": AGE.value, "fpa": PATH.value}
OPTIONS = {"num_warps": 4, "num_stages": 3}


def attention(q, k, v, kept, bias="none", level=None, depth=None, now=None, beta=None, *, scale=None, splits=None):
    """softmax over the first kept keys of scale q . k_s + bias_s, times v: (B, H, D). FPA lowers `depth` in place first.

    Shapes: q (B, H, D), k and v (B, G, S, D), G dividing H, kept (B, G) int64 >= 1. bias "fox": level F (B, H, S) and now, F of
    the query (B, H); "fpa": level psi and depth r (B, H, S), now phi of the query (B, H), beta (B, H), all fp32 and contiguous.
    splits: programs a head of keys, unless given as many as fill a GPU.
    """
    B, G, S, D = k.shape
    H = q.shape[1]
    N = keys_of_block(D, k.element_size())
    splits = splits or min(-(-PROGRAMS // (B * G)), -(-S // N), MOST_SPLITS)
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    partial = torch.empty(B, H, splits, D, dtype=torch.float32, device=q.device)
    tops, totals = (torch.empty(B, H, splits, dtype=torch.float32, device=q.device) for _ in range(2))
    level, depth, now, beta = (tops if x is None else x for x in (level, depth, now, beta))
    widen = loop.INTERPRETED and q.dtype == torch.bfloat16
    shape = {"D": D, "WIDE": wide(D)}
    q = q.contiguous()
    with torch.cuda.device_of(q):
        decode_partials[B * G, splits](
            q, k, v, kept, level, depth, now, beta, partial, tops, totals, S, H, G, H // G, splits, D**-0.5 if scale is None else scale,
            *launch.strides(k, v), HEADS=heads_of_tile(H // G), N=N, KIND=KINDS[bias], WIDEN=widen, **shape, **OPTIONS,
        )  # fmt: skip
        decode_combine[(B * H,)](partial, tops, totals, o, splits, SPLITS=triton.next_power_of_2(splits), **shape)
    return o


def keys_of_block(head_dim, bytes_an_element):
    return 16 if bytes_an_element * head_dim > 256 else 64  # of fp32 at 128 dimensions, 32 keys spill


def heads_of_tile(group):
    """Query heads padded to what the matrix units take."""
    return max(16, triton.next_power_of_2(group))


@triton.jit
def decode_partials(
    Q, K, V, KEPT, LEVEL, DEPTH, NOW, BETA, PARTIAL, TOPS, TOTALS, S, H, G, GROUP, COUNT, scale, skb, skg, sks, svb, svg, svs,
    D: tl.constexpr, WIDE: tl.constexpr, HEADS: tl.constexpr, N: tl.constexpr, KIND: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    """The softmax of the split's keys for the group's query heads: PARTIAL (B, H, COUNT, D) not divided by TOTALS (B, H, COUNT)."""
    bg = tl.program_id(0).to(tl.int64)
    split = tl.program_id(1)
    b, g = bg // G, bg % G
    own = tl.arange(0, HEADS)
    h = b * H + g * GROUP + own
    served = own < GROUP
    K += b * skb + g * skg
    V += b * svb + g * svg
    kept = tl.load(KEPT + bg).to(tl.int32)
    blocks = tl.cdiv(kept, N)
    each = tl.cdiv(blocks, COUNT)
    q = rows(Q + (b * H + g * GROUP) * D, own, D, GROUP, D, WIDE, False)
    top = tl.full([HEADS], -INF, tl.float32)
    total = tl.zeros([HEADS], tl.float32)
    out = tl.zeros([HEADS, WIDE], tl.float32)
    if KIND != NONE:
        now = tl.load(NOW + h, mask=served, other=0.0)
    if KIND == PATH:
        beta2 = tl.load(BETA + h, mask=served, other=0.0) * LOG2E
    for j in range(split * each, tl.minimum((split + 1) * each, blocks)):
        s = j * N + tl.arange(0, N)
        scores = dot(q, tl.trans(rows(K, s, sks, kept, D, WIDE, False)), WIDEN) * (scale * LOG2E)
        held = served[:, None] & (s < kept)[None, :]
        at = h[:, None] * S + s[None, :]
        if KIND != NONE:
            apart = now[:, None] - tl.load(LEVEL + at, mask=held, other=0.0)
        if KIND == AGE:
            scores += LOG2E * apart
        if KIND == PATH:
            depth = tl.load(DEPTH + at, mask=held, other=0.0)
            depth = tl.where((s < kept - 1)[None, :], tl.minimum(depth, apart), depth)
            tl.store(DEPTH + at, depth, mask=held)
            scores += beta2[:, None] * depth
        scores = tl.where((s < kept)[None, :], scores, -INF)
        top, total, out = absorbed(scores, rows(V, s, svs, kept, D, WIDE, False), top, total, out, WIDEN)
    at = h * COUNT + split
    put(PARTIAL + (b * H + g * GROUP) * COUNT * D + split * D, own, COUNT * D, out, GROUP, D, WIDE)
    tl.store(TOPS + at, top, mask=served)
    tl.store(TOTALS + at, total, mask=served)


@triton.jit
def decode_combine(PARTIAL, TOPS, TOTALS, O, COUNT, D: tl.constexpr, WIDE: tl.constexpr, SPLITS: tl.constexpr):
    """O (B, H, D) of the splits' sums, each brought to one maximum. A split without keys has total 0 and top -inf."""
    bh = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, SPLITS)
    tops = tl.load(TOPS + bh * COUNT + i, mask=i < COUNT, other=-INF)
    scaled = tl.exp2(tops - tl.max(tops, 0))
    total = tl.sum(tl.load(TOTALS + bh * COUNT + i, mask=i < COUNT, other=0.0) * scaled, 0)
    partial = rows(PARTIAL + bh * COUNT * D, i, D, COUNT, D, WIDE, False)
    d = tl.arange(0, WIDE)
    o = tl.sum(partial * scaled[:, None], 0) / total
    tl.store(O + bh * D + d, o.to(O.dtype.element_ty), mask=d < D)


def kernels(head_dim, dtype):
    """For the gate: up to sixteen query heads a head of keys, of each kind of bias, and the combination of 32 splits."""
    bytes_an_element = 4 if dtype == "fp32" else 2
    shape = {"D": head_dim, "WIDE": wide(head_dim)}
    types = {"G": "i32", "COUNT": "i32"} | {"S": "i32:16", "KEPT": "*i64"}
    types |= dict.fromkeys(("skb", "skg", "sks", "svb", "svg", "svs"), "i32:16")
    tile = {"HEADS": heads_of_tile(1), "N": keys_of_block(head_dim, bytes_an_element), "WIDEN": False}
    for name, kind in (("softmax", NONE), ("fox", AGE), ("fpa", PATH)):
        yield Listed(f"{name} decode_partials", decode_partials, shape | tile | {"KIND": kind.value}, OPTIONS, types)
    yield Listed("combine decoded", decode_combine, shape | {"SPLITS": 32}, {}, types)

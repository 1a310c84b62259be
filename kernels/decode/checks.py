"""Checks what a cache is given, and says what would be right."""

from numbers import Real

import torch

from attnprobe.kernels import arguments

FIELDS = {"none": (), "fox": ("log_f",), "fpa": ("phi", "psi")}
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def names(bias):
    """The names of a bias' fields."""
    if bias not in tuple(FIELDS):
        raise ValueError(f"bias must be one of {', '.join(FIELDS)}, not {bias!r}")
    return FIELDS[bias]


def sizes(B, G, H, D, bias):
    """Those of an empty cache."""
    for name, size in {"B": B, "G": G, "H": H, "D": D}.items():
        arguments.whole(name, size, 1, meaning={"D": ", the head dimension"}.get(name, ""))
    if H % G:
        raise ValueError(f"H query heads must be a multiple of the G = {G} heads of keys, not {H}")
    names(bias)


def prompt(k, v, lengths, bias, fields, beta):
    """What a cache starts from; see `Cache`."""
    arguments.floating(k=k, v=v)
    arguments.tensors(lengths=lengths)
    if k.dim() != 4 or k.shape != v.shape or k.dtype != v.dtype:
        raise ValueError(f"k and v must be (B, G, S, D) of one dtype, not {of(k)} and {of(v)}")
    B, G, S, D = k.shape
    if min(B, G, D) < 1:
        raise ValueError(f"k and v must have a sequence, a head and a head dimension of at least 1, not {of(k)}")
    if lengths.shape != (B,) or lengths.dtype not in INTEGERS or min(lengths.tolist()) < 0 or max(lengths.tolist()) > S:
        raise ValueError(f"lengths must be (B,) = ({B},) integers from 0 to S = {S}, not {lengths.tolist()} of {lengths.dtype}")
    by_query_head(bias, fields, (B, None, S))
    if fields and (fields[0].shape[1] < 1 or fields[0].shape[1] % G):
        raise ValueError(f"H query heads must be a multiple of the G = {G} heads of keys, not {fields[0].shape[1]}")
    if (beta is None) == (bias == "fpa"):
        raise ValueError(f"beta is for bias 'fpa', which needs it, and for no other: not {beta} with {bias!r}")
    if beta is not None:
        strength(beta if torch.is_tensor(beta) else torch.tensor(arguments.number("beta", beta)), (B, fields[0].shape[1]))


def fits(k):
    """Keys that the fused kernel can serve."""
    from attnprobe.kernels.launch import DTYPES, WIDEST

    if k.dtype not in DTYPES or k.shape[-1] > WIDEST:
        raise ValueError(
            f"the fused kernel needs float32, float16 or bfloat16 and head_dim 1..{WIDEST}, not {of(k)}; "
            "PROBE_KERNELS=reference computes any"
        )


def strength(beta, shape):
    """beta, one number or one a query head: positive, so that a bias never rises."""
    if beta.dim() > 2 or any(n not in (1, m) for n, m in zip(reversed(beta.shape), reversed(shape), strict=False)):
        raise ValueError(f"beta must be broadcastable to (B, H) = {shape}, not {tuple(beta.shape)}")
    if not (beta > 0).all():
        raise ValueError(f"beta must be positive, or the bias of a key could rise again, not {float(beta.min())}")


def step(cache, q, k, v, fields, scale, splits):
    """One token for every sequence of a cache."""
    arguments.tensors(q=q, k=k, v=v)
    if scale is not None:
        arguments.number("scale", scale)
    if splits is not None:
        arguments.whole("splits", splits, 1, meaning=", programs a head of keys")
    B, G, _, D = cache.k.shape
    if tuple(k.shape) != (B, G, D) or k.shape != v.shape:
        raise ValueError(f"k and v must be one token's, (B, G, D) = {(B, G, D)}, not {of(k)} and {of(v)}")
    heads = cache.heads or (q.shape[1] if q.dim() == 3 and q.shape[1] % G == 0 else G)
    if tuple(q.shape) != (B, heads, D):
        raise ValueError(f"q must be (B, H, D) = {(B, heads, D)}, H by the fields or a multiple of G = {G}, not {of(q)}")
    for name, x in zip("qkv", (q, k, v), strict=True):
        if (x.dtype, x.device) != (cache.k.dtype, cache.k.device):
            raise ValueError(f"{name} must be {cache.k.dtype} on {cache.k.device}, as the cache is, not {x.dtype} on {x.device}; use .to()")
    by_query_head(cache.bias, fields, (B, heads))


def by_query_head(bias, fields, shape):
    """The fields of a bias, each of this shape, where None stands for as many heads as the first has."""
    wanted = names(bias)
    if not isinstance(fields, list | tuple):
        raise ValueError(f"fields must be a list of tensors, ({', '.join(wanted)}) for bias {bias!r}, not {arguments.shown(fields)}")
    if len(fields) != len(wanted):
        raise ValueError(f"bias {bias!r} takes {len(wanted)} fields ({', '.join(wanted) or 'none'}), not {len(fields)}")
    arguments.floating(**dict(zip(wanted, fields, strict=True)))
    heads = fields[0].shape[1] if fields and fields[0].dim() > 1 else "H"
    shape = tuple(heads if size is None else size for size in shape)
    for name, x in zip(wanted, fields, strict=True):
        if tuple(x.shape) != shape:
            raise ValueError(f"{name} must be ({', '.join(map(str, shape))}), by query head, not {of(x)}")


def threshold(bias, value):
    """A bias below which keys are evicted."""
    if bias == "none":
        raise ValueError("a cache without a bias has no key to evict: any may be attended to again")
    if not (isinstance(value, Real) and value < 0):
        raise ValueError(f"threshold must be below 0, the bias of a key that nothing has closed, not {arguments.shown(value)}")


def of(x):
    """A tensor's shape and dtype."""
    return f"{tuple(x.shape)} {x.dtype}"

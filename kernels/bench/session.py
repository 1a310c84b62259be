"""The parts of a benchmark, each a generator of rows: what is compiled, whether it is right, a sweep of tiles, the table, decoding.

Where there is no GPU, or no time is left, a row says measured = False and why, and carries no time.
"""

import time
from dataclasses import asdict

import torch

from attnprobe.kernels.bench import cases, errors, timing
from attnprobe.kernels.bench.cases import Case, inputs
from attnprobe.kernels.bench.fields import CLOSED, dead_share
from attnprobe.kernels.bench.providers import PROVIDERS
from attnprobe.kernels.decode import Cache
from attnprobe.kernels.launch import Tiles

MODES = ("forward", "both", "decode")
TOKENS = 2**15  # B T of a timed case, so that all are of a size
WIDTH = 1024  # H D
CHECKED = (Case(1, 2, 129, 64), Case(2, 2, 1000, 64, dead=0.5), Case(1, 2, 520, 128))  # of awkward lengths
SWEPT = {
    64: (Tiles(), Tiles(128, 64, 64, 8, 8), Tiles(64, 64, 64, 4, 4), Tiles(128, 128, 64, 8, 4, 2, 2)),
    128: (Tiles(128, 64, 32, 8, 8, 2, 2), Tiles(128, 32, 32, 8, 8), Tiles(64, 64, 32, 4, 8, 2, 2), Tiles(128, 64, 64, 8, 8, 2, 1)),
}
SWEPT_PROVIDERS = ("softmax", "fox", "fpa")  # one loop, whose tiles the others take
NO_GPU = "no CUDA device"
NO_TIME = "no time was left"


def cases_of(lengths, head_dims, dead):
    """The timed cases: B T tokens and H D in all alike; the largest D, share of dead tiles and T last, should time be short."""
    return [Case(max(1, TOKENS // T), WIDTH // D, T, D, share) for D in head_dims for share in dead for T in lengths]


def compiled(head_dim, arch=90):
    """Of every kernel that the compiler makes for sm_`arch`, bf16: what its hot loop is of, and on sm_90 its floors on an H200."""
    from attnprobe.kernels import compile as gate
    from attnprobe.kernels.bench import floors

    for listed in gate.kernels(head_dim, "bf16"):
        use = gate.measured(listed, "bf16", arch)
        found = floors.floors(listed.name, use, listed.constants, listed.options, floors.Shape(D=head_dim)) if arch == 90 else None
        yield {"kernel": listed.name, "head_dim": head_dim, **use, "floors": found}


def checked(deadline, shapes=CHECKED):
    """The errors of every provider at a few shapes, o and gradients, against float64."""
    for case in shapes:
        for name in PROVIDERS:
            about = {"provider": name, "T": case.T, "D": case.D}
            if time.monotonic() > deadline:
                yield about | {"measured": False, "why": NO_TIME}
                continue
            try:
                yield from (about | found | {"measured": True} for found in errors.check(case, [name]))
            except (RuntimeError, MemoryError) as error:
                yield about | {"measured": False, "why": first_line(error)}


def swept(deadline, clock, rounds=10, T=4096):
    """Times of our kernels under several tiles: which of them a GPU should be given."""
    for D, choices in SWEPT.items():
        x = inputs(cases_of([T], [D], [0.0])[0])
        for name in SWEPT_PROVIDERS:
            for mode in ("forward", "both"):
                functions = {tiles: call(PROVIDERS[name], x, mode, tiles) for tiles in choices}
                found, why = measured(functions, clock, rounds, deadline)
                for tiles in choices:
                    yield {"provider": name, "D": D, "T": T, "mode": mode, "tiles": asdict(tiles)} | result(found, why, tiles)


def timed(case, mode, clock, rounds, deadline):
    """A row a provider: its times at a case, beside softmax's, FoX's and SDPA's, and the bytes it needs."""
    about = asdict(case) | {"dtype": str(case.dtype).removeprefix("torch."), "mode": mode}
    names = DECODERS if mode == "decode" else PROVIDERS
    if clock is None or time.monotonic() > deadline:
        yield from (about | {"provider": name, "measured": False, "why": NO_TIME if clock else NO_GPU} for name in names)
        return
    x = inputs(case)
    about |= {"dead_tiles": dead_share(x.phi.detach(), x.psi.detach(), x.beta.detach(), cases.BLOCK), "threshold": CLOSED}
    functions, refused = {}, {}
    for name in names:
        try:
            functions[name] = decoder(name, x) if mode == "decode" else call(PROVIDERS[name], x, mode)
            functions[name]()
        except (RuntimeError, MemoryError) as error:
            functions.pop(name, None)
            refused[name] = first_line(error)
    found, why = measured(functions, clock, rounds, deadline)
    for name in names:
        row = about | {"provider": name} | result(found, refused.get(name, why), name)
        if row["measured"]:
            row["peak_bytes"] = timing.peak(functions[name])
            row |= {f"of_{other.replace(' ', '_')}": row["median"] / found[other]["median"] for other in found if other in BESIDE}
        yield row


BESIDE = ("softmax", "fox", "fpa", "sdpa flash", "sdpa cudnn", "flex fpa", "sdpa")
DECODERS = ("sdpa", "softmax", "fox", "fpa", "fpa evicted")


def call(provider, x, mode, tiles=None):
    """A function of nothing: the forward pass, or that and the backward pass to the provider's leaves."""
    x = cases.detached(x) if mode == "forward" else x
    run = provider.build(x, tiles) if tiles else provider.build(x)
    if mode == "forward":
        return run
    leaves = [getattr(x, leaf) for leaf in provider.leaves]
    return lambda: torch.autograd.grad(run(), leaves, x.do)


def decoder(name, x):
    """A function of nothing that gives the newest row of x against all of its keys, or those that eviction leaves."""
    x = cases.detached(x)
    q = x.q[:, :, -1].contiguous()
    if name == "sdpa":
        return lambda: torch.nn.functional.scaled_dot_product_attention(q[:, :, None], x.k, x.v)
    from attnprobe.kernels.decode import fused

    B, _, T, _ = x.k.shape
    bias = {"softmax": "none", "fox": "fox"}.get(name, "fpa")
    fields = {"none": (), "fox": (x.log_f,), "fpa": (x.phi, x.psi)}[bias]
    cache = Cache(x.k, x.v, torch.full((B,), T, device=q.device), bias, fields, x.beta if bias == "fpa" else None)
    if name == "fpa evicted":
        cache.evict(CLOSED)
    now = x.phi[..., -1].contiguous() if bias == "fpa" else cache.now
    return lambda: fused.attention(q, cache.k, cache.v, cache.kept, bias, cache.level, cache.depth, now, cache.beta)


def measured(functions, clock, rounds, deadline):
    """Interleaved times of the functions, and why there are none."""
    if clock is None:
        return {}, NO_GPU
    if time.monotonic() > deadline:
        return {}, NO_TIME
    return timing.interleaved(functions, clock, rounds), None


def result(found, why, name):
    return {"measured": True} | found[name] if name in found else {"measured": False, "why": why}


def first_line(error):
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__

"""Who may change what: no position its past, no example another, no seed another; and sizes that are awkward."""

from __future__ import annotations

from dataclasses import replace

import torch

from attnprobe.probes.checks.case import LENGTHS, apart, finite, moved, told
from attnprobe.probes.checks.findings import Failed

CLOSE = 1e-9  # of float64 results that sum in another order
LONG = 33  # positions, for what goes by blocks
SIZES = (1, 1, 1), (2, 1, 2), (1, 2, 1), (3, 9, 2)  # batch, positions, heads


def causality(case):
    """A later token changes no earlier output bit, and a prefix alone gives what it gives in a longer sequence."""
    lengths = [case.seq_len, *([LONG] if fits(case.mixer, LONG) and case.seq_len < LONG else [])]
    for length in lengths:
        long = case.of(seq_len=length)
        before = long.output()
        for t in range(1, length):
            x = long.x.clone()
            x[:, :, t:] = 3 * long.noise("later", long.batch, length - t, x.shape[-1])
            if found := moved(before[:, :, :t], long.output(x=x)[:, :, :t]):
                raise Failed(f"position {found[0][2]} sees the future: tokens from position {t} on change it {told(found)}")
    return f"a later token changes no earlier output bit ({' and '.join(map(str, lengths))} positions); {prefix(case)}"


def prefix(case):
    """What is said of a prefix alone. Raises Failed where it gives another output than in a longer sequence."""
    if draws_an_order(case):
        return "a prefix alone is not asked of a routing that orders each length anew"
    length = next((length for length in (LONG, *LENGTHS) if length > case.seq_len and fits(case.mixer, length)), None)
    if length is None:
        return f"a prefix alone is not asked, since no length above {case.seq_len} that is tried fits the routing"
    long = case.of(seq_len=length)
    alone = case.output(x=long.x[:, :, : case.seq_len].contiguous())
    if found := apart(long.output()[:, :, : case.seq_len], alone, CLOSE):
        what = f"position {found[0][2]} is {found[2]:.6g} in a sequence of {case.seq_len} and {found[1]:.6g} at the start of {length}"
        raise Failed(f"{what}: an output depends on how many positions come after it, which is the future")
    return f"the first {case.seq_len} of {length} give what they give alone"


def draws_an_order(case):
    """Whether the masks of a routing differ between seeds: it draws from them, an order of all positions at each length."""
    q, k = case.projected()
    draws = case.draw(), replace(case.draw(), seed_ids=tuple(seed + len(case.seeds) for seed in case.seeds))
    first, second = (case.mixer.routing.masks(q, k, draw) for draw in draws)
    return any(not torch.equal(*torch.broadcast_tensors(a, b)) for a, b in zip(first, second, strict=True))


def batch(case):
    """An example changes no other's output bit."""
    before = case.output()
    for example in range(case.batch):
        x = case.x.clone()
        x[:, example] = case.noise("other", case.seq_len, x.shape[-1])
        found = moved(*(torch.where(others(case.batch, example)[:, None, None], out, 0) for out in (before, case.output(x=x))))
        if found:
            raise Failed(f"example {found[0][1]} sees example {example}, which changes it {told(found)}")
    return f"an example changes no other's output bit ({case.batch} examples)"


def seeds(case):
    """A stack of seeds gives what each gives alone, and a seed changes no other's output bit."""
    stacked = case.output()
    for n, seed in enumerate(case.seeds):
        alone = case.of(seeds=(seed,)).output()
        if found := apart(stacked[n : n + 1], alone, CLOSE):
            what = f"seed {n} of a stack gives {found[1]:.6g} where it gives {found[2]:.6g} alone"
            raise Failed(f"{what} (at example {found[0][1]}, position {found[0][2]}): the seed axis is ignored, or seeds are mixed")
    for n in range(len(case.seeds)):
        p, x = ({k: v.clone() for k, v in case.p.items()}, case.x.clone())
        for value in (*p.values(), x):
            value[n] += 1
        found = moved(*(torch.where(others(len(case.seeds), n)[:, None, None, None], out, 0) for out in (stacked, case.output(p, x))))
        if found:
            raise Failed(f"seed {found[0][0]} sees seed {n}, which changes it {told(found)}")
    return f"a stack of {len(case.seeds)} gives what each seed gives alone; no seed changes another's output bit"


def rows(case):
    """The last rows asked for alone are those of all rows."""
    every = case.output()
    for count in (1, 3, case.seq_len - 1):
        if found := apart(every[:, :, -count:], case.output(rows=count), CLOSE):
            what = f"of the last {count} rows, row {found[0][2]} is {found[2]:.6g} where that of all rows is {found[1]:.6g}"
            raise Failed(f"{what}: with T rows of S positions, row 0 is position S - T (or declare every_row)")
    return f"the last 1, 3 and {case.seq_len - 1} rows are those of all {case.seq_len}"


def shapes(case):
    """Awkward sizes give outputs of the right shape."""
    tried = []
    for B, T, H in SIZES:
        small = case.of(batch=B, seq_len=T, num_heads=H)
        if not fits(case.mixer, T):
            continue
        right_shape(small)
        tried.append(f"{B} x {T} x {H}")
    right_shape(case.of(seeds=(0,)))
    return f"batch x positions x heads: {', '.join([*tried, f'{case.batch} x {case.seq_len} x {case.num_heads}'])}"


def right_shape(case):
    """Raise Failed unless the output is (N, B, T, M) and finite."""
    out, want = case.output(), tuple(case.x.shape)
    if tuple(out.shape) != want:
        raise Failed(f"{sizes(case)}: the output is {tuple(out.shape)}, not {want}")
    finite(out, sizes(case))


def fits(mixer, seq_len):
    """Whether a routing takes sequences of this length."""
    try:
        mixer.routing.fits(seq_len)
    except ValueError:
        return False
    return True


def others(count, one):
    """True but at `one`: (count,)."""
    return torch.arange(count) != one


def sizes(case):
    """A case's sizes in words."""
    return f"batch {case.batch}, {case.seq_len} positions, {case.num_heads} heads, head_dim {case.head_dim}"

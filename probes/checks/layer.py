"""Who may change what: no position its past, no example another, no seed another; and sizes that are awkward."""

from __future__ import annotations

import torch

from attnprobe.probes.checks.case import apart, finite, moved, told
from attnprobe.probes.checks.findings import Failed

CLOSE = 1e-9  # of float64 results that sum in another order
LONG = 33  # positions, for what goes by blocks
SIZES = (1, 1, 1), (2, 1, 2), (1, 2, 1), (3, 9, 2)  # batch, positions, heads


def causality(case):
    """A later token changes no earlier output bit."""
    lengths = [case.seq_len, *([LONG] if fits(case.mixer, LONG) and case.seq_len < LONG else [])]
    for length in lengths:
        long = case.of(seq_len=length)
        before = long.output()
        for t in range(1, length):
            x = long.x.clone()
            x[:, :, t:] = 3 * long.noise("later", long.batch, length - t, x.shape[-1])
            if found := moved(before[:, :, :t], long.output(x=x)[:, :, :t]):
                raise Failed(f"position {found[0][2]} sees the future: tokens from position {t} on change it {told(found)}")
    return f"a later token changes no earlier output bit ({' and '.join(map(str, lengths))} positions)"


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

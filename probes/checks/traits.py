"""What a bias and a normaliser are, measured at random parameters and inputs: the properties that theorems are about.

A measurement is no proof: a property that holds on every case here may fail elsewhere. Where one does not hold, a case was found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from attnprobe.probes.batch import stack
from attnprobe.probes.checks.case import Case
from attnprobe.probes.loading import PREFIX
from attnprobe.probes.mixers.attention import scoped
from attnprobe.probes.model import Model
from attnprobe.probes.spec import DEFAULTS, REGISTRIES, Spec, parse
from attnprobe.probes.tasks.ladder import Ladder

SAME = 1e-9  # relative to the largest bias: two values closer than this count as one
SEEDS, BATCH, LENGTH = tuple(range(4)), 3, 9
REPEATED = tuple(range(16)), 8  # seeds and examples of repeated tokens
RUNGS = 5  # of the ladder on whose 16 words offsets are compared


@dataclass(frozen=True)
class Trait:
    """name; value: whether it holds, None where it was not measured; text: what was measured."""

    name: str
    value: bool | None
    text: str


def traits(mixer):
    """The Traits of a MixerSpec's bias, if it has one, and of its normaliser."""
    return [*(bias_traits(mixer.bias) if mixer.bias.adds else []), *normaliser_traits(mixer)]


def bias_traits(bias):
    """The Traits of a bias alone, on plain keys."""
    mixer = replace(parse("softmax").layers[0], bias=bias)
    case = Case(mixer, seeds=SEEDS, batch=BATCH, seq_len=LENGTH)
    b = case.bias()
    most = float(b.tril().abs().max())
    return [
        content_free(case, b, most),
        reads_scores(case, b, most),
        shared(b, most),
        separable(b, most),
        additive(b, most),
        falling(b, most),
        lasting(mixer),
        order_blind(mixer),
    ]


def trait(name, largest, most, holds, fails, invert=False):
    """A Trait that holds where a difference `largest` is nothing beside `most`, the largest bias. fails: a text with {} for the ratio."""
    same = largest <= SAME * most
    return Trait(name, same != invert, holds if same else fails.format(f"{largest / most:.2g} of the largest bias"))


def content_free(case, b, most):
    """Whether the bias is a function of positions alone."""
    other = case.bias(x=case.noise("other", BATCH, LENGTH, case.x.shape[-1]))
    largest = float((other - b).tril().abs().max())
    return trait("content-free", largest, most, "other tokens leave it as it is", "other tokens change it by up to {}")


def reads_scores(case, b, most):
    """Whether the bias depends on the scores it is added to."""
    other = case.bias(scores=case.noise("scores", *b.shape[1:]))
    largest = float((other - b).tril().abs().max())
    return trait("reads-scores", largest, most, "other scores leave it as it is", "other scores change it by up to {}", invert=True)


def shared(b, most):
    """Whether the heads of a layer have one bias."""
    largest = float((b - b[:, :, :1]).tril().abs().max())
    return trait("shared", largest, most, "the layer's heads have one bias", "two heads' biases differ by up to {}")


def separable(b, most):
    """Whether b_ts = F_t - G_s: its mixed second differences, over keys before both queries, vanish."""
    mixed = b[..., 1:, 1:] - b[..., 1:, :-1] - b[..., :-1, 1:] + b[..., :-1, :-1]
    largest = float(mixed.tril(-2).abs().max())
    return trait("separable", largest, most, "F_t - G_s: mixed differences vanish", "mixed differences reach {}")


def additive(b, most):
    """Whether b_ts = b_tu + b_us for s < u < t, so that b_ts = F_t - F_s, as FoX has it."""
    step = b.diagonal(-1, dim1=-2, dim2=-1)[..., None]  # b_{t,t-1}
    rest = (b[..., 1:, :-1] - step - b[..., :-1, :-1]).tril(-1)  # row t, column s: b_ts - b_{t,t-1} - b_{t-1,s}
    largest = float(rest.abs().max())
    return trait("additive", largest, most, "F_t - F_s: it adds up along the path", "b_ts - b_tu - b_us reaches {}")


def falling(b, most):
    """Whether the bias on a key never rises as queries go on."""
    rise = (b[..., 1:, :] - b[..., :-1, :])[..., :-1].tril()
    largest = max(0.0, float(rise.max()))
    return trait("falling", largest, most, "on no key does it rise with the query", "on a key it rises by up to {}")


def lasting(mixer):
    """Whether a token that comes twice in a row counts once: the bias on the key before it is the same at either.

    The token is the input 0, which moves no field that is linear in the input: what is repeated is the deepest position, at one depth.
    Where that puts no bias on any key, random tokens decide.
    """
    shares = {what: counted_once(mixer, scale) for what, scale in {"an empty token": 0, "a random token": 1}.items()}
    asked = {what: share for what, share in shares.items() if share is not None}
    if not asked:
        return Trait("duration-blind", None, "not measured: one token puts no bias on the key before it")
    said = [f"{what} that comes twice counts once in {share:.0%} of cases" for what, share in asked.items()]
    return Trait("duration-blind", next(iter(asked.values())) == 1, "; ".join(said))


def counted_once(mixer, scale):
    """The share of cases in which a token's repetition adds nothing to its bias on the key before it, of those where it has one, or None.

    scale: of the token's random content.
    """
    seeds, batch = REPEATED
    long, short = (Case(mixer, seeds=seeds, batch=batch, seq_len=T) for T in (4, 3))
    x = long.x.clone()
    x[:, :, 2] *= scale
    x[:, :, 3] = x[:, :, 2]  # some token, the key, the token, the token
    once, twice = short.bias(x=x[:, :, :3].contiguous())[..., 2, 1], long.bias(x=x)[..., 3, 1]
    least = SAME * float(once.abs().max())
    counted = once < -least
    return float(((twice - once).abs() <= least)[counted].double().mean()) if counted.any() else None


def order_blind(mixer):
    """Whether a ladder's words, which differ in the order of a dip's two steps, all have one vector of offsets, up to a constant."""
    task, name = Ladder(r=RUNGS), "order-blind"
    if mixer.bias.every_row:
        return Trait(name, None, "not measured: it reads every row's scores, and the ladder's query stands in the last row alone")
    model = Model(task.model, Spec((mixer,)), task.head_dim, "cpu")
    case = Case(mixer, seeds=SEEDS)
    p = {key: case.tensor([case.value(init, seed, key) for seed in SEEDS]) for key, init in model.parameters().items()}
    words = (np.arange(task.words)[:, None] >> np.arange(RUNGS - 1) & 1).astype(np.uint8)
    batch = stack([task.encode(words)] * len(SEEDS), "cpu", torch.float64)
    _, offsets = model.head(p, batch, lambda layer: case.draw())
    offsets = offsets[:, :, 0, batch.keys]  # (N, B, r)
    offsets = offsets - offsets[..., -1:]
    most = max(float(offsets.abs().max()), float(np.finfo(float).tiny))
    largest = float((offsets - offsets[:, :1]).abs().max())
    words = f"the {task.words} words of a ladder of {RUNGS}, balanced slot"
    return trait(name, largest, most, f"one vector of offsets for {words}", f"offsets differ between {words}, by up to {{}}")


def normaliser_traits(mixer):
    """The Traits of a normaliser."""
    case = Case(mixer, seeds=SEEDS, batch=BATCH, seq_len=LENGTH)
    p, own = scoped(case.p, "normaliser"), mixer.normaliser
    causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    scores = case.noise("scores", BATCH, case.num_heads, LENGTH, LENGTH)
    w = own(p, scores, causal)
    moved = float((own(p, scores + 1, causal) - w).abs().max())
    zeros = float((w == 0).double()[..., causal].mean())
    low = float(own(p, scores - 10, causal).sum(-1).max())
    ranked = w.take_along_dim(scores.masked_fill(~causal, -torch.inf).argsort(-1), -1)  # by rising score, masked ones first
    drop = float((ranked[..., :-1] - ranked[..., 1:]).max())
    falls = f"a higher score has a weight smaller by up to {drop:.2g}"
    return [
        Trait("monotone", drop <= SAME, "of two keys the higher score has no smaller weight" if drop <= SAME else falls),
        Trait("shift-invariant", moved <= SAME, f"scores plus 1: weights move by {f'up to {moved:.2g}' if moved > SAME else 'nothing'}"),
        Trait("sparse", zeros > 0, f"{100 * zeros:.2g} % of the allowed keys of random rows have weight 0"),
        Trait("can-be-silent", low < 0.01, f"scores less 10: rows sum to at most {low:.2g}"),
    ]


def alike(mixer):
    """The names of the suite's other biases that have the same traits as a MixerSpec's; loaded ones are a user's and are left out."""
    if not mixer.bias.adds:
        return []
    own = values(mixer.bias)
    entries = REGISTRIES["bias"].entries.values()
    suite = [entry.name for entry in entries if not entry.module.startswith(PREFIX)]
    others = {name: REGISTRIES["bias"][name]() for name in suite if name not in (DEFAULTS["bias"], mixer.bias.name)}
    return [name for name, other in others.items() if values(other) == own]


def values(bias):
    """The values of a bias's traits, in order."""
    return [one.value for one in bias_traits(bias)]

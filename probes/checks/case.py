"""A mechanism on trial: one attention layer with random parameters on random inputs of a small, awkward size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from attnprobe.probes.batch import Batch
from attnprobe.probes.checks.findings import Failed
from attnprobe.probes.mixers.attention import Attention, content, scoped
from attnprobe.probes.mixers.parts import Dims, Draw
from attnprobe.probes.mixers.stream import Dense
from attnprobe.probes.model_spec import ModelSpec
from attnprobe.probes.spec import MixerSpec
from attnprobe.probes.stack import draw as draw_init
from attnprobe.probes.streams import stream

MODEL_DIM = 6
LENGTHS = 7, 12, 20, 40, 80, 160, 320, 640  # the first that a routing fits is tried
GATES = ("bias", "normaliser", "routing", "key_filter", "position")


@dataclass(frozen=True)
class Case:
    """A MixerSpec, sizes, and how far parameters are from their start: N(0, spread^2) is added to every one.

    Everything is a function of these: parameters and inputs are drawn from streams named after them.
    """

    mixer: MixerSpec
    seeds: tuple[int, ...] = (0, 1, 2)
    batch: int = 3
    seq_len: int = LENGTHS[0]
    head_dim: int = 4
    num_heads: int = 2
    spread: float = 1.0
    dtype: torch.dtype = torch.float64

    def of(self, **changes):
        """The case with other sizes."""
        return replace(self, **changes)

    @cached_property
    def layer(self):
        """The attention layer."""
        dims = Dims(MODEL_DIM, self.head_dim, self.num_heads, field_std=0.7)
        shape = ModelSpec(
            8, self.seq_len, "learned", "learned", "token", rows=self.seq_len, model_dim=MODEL_DIM, classes=8,
            num_heads=self.num_heads, key_std=1.0, init_std=1.0, output_std=1.0,
        )  # fmt: skip
        return Attention(self.mixer, dims, shape, "cpu")

    @cached_property
    def inits(self):
        """Name -> Init of every parameter of the layer."""
        return self.layer.parameters()

    @property
    def own(self):
        """The names of the parameters that the mechanism's parts declare, not those every attention layer has."""
        return [name for name in self.inits if name.partition(".")[0] in GATES]

    @cached_property
    def p(self):
        """Name -> parameters (N, ...)."""
        return {name: self.tensor([self.value(init, seed, name) for seed in self.seeds]) for name, init in self.inits.items()}

    def value(self, init, seed, name):
        """One seed's value of a parameter."""
        return draw_init(init, seed, name) + self.spread * np.asarray(stream(seed, "check", name).standard_normal(init.shape))

    @cached_property
    def x(self):
        """The layer's input (N, B, T, M)."""
        return self.noise("x", self.batch, self.seq_len, MODEL_DIM)

    def noise(self, name, *shape):
        """Standard normal numbers (N, *shape), drawn a seed at a time."""
        return self.tensor([stream(seed, "check", name).standard_normal(shape) for seed in self.seeds])

    def tensor(self, arrays):
        """A stack of arrays as a tensor of the case's type."""
        return torch.from_numpy(np.stack(arrays)).to(self.dtype)

    def draw(self, number=1):
        """The Draw of a first step in training, or of a test-time draw."""
        return Draw(self.seeds, layer=1, step=0, split="train") if number == 1 else Draw(self.seeds, 1, 0, "test", number)

    def output(self, p=None, x=None, rows=None):
        """What the layer gives, (N, B, rows, M), with other parameters or inputs where given."""
        every = Batch(None, None, None, torch.ones(self.seq_len, dtype=torch.bool))
        x = self.x if x is None else x
        return self.layer(self.p if p is None else p, Dense(x), every, self.draw(), rows or self.seq_len)

    def projected(self, p=None, x=None):
        """Queries and keys (N, B, H, T, D), positions applied and keys filtered."""
        p, x = self.p if p is None else p, Dense(self.x if x is None else x)
        q, k, _ = self.layer.project(p, x, None, self.seq_len)
        return self.layer.position(scoped(p, "position"), q, self.layer.key_filter(scoped(p, "key_filter"), k))

    def bias(self, p=None, x=None, scores=None):
        """The bias of every row (N, B, H, T, S); scores: those of the queries and keys by default."""
        p, x = self.p if p is None else p, self.x if x is None else x
        if scores is None:
            q, k = self.projected(p, x)
            scores = content(self.layer.scale * q, k)
        return self.layer.bias(scoped(p, "bias"), Dense(x), scores, self.draw()).expand_as(scores)


def fitting(mixer):
    """The Case of a mechanism at the shortest of LENGTHS that its routing fits. Raises ValueError where none does."""
    for length in LENGTHS:
        try:
            mixer.routing.fits(length)
        except ValueError as error:
            refused = error
        else:
            return Case(mixer, seq_len=length)
    raise refused


def moved(a, b):
    """Where two tensors differ most: (index, a there, b there), or None where they are equal bit for bit; two NaNs are equal."""
    differs = (a != b) & ~(a.isnan() & b.isnan())
    if not differs.any():
        return None
    size = torch.where(differs, (a - b).abs().nan_to_num(nan=torch.inf), -1.0)
    index = tuple(int(i) for i in np.unravel_index(int(size.argmax()), size.shape))
    return index, a[index].item(), b[index].item()


def apart(a, b, tolerance):
    """`moved`, where the difference is above `tolerance` times the larger of 1 and the largest of either; else None."""
    found = moved(a, b)
    if found is None:
        return None
    scale = max(1.0, *(float(side.abs().nan_to_num(0, 0, 0).max()) for side in (a, b)))
    return None if abs(found[1] - found[2]) <= tolerance * scale else found


def told(found):
    """`from a to b` of what `moved` found, in all their digits: they may differ in the last."""
    return f"from {found[1]!r} to {found[2]!r}"


def finite(value, what):
    """Raise Failed unless a tensor is finite."""
    bad = ~value.isfinite()
    if bad.any():
        at = tuple(bad.nonzero()[0].tolist())
        raise Failed(f"{what}: {value[at].item()} at index {list(at)}")

"""What a part of each axis is: a frozen value that declares its parameters and computes one step of the formula.

A part is a frozen dataclass; its fields are its parameters in a spec string, for instance fir(taps=7,sigma=2). It holds
no tensors: trained parameters come in as `p`, a mapping from the names it declared to tensors with a leading seed axis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

FLOOR = 1e-6  # added to weights that may be 0 before their logarithm, ours


@dataclass(frozen=True)
class Init:
    """Initial value of one parameter (without the seed axis): normal with standard deviation `std`, or the constant `value`.

    frozen: it keeps this value, and training sees no parameter in it; unit: rows are scaled to length 1.
    """

    shape: tuple[int, ...]
    std: float = 0.0
    value: float = 0.0
    frozen: bool = False
    unit: bool = False


@dataclass(frozen=True)
class Dims:
    """What a part needs to know of its layer to declare parameters: sizes, and the starts that a task family fixes.

    field_std: of a bias's linear maps; forget: FoX's gate bias; level: the offset on FPA's psi; pair_std: of the maps of a
    mask of pairs; pair: the offset of Selective's own maps; gain: a normaliser may train a gain on its output (not where the
    output is compared with frozen vectors).
    """

    model_dim: int
    head_dim: int
    num_heads: int
    field_std: float = 0.1
    forget: float = 3.0
    level: float = 1.0
    gain: bool = True
    pair_std: float = 0.3
    pair: float = 0.0


@dataclass(frozen=True)
class Draw:
    """What a random routing is drawn from: the seeds of the stack, the layer (from 1), the step (from 0), "train" or "test".

    number: which of the test-time draws, from 1.
    """

    seed_ids: tuple[int, ...]
    layer: int
    step: int
    split: str
    number: int = 1

    def order(self, length, fixed=False):
        """A permutation of `length` positions for each seed: (N, length). fixed: that of training's step 0, always."""
        import numpy as np

        from attnprobe.probes.streams import stream

        path = (self.layer, 0) if fixed else (self.layer, self.step) if self.split == "train" else ("test", self.number, self.layer)
        return np.stack([stream(seed, "route", *path).permutation(length) for seed in self.seed_ids])


class Part(ABC):
    """A part of any axis, under its `name` in a spec (by @register).

    surrogate: names of its parameters whose gradient is another's on purpose, so that finite differences are not asked of it.
    """

    name: ClassVar[str]
    surrogate: tuple[str, ...] = ()

    @abstractmethod
    def parameters(self, dims):
        """The parameters to train: name -> Init."""


class KeyFilter(Part):
    """Mixes keys along the sequence, before positions.

    pointwise: the key of a position depends on that position alone.
    """

    pointwise = False

    @abstractmethod
    def __call__(self, p, k):
        """k (N, B, H, S, D) -> the same shape."""


class Position(Part):
    """Writes positions into queries and keys."""

    @abstractmethod
    def __call__(self, p, q, k):
        """q (N, B, H, T, D) of the last T positions, k (N, B, H, S, D) of all S -> the same shapes."""


class Bias(Part):
    """Adds a term <= 0 to the scores.

    every_row: a row's bias reads the scores of the rows before it, so that all of them are computed; adds: it is not always 0;
    field: it is of a field along the path, the kind that interventions are on.
    """

    every_row = False
    adds = True
    field = False

    @abstractmethod
    def __call__(self, p, x, scores, draw):
        """x: the layer's input; scores (N, B, H, T, S) of the last T queries -> broadcastable to scores; 0 at s = t.

        draw: a Draw; only an intervention on a bias reads its step.
        """


class FieldBias(Bias):
    """A bias that is made of fields by position, from which a fused kernel makes it tile by tile."""

    @abstractmethod
    def fields(self, p, x):
        """What the kernel takes after q, k and v: tensors (N, B or 1, H, ...) of the layer's input x, S positions last if any."""


class Normaliser(Part):
    """Turns a row of scores into weights."""

    @abstractmethod
    def __call__(self, p, scores, mask):
        """scores (N, B, H, T, S), mask boolean (broadcastable) -> weights, 0 where masked; a row sums to at most 1.

        A row may be silent, all 0. ReLA alone has weights of any sum, whose scale its `finish` removes.
        """

    @abstractmethod
    def log(self, p, scores, mask):
        """The logarithm of the weights that a divergence is taken with: exact, or `floored_log` where weights may be 0."""

    @abstractmethod
    def finish(self, p, output):
        """output (N, B, H, T, D) = weights @ v -> the same shape."""


class FusedNormaliser(Normaliser):
    """A normaliser that a fused kernel computes."""

    @abstractmethod
    def settings(self, p, shift):
        """What the kernel takes of it where `shift` is taken off every score: tensors (N, B or 1, ...), and keywords."""


def floored_log(weights):
    """log(weights + 1e-6): finite where a weight is 0; on the weights as they are, so that mass under 1 counts against them."""
    return (weights + FLOOR).log()


class Floored(Normaliser):
    """A normaliser whose weights may be 0 and are applied as they are."""

    def log(self, p, scores, mask):
        return floored_log(self(p, scores, mask))

    def finish(self, p, output):
        return output


class Routing(Part):
    """Says which keys a query may attend to, along one or more paths. A query always may attend to itself.

    content_free: the masks do not depend on q and k; hides: some key up to the query is left out; random: at test time the
    masks depend on the number of the draw.
    """

    content_free = False
    hides = True
    random = False

    @classmethod
    @abstractmethod
    def of_window(cls, w):
        """The routing whose rows see w keys, or w positions of which the causal ones are seen; ValueError where there is none."""

    @abstractmethod
    def fits(self, seq_len):
        """Raise ValueError, with the reason, where the routing makes no sense on sequences of this length."""

    @abstractmethod
    def masks(self, q, k, draw):
        """q (N, B, H, T, D) of the last T positions, k (N, B, H, S, D), Draw -> masks, each broadcastable to (N, B, H, T, S)."""

    @abstractmethod
    def combine(self, p, x, paths):
        """One result a mask -> one result of the same shape."""


class FusedRouting(Routing):
    """A routing that a fused kernel computes."""

    @abstractmethod
    def windows(self, k, draw):
        """What the kernel takes of each of the masks, in their order: tensors (N, B or 1, ...), and keywords."""


class OnePath(Routing):
    """A routing of one mask, with nothing to train."""

    def parameters(self, dims):
        return {}

    def combine(self, p, x, paths):
        (path,) = paths
        return path

"""Recipe: how an arm is trained, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from attnprobe.probes.fields import check_types

MOST_BATCH = 1 << 14  # sequences a seed and step: a block holds BLOCK times as many


@dataclass(frozen=True)
class Recipe:
    """How an arm is trained: Adam(W), warm-up then cosine to `floor` of lr, gradient clip per seed. batch is a seed's."""

    steps: int = 800
    lr: float = 0.01
    batch: int = 64
    warm_up: int = 50
    floor: float = 0.02
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.0
    clip: float = 1.0

    def __post_init__(self) -> None:
        check_types(self)
        for name, (low, high) in {"steps": (1, 10**7), "batch": (1, MOST_BATCH), "warm_up": (0, 10**7)}.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} must be from {low} to {high}, not {getattr(self, name)}")
        for name in ("lr", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be positive and finite, not {getattr(self, name)}")
        if not 0 <= self.floor <= 1:
            raise ValueError(f"floor must be from 0 to 1, a share of lr, not {self.floor}")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay must be 0 or more, and finite, not {self.weight_decay}")
        if not isinstance(self.betas, tuple) or len(self.betas) != 2 or not all(type(b) in (int, float) and 0 <= b < 1 for b in self.betas):
            raise ValueError(f"betas must be two numbers from 0 to below 1 in a tuple, such as (0.9, 0.98), not {self.betas!r}")
        object.__setattr__(self, "betas", tuple(map(float, self.betas)))  # so that equal values have one name

    def lr_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warm_up:
            return self.lr * (step + 1) / self.warm_up
        done = (step - self.warm_up) / max(1, self.steps - self.warm_up)
        return self.lr * (self.floor + (1 - self.floor) * 0.5 * (1 + math.cos(math.pi * done)))

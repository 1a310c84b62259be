"""Latch: one value early in the sequence, asked for ever after."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.distant import CLASSES, FILLERS, Distant

WINDOW = 16  # keys, of the reader of less
QUARTERS = tuple(f"accuracy@{quarter}/4" for quarter in (1, 2, 3, 4))


@register("latch", paper="ours, for stochastic attention", family="E1")
@dataclass(frozen=True)
class Latch(Distant):
    """Which value was given, once, in the first quarter? A needle, asked for at every position after that quarter.

    128 tokens: fillers of 8 kinds, and at one place of the first 32 one of 8 value tokens; the target at each of the last 96
    positions is that value.

        c  a  f  *5  h  b  ...  |  e  g  a  a  d  ...           at every position after the bar: 5

    A position that has the answer can pass it on, so a window of w keys may carry it w - 1 positions a layer and further.

    Choices of ours: the task itself, model_dim 32, two heads, three layers, 350 steps of batch 8, initial weights, 256 held-out
    sequences, solved = accuracy >= 0.9 at one draw of a random routing.

    An exact reader scores 1. Answers that read less: any one value 0.125; a reader of the last 46 positions, what three
    windows of 16 reach, 0.39; of the last 16 keys alone 0.16; of the fillers 0.125.

    Scores: accuracy, by the distance from the value to the query, in quarters of the sequence (accuracy@1/4: up to a quarter),
    and accuracy8.
    """

    shown = ("accuracy8", *QUARTERS)

    @property
    def rows(self):
        return self.seq_len - self.seq_len // 4

    def sample(self, rng, n):
        import numpy as np

        tokens = rng.integers(0, FILLERS, (n, self.seq_len), dtype=np.uint8)
        place = rng.integers(0, self.seq_len // 4, n, dtype=np.int16)
        value = rng.integers(0, CLASSES, n, dtype=np.uint8)
        tokens[np.arange(n), place] = FILLERS + value
        return self.batch(tokens, value, {"place": place})

    @property
    def readers(self):
        import numpy as np

        at = np.arange(self.seq_len // 4, self.seq_len)  # the rows that ask

        def value(batch):
            return batch.tokens.max(1).astype(int) - FILLERS  # fillers are the lower tokens

        def in_window(batch):
            distance = at - batch.tokens.argmax(1)[:, None]
            return self.said(np.where(distance < WINDOW, value(batch)[:, None], 0))

        def commonest_filler(batch):
            return self.said((batch.tokens[:, :, None] == np.arange(FILLERS)).sum(1).argmax(-1))

        seen = float((at[:, None] - np.arange(self.seq_len // 4) < WINDOW).mean())
        return {
            "exact": (lambda batch: self.said(value(batch)), 1.0),
            "majority": (lambda batch: self.said(np.zeros(len(batch.tokens), int)), 1 / CLASSES),
            "fillers": (commonest_filler, 1 / CLASSES),
            "the last 16 keys": (in_window, seen + (1 - seen) / CLASSES),
        }

    def slices(self, batch):
        import torch

        quarter = self.seq_len // 4
        distance = torch.arange(quarter, self.seq_len, device=batch.tokens.device) - batch.side["place"][..., None]  # (N, B, rows)
        return {name: (distance > i * quarter) & (distance <= (i + 1) * quarter) for i, name in enumerate(QUARTERS)}

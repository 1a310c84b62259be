"""Zoology's basic MQAR configuration in its full shape, to time a step of: every position is read out over the whole vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, replace

from attnprobe.probes.tasks.mqar import Mqar

SECONDS, YARDSTICK = (0.135, 0.149), 79.0  # process seconds of Zoology's own step, from and to, on a core of so many GFLOP a second
WIDTH = 128


@dataclass(frozen=True)
class ZoologyBasic(Mqar):
    """Two layers of width 128, one head, an MLP of four times the width, T = 64, 256 tokens, 4 pairs, 32 sequences a step."""

    seq_len: int = 64
    vocabulary: int = 256

    head_dim = WIDTH

    @property
    def model(self):
        return replace(super().model, model_dim=WIDTH, mlp=4 * WIDTH, classes=self.vocabulary, rows=self.seq_len)

    def sample(self, rng, n):
        import numpy as np

        batch = super().sample(rng, n)
        target = np.full(batch.tokens.shape, self.nothing, np.int16)
        np.put_along_axis(target, batch.scored.astype(np.intp), batch.target + np.int16(self.vocabulary // 2), 1)
        return replace(batch, target=target, scored=np.arange(self.seq_len))

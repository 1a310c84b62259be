"""The ladder: attend uniformly to the rungs whose later dips spared them, for every one of the 2^(r-1) dip patterns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.task import Task, check_oracle

THRESHOLD = 0.1  # mean KL(target || weights), nats
MARGIN = 1e-9  # of the largest |logit|: two logits closer than this do not separate
EXHAUSTIVE = 18  # the largest r whose 2^(r-1) words are all evaluated
SAMPLED_WORDS = 4096
CHUNK = 1 << 11  # words evaluated at once
LARGEST = 64


@register("ladder", paper="FPA, one-layer probes", family="B1")
@dataclass(frozen=True)
class Ladder(Task):
    """Which rungs are still alive after the dips: one attention head, 2^(r-1) sets.

    Rung i lifts the walk by one and writes key i at level i. After each rung but the last stands a slot of two steps:
    (down, up) = a dip, which kills rung i alone, or (up, down) = none. Every word has the same keys and the same multiset
    of steps, so that a bias that only adds up steps cannot tell two words apart. r = 3, dips (yes, no):

        rung1 down up   rung2 up down   rung3 query        alive: rung2 rung3    target: 0 1/2 1/2
          1    0   1      2    3   2      3

    Choices of ours, not stated by the source: the balanced slot (`--slot plain` writes (nop, nop) for "no dip": there a
    forget gate sees the dips, and the rank bound does not hold for it); the query is the dip pattern through an MLP, for
    every arm alike, so that the head alone is compared; solved = mean KL(target || weights) <= 0.1 over all words; initial weights.
    """

    r: int = field(default=10, metadata={"help": "Rungs; there are 2^(r-1) alive sets."})
    slot: Literal["balanced", "plain"] = field(
        default="balanced", metadata={"help": "What stands for 'no dip': (up, down), or (nop, nop), which a forget gate sees."}
    )
    evaluate: Literal["auto", "exhaustive", "sampled"] = field(
        default="auto", metadata={"help": f"All words, 4096 fixed ones, or all up to r = {EXHAUSTIVE} (auto)."}
    )

    heads = True
    metric = "kl"
    better = "low"
    threshold = THRESHOLD

    def __post_init__(self):
        super().__post_init__()
        if not 2 <= self.r <= LARGEST:
            raise ValueError(f"r must be from 2 (one rung that can die) to {LARGEST}, not {self.r}")
        if self.evaluate == "exhaustive" and self.r > EXHAUSTIVE:
            raise ValueError(
                f"--evaluate exhaustive goes up to r = {EXHAUSTIVE} (2^{EXHAUSTIVE - 1} words), not r = {self.r}; use --evaluate sampled"
            )

    @property
    def rule(self):
        return f"kl <= {self.threshold}"

    @property
    def exhaustive(self):
        """Whether every word is evaluated."""
        return self.evaluate == "exhaustive" or (self.evaluate == "auto" and self.r <= EXHAUSTIVE)

    @property
    def seq_len(self):
        """T = 3 r - 1: r rungs, r - 1 slots of two, the query."""
        return 3 * self.r - 1

    @property
    def words(self):
        """2^(r-1), the number of dip patterns, each with its own alive set."""
        return 1 << (self.r - 1)

    @property
    def sets(self):
        return self.words if self.exhaustive else None

    @property
    def control_dim(self):
        return self.r + 2

    arms = ("fpa", "rope", "nope", "alibi", "fox")

    @property
    def recipe(self):
        from attnprobe.probes.recipe import Recipe

        return Recipe(steps=800, lr=0.01, batch=64)

    @property
    def model(self):
        from attnprobe.probes.model_spec import ModelSpec

        features = self.features()
        return ModelSpec(
            vocab_size=len(features),
            seq_len=self.seq_len,
            embedding="features",
            features=features,
            values="none",
            query="oracle",
            oracle_bits=self.r - 1,
            rows=1,
            key_std=1.0,
        )

    def features(self):
        """Fixed feature vectors (V, V + 1): the token's id, one-hot, and whether it is a rung. Ids: rungs 0..r-1, down, up, nop, query."""
        import numpy as np

        V = self.r + 4
        is_rung = np.arange(V) < self.r
        return np.concatenate([np.eye(V), is_rung[:, None]], 1)

    def check(self, spec, head_dim):
        check_oracle(self, spec)

    def sample(self, rng, n):
        import numpy as np

        return self.encode(rng.integers(0, 2, (n, self.r - 1), dtype=np.uint8))

    def encode(self, bits):
        """Batch of the words bits (n, r-1): bit i = 1 where rung i + 1 dips and dies. target (n, r) is 1 where a rung is alive."""
        import numpy as np

        from attnprobe.probes.batch import Batch

        r, n = self.r, len(bits)
        down, up, nop, query = r + np.arange(4, dtype=np.uint8)
        no_dip = (up, down) if self.slot == "balanced" else (nop, nop)
        tokens = np.empty((n, self.seq_len), dtype=np.uint8)
        tokens[:, : 3 * r - 2 : 3] = np.arange(r)
        tokens[:, 1 : 3 * r - 3 : 3] = np.where(bits, down, no_dip[0])
        tokens[:, 2 : 3 * r - 3 : 3] = np.where(bits, up, no_dip[1])
        tokens[:, -1] = query
        alive = np.concatenate([1 - bits, np.ones_like(bits[:, :1])], 1)
        keys = np.arange(self.seq_len) % 3 == 0
        keys[-1] = False
        return Batch(tokens, alive, np.array([self.seq_len - 1]), keys, {"bits": bits})

    def walks(self, batch):
        """The running sum of the steps; rung i is written at level i."""
        from attnprobe.probes.walk import Key, Walk

        steps = [{self.r: -1, self.r + 1: 1}.get(int(token), int(token < self.r)) for token in batch.tokens[0]]
        field = tuple(sum(steps[: t + 1]) for t in range(self.seq_len))
        return (Walk(field, tuple(Key(3 * i, i + 1, str(i + 1)) for i in range(self.r))),)

    def picture(self, batch):
        """Tokens and the target."""
        alive = batch.target[0]
        names = {self.r: "dn", self.r + 1: "up", self.r + 2: "--", self.r + 3: "?"}
        yield "token", [names.get(int(token), str(int(token) + 1)) for token in batch.tokens[0]]
        yield "target", [text for a in alive for text in (f"1/{alive.sum()}" if a else "0", "", "")][: self.seq_len]

    @property
    def readers(self):
        import math

        import numpy as np

        from attnprobe.probes.tasks.thirds import log_weights

        def exact(batch):
            dips = batch.tokens[:, 1 : 3 * self.r - 3 : 3] == self.r  # a slot that opens with a step down
            return log_weights(np.pad(1.0 - dips, ((0, 0), (0, 1)), constant_values=1)[:, None], self.seq_len)

        def even(batch):
            return log_weights(np.ones((len(batch.tokens), 1, self.r)), self.seq_len)

        spared = ((k, math.comb(self.r - 1, k) / self.words) for k in range(self.r))  # of the r-1 rungs that may die
        uniform = sum(chance * math.log(self.r / (k + 1)) for k, chance in spared)
        return {"exact": (exact, 0.0), "uniform": (even, uniform)}

    def evaluation(self, rng, size):
        import numpy as np

        if not self.exhaustive:
            yield self.encode(np.random.default_rng(0).integers(0, 2, (SAMPLED_WORDS, self.r - 1), dtype=np.uint8))
            return
        for first in range(0, self.words, CHUNK):
            words = np.arange(first, min(first + CHUNK, self.words))[:, None]
            yield self.encode((words >> np.arange(self.r - 1) & 1).astype(np.uint8))

    def log_weights(self, output, batch):
        """The last row's log weights at the rungs: (N, B, 1, 1, T) -> (N, B, r)."""
        return output[:, :, 0, 0, : 3 * self.r - 2 : 3]

    def divergence(self, output, batch):
        """KL(uniform over alive || weights) of each example, nats: (N, B): -log n - mean of the n alive log weights."""
        alive = batch.target.to(output.dtype)
        n = alive.sum(-1)
        return -n.log() - (alive * self.log_weights(output, batch)).sum(-1) / n

    def loss(self, output, batch):
        return self.divergence(output, batch).mean(-1)

    def score(self, output, batch):
        """kl, and realised: the share of words whose every alive logit is above every dead one by more than the margin.

        Log weights are the logits less a constant a row, so their order is the logits' order.
        """
        import torch

        logits = self.log_weights(output, batch)
        alive = batch.target > 0
        low = torch.where(alive, logits, torch.inf).amin(-1)
        high = torch.where(alive, -torch.inf, logits).amax(-1)
        realised = low - high > MARGIN * logits.abs().amax(-1)
        return {"kl": self.divergence(output, batch).mean(-1), "realised": realised.to(logits.dtype).mean(-1)}

    def solved(self, score):
        return score["kl"] <= self.threshold

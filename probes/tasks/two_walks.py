"""Two walks: two heads of one layer attend to complementary alive sets, which a mask that they share cannot serve."""

from __future__ import annotations

from dataclasses import dataclass, field

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.task import Task, check_oracle

THRESHOLD = 0.1  # mean KL(target || weights) of the worse head, nats
EXHAUSTIVE = 11  # the largest r whose 2^(r-1) words are all evaluated
LARGEST = 64
KINDS = 4  # after a rung: walk 1's dip, walk 1's none, walk 2's dip, walk 2's none


@register("two-walks", paper="FPA, one-layer probes", family="B3")
@dataclass(frozen=True)
class TwoWalks(Task):
    """Can two heads keep complementary sets of keys alive? Each with a field of its own can; a shared mask cancels between them.

    Rung i, then walk 1's dip or none, then walk 2's dip or none; exactly one of the two dips, and kills rung i in its walk.
    Head 1 attends to the rungs alive in walk 1, head 2 to those alive in walk 2; the last rung is alive in both. r = 3, walk 1
    dips after rung 1, walk 2 after rung 2:

        rung1 dip1 none2   rung2 none1 dip2   rung3 query        head 1: 0 1/2 1/2    head 2: 1/2 0 1/2

    Choices of ours: the query is the dip pattern through an MLP, one a head and the same for every arm, so that the heads
    alone are compared; features (rung id, which dips carry too; rung, four kinds of step, query); solved = both heads' mean
    KL(target || weights) <= 0.1 over all 2^(r-1) words (up to r = 11; above it 1024 held-out ones); initial weights. Up to
    r = 11 the evaluation's words are those of training: the question is what the heads can hold, not what they generalise.

    An exact reader has KL 0. Answers that read less, r = 10, the worse head's KL in nats: uniform weights 0.64; the mean target
    at each position 0.60; the mean of the two sets, in both heads, 0.56.

    Scores: kl, the worse head's; each head's; the mean over heads where the smaller set is small (a quarter of the rungs) or not.
    """

    r: int = field(default=10, metadata={"help": "Rungs; there are 2^(r-1) pairs of complementary sets."})

    num_heads = 2
    head_dim = 2
    metric = "kl"
    better = "low"
    threshold = THRESHOLD
    rule = f"kl <= {THRESHOLD} in both heads"
    arms = ("fpa", "selective(maps=own)", "dcp", "softmax")

    def __post_init__(self):
        super().__post_init__()
        if not 3 <= self.r <= LARGEST:
            raise ValueError(f"r must be from 3 (two rungs that can die) to {LARGEST}, not {self.r}")

    @property
    def seq_len(self):
        """T = 3 r - 1: r rungs, r - 1 slots of two, the query."""
        return 3 * self.r - 1

    @property
    def exhaustive(self):
        """Whether every word is evaluated."""
        return self.r <= EXHAUSTIVE

    @property
    def control_dim(self):
        return self.r + 1

    @property
    def recipe(self):
        from attnprobe.probes.recipe import Recipe

        return Recipe(steps=500, lr=0.01, batch=64)

    @property
    def model(self):
        from attnprobe.probes.model_spec import ModelSpec

        features = self.features()
        return ModelSpec(
            len(features), self.seq_len, "features", "none", "oracle", rows=1, features=features, oracle_bits=self.r - 1,
            num_heads=self.num_heads, key_std=1.0,
        )  # fmt: skip

    def features(self):
        """Fixed feature vectors (5 r - 3, r + 6): rung id, then rung, four kinds and query. Ids: rungs, each kind by rung, query."""
        import numpy as np

        r = self.r
        blocks = [np.eye(r), *(np.eye(r)[:-1] for _ in range(KINDS)), np.zeros((1, r))]
        kinds = np.repeat(np.eye(KINDS + 2), [len(block) for block in blocks], axis=0)
        return np.concatenate([np.concatenate(blocks), kinds], 1)

    def check(self, spec, head_dim):
        check_oracle(self, spec)

    def sample(self, rng, n):
        import numpy as np

        return self.encode(rng.integers(0, 2, (n, self.r - 1), dtype=np.uint8))

    def encode(self, bits):
        """Batch of the words bits (n, r-1): bit i = 1 where walk 1 dips after rung i + 1. target (n, 2, r): alive in walk 1, in walk 2."""
        import numpy as np

        from attnprobe.probes.batch import Batch

        r, n = self.r, len(bits)
        at = np.arange(r - 1)
        dip1, none1, dip2, none2 = (r + kind * (r - 1) + at for kind in range(KINDS))
        tokens = np.empty((n, self.seq_len), dtype=np.int16)
        tokens[:, : 3 * r - 2 : 3] = np.arange(r)
        tokens[:, 1 : 3 * r - 3 : 3] = np.where(bits, dip1, none1)
        tokens[:, 2 : 3 * r - 3 : 3] = np.where(bits, none2, dip2)
        tokens[:, -1] = r + KINDS * (r - 1)
        last = np.ones_like(bits[:, :1])
        alive = np.stack([np.concatenate([1 - bits, last], 1), np.concatenate([bits, last], 1)], 1)
        keys = np.arange(self.seq_len) % 3 == 0
        keys[-1] = False
        return Batch(tokens, alive, np.array([self.seq_len - 1]), keys, {"bits": bits})

    def evaluation(self, rng, size):
        import numpy as np

        if self.exhaustive:
            words = np.arange(1 << (self.r - 1))[:, None]
            yield self.encode((words >> np.arange(self.r - 1) & 1).astype(np.uint8))
        else:
            yield self.sample(rng, size)

    @property
    def readers(self):
        from math import comb, log

        import numpy as np

        from attnprobe.probes.tasks.thirds import log_weights

        r = self.r

        def alive(batch):
            """Of each walk, which rungs its own slot has no dip after: (n, 2, r)."""
            spared = [batch.tokens[:, slot : 3 * r - 3 : 3] >= r + (2 * slot - 1) * (r - 1) for slot in (1, 2)]
            return np.pad(np.stack(spared, 1).astype(float), ((0, 0), (0, 0), (0, 1)), constant_values=1)

        def one_set(batch):
            shares = alive(batch) / alive(batch).sum(-1, keepdims=True)
            return log_weights(shares.mean(1, keepdims=True).repeat(2, 1), self.seq_len)

        sizes = [(comb(r - 1, k) / 2 ** (r - 1), k + 1, r - k) for k in range(r)]  # chance, keys of head 1, of head 2
        uniform = sum(chance * log(r / n) for chance, n, _ in sizes)
        shared = sum(chance * ((n - 1) * log(2 * n) - log((1 / n + 1 / m) / 2) - n * log(n)) / n for chance, n, m in sizes)
        return {
            "exact": (lambda batch: log_weights(alive(batch), self.seq_len), 0.0),
            "uniform": (lambda batch: log_weights(np.ones_like(alive(batch)), self.seq_len), uniform),
            "one set for both": (one_set, shared),
        }

    def walks(self, batch):
        """Each walk stands at a rung's level and falls one below it at its own dip."""
        from attnprobe.probes.walk import Key, Walk

        keys = tuple(Key(3 * i, i + 1, str(i + 1)) for i in range(self.r))
        fields = [[level for i in range(1, self.r + 1) for level in (i, i, i)][: self.seq_len] for _ in range(2)]
        for i, bit in enumerate(batch.side["bits"][0]):
            head = 0 if bit else 1
            fields[head][3 * i + 1 + head] -= 1
        return tuple(Walk(tuple(field), keys, f"walk {head}") for head, field in enumerate(fields, 1))

    def picture(self, batch):
        """Tokens (dip1 = walk 1 dips) and both heads' targets."""
        bits, alive = batch.side["bits"][0], batch.target[0]
        slots = [("dip1", "-") if bit else ("-", "dip2") for bit in bits]
        yield "token", [text for i, slot in enumerate(slots) for text in (str(i + 1), *slot)] + [str(self.r), "?"]
        for head in range(2):
            shares = [f"1/{alive[head].sum()}" if a else "0" for a in alive[head]]
            yield f"head {head + 1}", [text for share in shares for text in (share, "", "")][: self.seq_len]

    def divergence(self, output, batch):
        """KL(uniform over alive || weights) of each example and head, nats: (N, B, 2)."""
        alive = batch.target.to(output.dtype)  # (N, B, 2, r)
        n = alive.sum(-1)
        return -n.log() - (alive * output[:, :, :, 0, : 3 * self.r - 2 : 3]).sum(-1) / n

    def loss(self, output, batch):
        return self.divergence(output, batch).sum(-1).mean(-1)

    def score(self, output, batch):
        """kl: the worse head's; each head's; and the mean over heads where either set is small (at most a quarter of the rungs)."""
        from attnprobe.probes.tasks.task import means_where

        kl = self.divergence(output, batch)
        one, two = kl.mean(1).unbind(-1)
        small = batch.target.sum(-1).amin(-1) <= max(2, self.r // 4)
        slices = {"kl small sets": means_where(kl.mean(-1), small), "kl even sets": means_where(kl.mean(-1), ~small)}
        return {"kl": one.maximum(two), "kl head 1": one, "kl head 2": two} | slices

    def solved(self, score):
        return score["kl"] <= self.threshold

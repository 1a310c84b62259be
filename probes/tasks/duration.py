"""Duration: weigh keys by how deep they were hit, whether a dip lasted one step or two."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.task import Task, check_every_key

THRESHOLD = 0.003  # mean KL(target || weights), nats
KEYS, LEVELS = 6, 3  # levels 1..3; dips go to 0..2
LASTS = 1, 2  # steps
SLOTS, DIPS = 15, LEVELS * len(LASTS)  # a slot is one of 15 equal chances, 6 of which are dips: a dip with chance 0.4
NOP, QUERY = 2 * LEVELS, 2 * LEVELS + 1
NONE = LEVELS  # the "level" of no dip, which is under no key
BITS = 3  # hold the number of a key's later dips
SPARE = 4  # draws for each sequence that is wanted: 27 % are kept
SLICES = {"kl 1 hit": (1, 1), "kl 2 hits": (2, 2), "kl 3+ hits": (3, KEYS)}


@register("duration", paper="FPA, one-layer probes", family="B2")
@dataclass(frozen=True)
class Duration(Task):
    """How deep was each key hit, whatever the dip's length: a minimum can tell, a sum confuses depth with duration.

    Six keys at levels 1..3, after each a slot of two steps: with chance 0.4 a dip to an absolute level of 0..2, held one step
    or two (`--durations fixed`: one), else nothing. A key is hit by a later dip below its level; its depth is level - dip.
    The target is softmax(-depth) over the keys. Here d1 hits keys 1 and 3, d2 none, and then d2, held two steps, key 5:

        token    2  .  .   1  .  .   2  d1 .   1  d2 .   3  d2 d2   1  .  .   ?
        depth    1         0         1         0         1          0

    Choices of ours: a key may be hit by one dip only (sequences where one is hit twice are rejected); at least one
    key is hit; dips that hit nothing stay, because without them a sum can cheat; one sequence in eight, by a hash, is held out;
    features (level, is key, dip level, nop, query); solved = mean KL < 0.003 on 1024 held-out sequences; one learning rate for
    all arms; initial weights.

    An exact reader has KL 0. Answers that read less, in nats: the mean target at each position 0.14; given the key's own level
    and position (unigram) 0.10; depth by the key's own slot alone (last write) 0.14; softmax of minus the sum of all depths
    0.04 with variable durations and 0 with fixed ones.

    Scores: kl, and kl by the number of keys that are hit.
    """

    durations: Literal["variable", "fixed"] = field(default="variable", metadata={"help": "Dips last 1 or 2 steps, or always 1."})

    head_dim = 8
    metric = "kl"
    better = "low"
    threshold = THRESHOLD
    rule = f"kl < {THRESHOLD}"
    arms = ("fpa", "fpa-sum", "selective(maps=own)", "fox", "softmax")
    seq_len = 3 * KEYS + 1

    @property
    def recipe(self):
        from attnprobe.probes.recipe import Recipe

        return Recipe(steps=600, lr=0.01, batch=64)

    @property
    def model(self):
        from attnprobe.probes.model_spec import ModelSpec

        features = self.features()
        return ModelSpec(
            len(features), self.seq_len, "features", "none", "token", rows=1, features=features, key_std=0.3, pair_std=0.1, pair=0.5
        )

    def features(self):
        """Fixed feature vectors (8, 9): level, is key, dip level, nop, query. Ids: levels 1..3, dips to 0..2, nop, query."""
        import numpy as np

        eye = np.eye(QUERY + 1)
        return np.insert(eye, LEVELS, eye[:, :LEVELS].sum(1), axis=1)

    def check(self, spec, head_dim):
        check_every_key(self, spec)

    def sample(self, rng, n):
        return self.some(rng, n, held_out=False)

    def evaluation(self, rng, size):
        yield self.some(rng, size, held_out=True)

    def some(self, rng, n, held_out):
        """n sequences of those that training never sees, or of the others."""
        import numpy as np

        level, dip, lasts = code_tables(self.durations == "variable")
        kept, count = [], 0
        while count < n:
            codes = rng.integers(0, LEVELS * SLOTS, (KEYS, SPARE * (n - count) + 8), dtype=np.uint8)
            codes = codes.take(allowed(codes, level, dip).nonzero()[0], 1)
            kept.append(codes[:, one_in_eight(level, dip, lasts, codes) == held_out])
            count += kept[-1].shape[1]
        codes = np.concatenate(kept, 1)[:, :n]
        return self.encode(level[codes], dip[codes], lasts[codes])

    def encode(self, levels, dips, lasts):
        """Batch of levels, dips (NONE: no dip) and lengths, each (6, n). target (n, 6): depths; side hits (n,): how many keys are hit."""
        import numpy as np

        from attnprobe.probes.batch import Batch

        tokens = np.full((self.seq_len, levels.shape[1]), QUERY, dtype=np.uint8)
        tokens[0:-1:3] = levels - 1
        tokens[1:-1:3] = LEVELS + dips  # NONE makes NOP
        tokens[2:-1:3] = np.where(lasts == 2, LEVELS + dips, NOP)
        lowest = np.minimum.accumulate(dips[::-1])[::-1]
        depth = np.where(lowest < levels, levels - lowest, 0).astype(np.uint8)
        keys = np.arange(self.seq_len) % 3 == 0
        keys[-1] = False
        hits = (depth > 0).sum(0, dtype=np.uint8)
        tokens, depth = np.ascontiguousarray(tokens.T), np.ascontiguousarray(depth.T)
        return Batch(tokens, depth, np.array([self.seq_len - 1]), keys, {"hits": hits})

    @property
    def readers(self):
        import numpy as np

        from attnprobe.probes.tasks.thirds import log_weights

        def under(batch):
            """How far each position's dip, where it is one after a key, lies below that key: (n, 6, T)."""
            tokens = batch.tokens.astype(int)
            fields = np.where((tokens >= LEVELS) & (tokens < NOP), tokens - LEVELS, LEVELS)
            below = np.maximum(0, tokens[:, 0:-1:3, None] + 1 - fields[:, None])
            return below * (np.arange(self.seq_len) > np.arange(0, self.seq_len - 1, 3)[:, None])

        def weigh(depth):
            return log_weights(np.exp(-depth.astype(float))[:, None], self.seq_len)

        def own_slot(batch):
            depths = under(batch)
            return weigh(np.stack([depths[:, i, 3 * i : 3 * i + 3].max(-1) for i in range(KEYS)], 1))

        made = {"exact": (lambda batch: weigh(under(batch).max(-1)), 0.0), "last write": (own_slot, 0.14)}
        if self.durations == "variable":  # dips of one step are summed to their depth
            made["sum of depths"] = (lambda batch: weigh(under(batch).sum(-1)), 0.04)
        return made

    def walks(self, batch):
        """Keys at their levels, and a field at the dips alone; a key that a dip hits is not dead, but weighed by its depth."""
        from attnprobe.probes.walk import Key, Walk

        tokens = [int(token) for token in batch.tokens[0]]
        keys = tuple(Key(t, tokens[t] + 1, str(i)) for i, t in enumerate(range(0, 3 * KEYS, 3), 1))
        return (Walk(tuple(token - LEVELS if LEVELS <= token < NOP else None for token in tokens), keys, killed="hit"),)

    def picture(self, batch):
        """Tokens (a key's level, d and a dip's level, . for none) and each key's depth and target."""
        import numpy as np

        depth = batch.target[0]
        target = np.exp(-depth.astype(float)) / np.exp(-depth.astype(float)).sum()
        names = ["1", "2", "3", "d0", "d1", "d2", ".", "?"]
        yield "token", [names[token] for token in batch.tokens[0]]
        yield "depth", [text for d in depth for text in (str(d), "", "")] + [""]
        yield "target", [text for t in target for text in (f"{t:.2f}", "", "")] + [""]

    def divergence(self, output, batch):
        """KL(softmax(-depth) || weights) of each example, nats: (N, B)."""
        target = (-batch.target.to(output.dtype)).log_softmax(-1)  # (N, B, 6)
        return (target.exp() * (target - output[:, :, 0, 0, 0:-1:3])).sum(-1)

    def loss(self, output, batch):
        return self.divergence(output, batch).mean(-1)

    def score(self, output, batch):
        """kl, and kl by the number of keys that are hit."""
        from attnprobe.probes.tasks.task import means_where

        kl, hits = self.divergence(output, batch), batch.side["hits"]
        return {"kl": kl.mean(-1)} | {name: means_where(kl, (hits >= low) & (hits <= high)) for name, (low, high) in SLICES.items()}

    def solved(self, score):
        return score["kl"] < self.threshold


def code_tables(variable):
    """What a key's code means: its level (1..3), the level of the dip after it (NONE: no dip) and how long this lasts: (45,) each."""
    import numpy as np

    level, slot = np.divmod(np.arange(LEVELS * SLOTS, dtype=np.uint8), np.uint8(SLOTS))
    dip = np.where(slot < DIPS, slot // 2, NONE).astype(np.uint8)
    lasts = np.where(dip < NONE, 1 + slot % 2 * variable, 0).astype(np.uint8)
    return level + np.uint8(1), dip, lasts


def allowed(codes, level, dip):
    """Whether some key is hit and none by two dips: codes (6, n) -> (n,)."""
    import numpy as np

    shift = BITS * (level - np.uint16(1))
    under = sum((dip < l) * np.uint16(1 << BITS * (l - 1)) for l in range(1, LEVELS + 1))  # a dip counts for each level above it
    later, most = (np.zeros(codes.shape[1], dtype=np.uint16) for _ in range(2))
    for code in codes[::-1]:
        later += under.take(code)
        np.maximum(most, later >> shift.take(code) & np.uint16((1 << BITS) - 1), out=most)
    return most == 1


def one_in_eight(level, dip, lasts, codes):
    """Whether a hash of the sequence falls in the eighth that is held out: codes (6, n) -> (n,)."""
    import numpy as np

    meaning = level + LEVELS * (dip + (NONE + 1) * lasts.astype(np.uint64))
    word = np.zeros(codes.shape[1], dtype=np.uint64)
    for code in codes:
        word = (word + meaning.take(code)) * np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing
    return word >> np.uint64(61) == 0

"""Count: how often a symbol has stood so far."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.decoder import Decoder

SYMBOLS, LENGTH, MOST = 3, 12, 6
BOS = SYMBOLS


@register("count", paper="FPA, tasks of earlier work", family="C3")
@dataclass(frozen=True)
class Count(Decoder):
    """How many times each token's symbol has occurred up to it, itself included, 6 for six or more.

    BOS, then 12 tokens of 3 symbols, drawn alike; every token is asked.

        bos a b a a c b ...      answers: 1 1 2 3 1 2 ...

    Training and evaluation draw apart, but there are 3^12 = 531441 sequences: 1.4 % of those evaluated occur in training.

    An exact reader scores 1. Answers that read less: the most frequent count 0.25 (majority), the most frequent count at that position
    0.42 (position), how often the symbol stands among the last four tokens 0.50 (recent).

    Scores: accuracy, and by the count asked for.

    Choices of ours: sizes, BOS (a fixed token to count against), model, recipe.
    """

    vocab_size = SYMBOLS + 1
    classes = MOST
    seq_len = LENGTH + 1
    first = 1

    def sample(self, rng, n):
        import numpy as np

        from attnprobe.probes.batch import Batch

        symbols = rng.integers(0, SYMBOLS, (n, LENGTH), dtype=np.uint8)
        count = np.zeros_like(symbols)
        for symbol in range(SYMBOLS):
            here = symbols == symbol
            np.copyto(count, here.cumsum(1, dtype=np.uint8), where=here)
        tokens = np.empty((n, self.seq_len), np.uint8)
        tokens[:, 0], tokens[:, 1:] = BOS, symbols
        target = np.minimum(count, np.uint8(MOST)) - np.uint8(1)
        return Batch(tokens, target, np.arange(1, self.seq_len), np.ones(self.seq_len, bool))

    @property
    def readers(self):
        import numpy as np

        def exact(batch):
            return self.said(np.minimum(stood(batch, LENGTH), MOST) - 1)

        return {
            "exact": (exact, 1.0),
            "majority": (lambda batch: self.said(np.ones((len(batch.tokens), LENGTH), int)), 0.25),
            "recent": (lambda batch: self.said(stood(batch, 4) - 1), 0.50),
        }

    def evaluation(self, rng, size):
        for n in self.chunks(size):
            yield self.sample(rng, n)

    def slices(self, batch):
        return {"accuracy": True} | {f"accuracy@{value + 1}{'+' * (value == MOST - 1)}": batch.target == value for value in range(MOST)}

    def picture(self, batch):
        """Symbols a, b, c, and how often each has stood."""
        yield "token", [("a", "b", "c", "bos")[token] for token in batch.tokens[0]]
        yield "answer", ["", *(str(value + 1) for value in batch.target[0])]


def stood(batch, window):
    """How often each token's symbol stands among the last `window` tokens: (B, LENGTH)."""
    import numpy as np

    symbols = batch.tokens[:, 1:]
    back = np.arange(LENGTH)[:, None] - np.arange(LENGTH)
    return ((symbols[:, :, None] == symbols[:, None]) & (back >= 0) & (back < window)).sum(-1)

"""Copy: eight symbols, then the same again."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.decoder import Decoder

SYMBOLS, LENGTH = 16, 8
BOS, SEPARATOR = SYMBOLS, SYMBOLS + 1


@register("copy", paper="FPA, tasks of earlier work", family="C2")
@dataclass(frozen=True)
class Copy(Decoder):
    """What comes next in a copy: find the symbol that was just copied and give the one after it.

    BOS, eight of 16 symbols without repeats, a separator, the first seven again; asked from the separator on: the next symbol.

        bos c a p g ... | c a p ...      answers: c at |, a at the second c, p at the second a

    An exact reader scores 1. Answers that read less: one fixed symbol 0.06 (majority), the most frequent symbol, any of the eight, 0.12
    (unigram), the last symbol before the separator 0.12 (last write), a symbol not yet copied 0.34 (position).

    Scores: accuracy, and by place in the copy.

    Choices of ours: sizes, the copy's own tokens as input whatever the model answers, model, recipe.
    """

    vocab_size = SYMBOLS + 2
    classes = SYMBOLS
    seq_len = 2 * LENGTH + 1
    chosen_on = range(75)
    batch = 32  # with 16, 5 of the seeds 15:75 stay on a plateau; with 32 all of 0:75 leave it
    first = LENGTH + 1

    def sample(self, rng, n):
        import numpy as np

        from attnprobe.probes.batch import Batch
        from attnprobe.probes.tasks.pairs import shuffled

        symbols = np.ascontiguousarray(shuffled(rng, n, SYMBOLS)[:, :LENGTH])
        tokens = np.empty((n, self.seq_len), np.uint8)
        tokens[:, 0], tokens[:, 1 : self.first], tokens[:, self.first], tokens[:, self.first + 1 :] = (
            BOS,
            symbols,
            SEPARATOR,
            symbols[:, :-1],
        )
        return Batch(tokens, symbols, np.arange(self.first, self.seq_len), np.ones(self.seq_len, bool))

    @property
    def readers(self):
        import numpy as np

        def repeated(symbol):
            return self.said(np.repeat(symbol[:, None], LENGTH, 1))

        def exact(batch):
            """The first symbol, then the one that stands after each copied one."""
            symbols, copied = batch.tokens[:, 1 : self.first], batch.tokens[:, self.first + 1 :]
            at = (copied[:, :, None] == symbols[:, None]).argmax(-1) + 1
            return self.said(np.concatenate([symbols[:, :1], np.take_along_axis(symbols, at, 1)], 1))

        return {
            "exact": (exact, 1.0),
            "majority": (lambda batch: repeated(np.zeros(len(batch.tokens), int)), 0.06),
            "unigram": (lambda batch: repeated(batch.tokens[:, 3]), 0.12),
            "last write": (lambda batch: repeated(batch.tokens[:, LENGTH]), 0.12),
        }

    def evaluation(self, rng, size):
        for n in self.chunks(size):
            yield self.sample(rng, n)

    def slices(self, batch):
        import torch

        place = torch.arange(LENGTH, device=batch.target.device)
        parts = {"accuracy@first": place == 0, "accuracy@middle": (place > 0) & (place < LENGTH - 1), "accuracy@last": place == LENGTH - 1}
        return {"accuracy": True, **parts}

    def picture(self, batch):
        """Symbols a..p, and from the separator on the next one."""
        names = [*"abcdefghijklmnop", "bos", "|"]
        yield "token", [names[token] for token in batch.tokens[0]]
        yield "answer", [*[""] * self.first, *(names[symbol] for symbol in batch.target[0])]

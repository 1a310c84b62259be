"""Assignment: variables are given values again and again, and the latest of each is asked for."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Literal

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.decoder import Decoder

VARIABLES, VALUES, STATEMENTS = 3, 4, 8
EQUALS, END, ASK = (VARIABLES + VALUES + i for i in range(3))


@register("assignment", paper="FPA, tasks of earlier work", family="C4")
@dataclass(frozen=True)
class Assignment(Decoder):
    """What value a variable has after eight assignments: of its values the latest counts.

    Eight statements `variable value`, or with --statements equations `variable = value ;`, over three variables and four values, every
    variable assigned at least once, all such sequences alike; then `? variable` for each, in random order, asked at the variable.

        x 2 z 0 x 3 y 1 z 1 ... ? y ? x ? z      answers at the last y, x, z

    An exact reader scores 1. Answers that read less: one fixed value 0.25 (majority), the most frequent value of all 0.42 (unigram),
    the last statement's value 0.50 (last write), a variable's first value 0.37, its most frequent value 0.48.

    Scores: accuracy, and by whether the variable was assigned once or again.

    Choices of ours: sizes, how sequences are drawn, model, recipe. The reference is fox, which the source finds ahead of FPA.
    """

    statements: Literal["pairs", "equations"] = field(default="pairs", metadata={"help": "`x 2` or `x = 2 ;`."})

    reference = "fox"
    steps = 500
    vocab_size = VARIABLES + VALUES + 3
    classes = VALUES
    shown = ("accuracy@once", "accuracy@again")

    @property
    def span(self):
        """Tokens of a statement."""
        return 2 if self.statements == "pairs" else 4

    @property
    def seq_len(self):
        return self.span * STATEMENTS + 2 * VARIABLES

    @property
    def first(self):
        return self.span * STATEMENTS + 1

    def sample(self, rng, n):
        import numpy as np

        from attnprobe.probes.batch import Batch
        from attnprobe.probes.tasks.pairs import shuffled, take

        assigned = assignments()
        variable = assigned[rng.integers(0, len(assigned), n)]
        value = rng.integers(0, VALUES, variable.shape, dtype=np.uint8)
        latest, times = np.zeros((n, VARIABLES), np.uint8), np.zeros((n, VARIABLES), np.uint8)
        rows = np.arange(n)
        for i in range(STATEMENTS):
            latest[rows, variable[:, i]] = value[:, i]
            times[rows, variable[:, i]] += 1
        asked = shuffled(rng, n, VARIABLES)
        tokens = np.empty((n, self.seq_len), np.uint8)
        end = self.first - 1
        tokens[:, : end : self.span] = variable
        tokens[:, self.span // 2 : end : self.span] = value + np.uint8(VARIABLES)
        if self.statements == "equations":
            tokens[:, 1:end:4], tokens[:, 3:end:4] = EQUALS, END
        tokens[:, end::2], tokens[:, end + 1 :: 2] = ASK, asked
        side = {"times": take(times, asked)}
        return Batch(tokens, take(latest, asked), np.arange(self.first, self.seq_len, 2), np.ones(self.seq_len, bool), side)

    @property
    def readers(self):
        import numpy as np

        def read(batch):
            """Values (n, 8), and where a statement is of each asked variable (n, 3, 8)."""
            end, asked = self.first - 1, batch.tokens[:, self.first :: 2]
            values = batch.tokens[:, self.span // 2 : end : self.span].astype(int) - VARIABLES
            return values, batch.tokens[:, None, : end : self.span] == asked[:, :, None]

        def value_at(batch, choose):
            """The value at the statement that `choose` finds of each asked variable."""
            values, own = read(batch)
            return self.said(np.take_along_axis(values, choose(values, own), 1))

        def first(values, own):
            return own.argmax(-1)

        def last(values, own):
            return STATEMENTS - 1 - own[:, :, ::-1].argmax(-1)

        def most_frequent(values, counted):
            """Among the statements counted, the first of a value that is in most of them."""
            same = values[:, None, :, None] == values[:, None, None]
            return np.where(counted, (same & counted[:, :, None]).sum(-1), 0).argmax(-1)

        def most_frequent_of_all(values, own):
            return most_frequent(values, np.ones_like(own))

        return {
            "exact": (lambda batch: value_at(batch, last), 1.0),
            "majority": (lambda batch: self.said(np.zeros((len(batch.tokens), VARIABLES), int)), 0.25),
            "unigram": (lambda batch: value_at(batch, most_frequent_of_all), 0.42),
            "last write": (lambda batch: self.said(read(batch)[0][:, -1:].repeat(VARIABLES, 1)), 0.50),
            "first value": (lambda batch: value_at(batch, first), 0.37),
            "own most frequent": (lambda batch: value_at(batch, most_frequent), 0.48),
        }

    def evaluation(self, rng, size):
        for n in self.chunks(size):
            yield self.sample(rng, n)

    def slices(self, batch):
        once = batch.side["times"] == 1
        return {"accuracy": True, "accuracy@once": once, "accuracy@again": ~once}

    def picture(self, batch):
        """Variables x, y, z, values 0..3, and under each one asked its value."""
        answers = dict(zip(batch.scored.tolist(), batch.target[0].tolist(), strict=True))
        yield "token", ["xyz0123=;?"[token] for token in batch.tokens[0]]
        yield "answer", [str(answers.get(t, "")) for t in range(self.seq_len)]


@functools.cache
def assignments():
    """Every sequence of variables that names each: (5796, STATEMENTS)."""
    import numpy as np

    every = np.indices((VARIABLES,) * STATEMENTS, dtype=np.uint8).reshape(STATEMENTS, -1).T
    named = (every[:, :, None] == np.arange(VARIABLES)).any(1).all(1)
    return np.ascontiguousarray(every[named])

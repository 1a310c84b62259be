"""Flip-flop: the bit that was written last, wherever it is read."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.decoder import NOTHING, Decoder

SLOTS = 16
WRITE, READ, IGNORE, ZERO = range(4)  # then ONE
OF_TEN, OF_HUNDRED = 10, 100  # one write and one read in so many, the rest ignored: p(i) = 0.8, 0.98


@register("flip-flop", paper="Liu et al. 2023, flip-flop language modelling; FPA", family="C1")
@dataclass(frozen=True)
class FlipFlop(Decoder):
    """Which bit was written last, read at any distance: attention must skip every bit in between.

    16 slots of an instruction and a bit: w writes the bit, after r stands the bit written last, after i a bit at random. The first
    instruction is w, the last r, the others i with chance 0.8, w and r with 0.1 each. Asked: the bit after each r. Training and
    evaluation draw apart; few enough are likely that 0.1 % of the evaluated ones, 1.5 % of the tail, occur in training.

        w 1   i 0   i 1   r 1   i 0   w 0   i 1   r 0      answers: 1 at the first r, 0 at the second

    The evaluation holds as many sequences with p(i) = 0.98 again, the sparse tail, scored apart and not decisive.

    An exact reader (the last write) scores 1. Answers that read less: one fixed bit 0.50 (majority), the bit of the slot before 0.61,
    the first write 0.71 (0.93 of the sparse tail), the bit that is more frequent before 0.71 (unigram).

    Scores: accuracy; sparse, of the tail; and accuracy by the slots since the last write.

    Choices of ours: loss at r alone (the source: every token), 32 tokens (512), model, recipe.
    """

    vocab_size = 5
    classes = 2
    seq_len = 2 * SLOTS
    first = 0
    steps = 800
    shown = ("sparse",)

    def sample(self, rng, n):
        return self.draw(rng, n, OF_TEN)

    def evaluation(self, rng, size):
        """Every chunk holds as many sequences of the sparse tail after its own."""
        import dataclasses

        import numpy as np

        for n in self.chunks(size):
            batch, tail = self.draw(rng, n, OF_TEN), self.draw(rng, n, OF_HUNDRED)
            tokens, target = (np.concatenate(pair) for pair in ((batch.tokens, tail.tokens), (batch.target, tail.target)))
            side = {name: np.concatenate([batch.side[name], tail.side[name]]) for name in batch.side}
            yield dataclasses.replace(batch, tokens=tokens, target=target, side=side)

    def draw(self, rng, n, of):
        """n sequences with a write and a read in `of` instructions each, on average."""
        import numpy as np

        from attnprobe.probes.batch import Batch

        drawn = rng.integers(0, of, (SLOTS, n), dtype=np.uint8)
        instruction = np.minimum(drawn, np.uint8(IGNORE))
        instruction[0], instruction[-1] = WRITE, READ
        bit = rng.integers(0, 2, (SLOTS, n), dtype=np.uint8)
        held, since, age = bit[0], np.empty_like(bit), np.zeros(n, np.uint8)
        for slot in range(SLOTS):
            write = instruction[slot] == WRITE
            held = np.where(write, bit[slot], held)
            age = since[slot] = np.where(write, np.uint8(0), age + np.uint8(1))
            bit[slot] = np.where(instruction[slot] == READ, held, bit[slot])
        tokens = np.empty((n, self.seq_len), np.uint8)
        tokens[:, ::2], tokens[:, 1::2] = instruction.T, bit.T + np.uint8(ZERO)
        target = np.where(instruction == READ, bit, np.uint8(NOTHING)).T
        side = {"since": np.ascontiguousarray(since.T), "sparse": np.full(n, of == OF_HUNDRED)}
        return Batch(tokens, np.ascontiguousarray(target), np.arange(0, self.seq_len, 2), np.ones(self.seq_len, bool), side)

    @property
    def readers(self):
        import numpy as np

        def bits(batch):
            return batch.tokens[:, 1::2].astype(int) - ZERO

        def last_write(batch):
            written = np.where(batch.tokens[:, ::2] == WRITE, np.arange(SLOTS), 0)
            return self.said(np.take_along_axis(bits(batch), np.maximum.accumulate(written, 1), 1))

        return {
            "exact": (last_write, 1.0),
            "majority": (lambda batch: self.said(np.zeros((len(batch.tokens), SLOTS), int)), 0.50),
            "the slot before": (lambda batch: self.said(np.pad(bits(batch)[:, :-1], ((0, 0), (1, 0)))), 0.61),
            "first write": (lambda batch: self.said(bits(batch)[:, :1].repeat(SLOTS, 1)), 0.71),
        }

    def slices(self, batch):
        since, sparse = batch.side["since"], batch.side["sparse"][..., None]
        parts = {"1": since == 1, "2-4": (since >= 2) & (since <= 4), "5+": since >= 5}
        return {"accuracy": ~sparse, "sparse": sparse} | {f"accuracy@{name}": ~sparse & where for name, where in parts.items()}

    def picture(self, batch):
        """Instructions and bits, and under each r the answer."""
        answers = [*batch.target[0].repeat(2)]
        yield "token", ["wri01"[token] for token in batch.tokens[0]]
        yield "answer", ["" if t % 2 or answer == NOTHING else str(answer) for t, answer in enumerate(answers)]

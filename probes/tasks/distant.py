"""What the tasks of family E share: an answer that is decided early in the sequence and asked for far behind, at many positions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

from attnprobe.probes.tasks.task import Task, check_routing

THRESHOLD = 0.9  # accuracy
CLASSES, FILLERS = 8, 8
WIDTH, HEADS = 32, 2  # model_dim, of which each head has its share


@dataclass(frozen=True)
class Distant(Task):
    """Token ids: fillers 0..7, then the tokens that tell the answer, 8..15, a class each. target: the class, one a sequence.

    The model is a pre-norm decoder of rotary heads with a GELU MLP of twice its width, whose readout gives the class at each of the
    last `rows` positions; the loss is their mean cross-entropy. Every position is a key. A routing that hides keys has to carry
    the answer from layer to layer, and one that draws at random is judged by test-time draw 1; accuracy8 is of the mean of
    class probabilities over draws 1..8.
    """

    seq_len: int = field(default=128, metadata={"help": "Length of a sequence, a multiple of 4."})
    layers: int = field(default=3, metadata={"help": "Layers of the model."})

    num_heads = HEADS
    head_dim = WIDTH // HEADS
    test_size = 256
    at_once = 32
    draws = 8
    reference = "rope+sa"
    metric = "accuracy"
    better = "high"
    threshold = THRESHOLD
    rule = f"accuracy >= {THRESHOLD}"
    arms = ("rope", "rope+swa", "rope+sa", "rope+sa(draw=fixed)", "rope+gated", "rope+moba", "rope+swa(w=8)")

    def __post_init__(self):
        super().__post_init__()
        if not 16 <= self.seq_len <= 1024 or self.seq_len % 4:
            raise ValueError(f"seq_len must be a multiple of 4 from 16 to 1024, not {self.seq_len}")
        if not 1 <= self.layers <= 12:
            raise ValueError(f"layers must be from 1 to 12, not {self.layers}")

    @property
    @abstractmethod
    def rows(self):
        """How many of the last positions are asked."""

    @abstractmethod
    def slices(self, batch):
        """name -> boolean (N, B, rows): targets of one difficulty."""

    @property
    def recipe(self):
        from attnprobe.probes.recipe import Recipe

        return Recipe(steps=350, lr=0.003, batch=8, warm_up=30, floor=0.1, betas=(0.9, 0.99))

    @property
    def model(self):
        from attnprobe.probes.model_spec import ModelSpec

        return ModelSpec(
            FILLERS + CLASSES, self.seq_len, "learned", "learned", "token", rows=self.rows, model_dim=WIDTH, classes=CLASSES,
            num_heads=HEADS, layers=self.layers, mlp=2 * WIDTH, key_std=0.1, init_std=0.1, output_std=0.1 * (2 * self.layers) ** -0.5,
        )  # fmt: skip

    def check(self, spec, head_dim):
        check_routing(self, spec, self.seq_len)

    def batch(self, tokens, answer, side):
        """A numpy Batch whose last `rows` positions are asked."""
        import numpy as np

        from attnprobe.probes.batch import Batch

        return Batch(tokens, answer, np.arange(self.seq_len - self.rows, self.seq_len), np.ones(self.seq_len, bool), side)

    def said(self, answers):
        """Answers (B,) or (B, rows), a class each, as a model would give them: (B, rows, classes)."""
        import numpy as np

        answers = np.asarray(answers).reshape(len(answers), -1)
        return np.eye(CLASSES)[np.broadcast_to(answers, (len(answers), self.rows))]

    def evaluation(self, rng, size):
        yield self.sample(rng, size)

    def picture(self, batch):
        """Fillers are a..h, a token that tells of class c is *c; below, the answer where it is asked."""
        tokens, answer = batch.tokens[0], batch.target[0]
        yield "token", ["abcdefgh"[token] if token < FILLERS else f"*{token - FILLERS}" for token in tokens]
        yield "answer", [*[""] * (self.seq_len - self.rows), *[str(answer)] * self.rows]

    def loss(self, output, batch):
        from torch.nn.functional import cross_entropy

        target = batch.target.long()[:, :, None].expand(output.shape[:3])
        return cross_entropy(output.movedim(-1, 1), target, reduction="none").mean((1, 2))

    def score(self, output, batch):
        """accuracy over all asked positions, and over those of each slice."""
        from attnprobe.probes.tasks.task import means_where

        right = (output.argmax(-1) == batch.target[:, :, None]).to(output.dtype)  # (N, B, rows)
        slices = {name: means_where(right.flatten(1), where.expand_as(right).flatten(1)) for name, where in self.slices(batch).items()}
        return {"accuracy": right.mean((1, 2))} | slices

    def solved(self, score):
        return score["accuracy"] >= self.threshold

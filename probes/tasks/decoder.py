"""What the tasks of family C share: a decoder of two layers that is scored at some positions, and seeds that leave when they pass."""

from __future__ import annotations

from abc import abstractmethod

from attnprobe.probes.tasks.task import Task, check_routing, means_where

NOTHING = 255  # the target where no answer is asked, unless a task has more classes
WIDTH = 32  # model_dim; the default head_dim
TOKENS = 1 << 13  # tokens a seed evaluated at once


class Decoder(Task):
    """Tokens through learned embeddings, then layers of pre-norm attention (one head) and GELU MLP, a readout of `classes`.

    target (B, K): the class at each scored position, `nothing` where none is asked. The loss is the mean cross-entropy over the
    positions asked. Class attributes of a subclass: vocab_size, classes, seq_len, first (the first scored position); steps,
    batch, decay of the recipe; mlp, positions, own, paired: see ModelSpec;
    std, bias_std: of initial weights, and of a bias's maps.
    """

    metric = "accuracy"
    better = "high"
    threshold = 0.99
    leave = True
    layers = 2
    head_dim = WIDTH
    rule = "accuracy >= 0.99"
    nothing = NOTHING
    steps = 400
    batch = 16
    decay = 0.0
    mlp = 2 * WIDTH
    positions = "none"
    std = 0.1
    bias_std = 0.1
    own = ()
    paired = False
    arms = ("fpa", "fox", "rope")

    @property
    @abstractmethod
    def vocab_size(self):
        """V, the number of tokens."""

    @property
    @abstractmethod
    def classes(self):
        """How many answers there are."""

    @property
    @abstractmethod
    def first(self):
        """The first scored position."""

    @abstractmethod
    def slices(self, batch):
        """Scores as name -> (N, B, K) or what broadcasts to it, True at the answers whose accuracy it is; `accuracy` decides."""

    @property
    def recipe(self):
        from attnprobe.probes.recipe import Recipe

        return Recipe(self.steps, lr=0.005, batch=self.batch, floor=0.1, betas=(0.9, 0.99), weight_decay=self.decay)

    @property
    def model(self):
        from attnprobe.probes.model_spec import ModelSpec

        return ModelSpec(
            self.vocab_size,
            self.seq_len,
            "learned",
            "learned",
            "token",
            rows=self.seq_len - self.first,
            model_dim=WIDTH,
            classes=self.classes,
            layers=self.layers,
            mlp=self.mlp,
            positions=self.positions,
            key_std=self.std,
            init_std=self.std,
            output_std=self.std / (2 * self.layers) ** 0.5,
            field_std=self.bias_std,
            forget=0.0,
            level=0.0,
            own=self.own,
            paired=self.paired,
        )

    def check(self, spec, head_dim):
        check_routing(self, spec, self.seq_len)

    def said(self, answers):
        """Answers (B, K), a class each, as a model would give them: (B, K, classes)."""
        import numpy as np

        return np.eye(self.classes)[answers]

    def chunks(self, size):
        """The sizes of an evaluation's chunks: at most TOKENS tokens each."""
        chunk = max(1, TOKENS // self.seq_len)
        return [min(chunk, size - start) for start in range(0, size, chunk)]

    def loss(self, output, batch):
        from torch.nn.functional import cross_entropy

        target = batch.target.long()
        losses = cross_entropy(output.flatten(0, 2), target.flatten(), ignore_index=self.nothing, reduction="none")
        return losses.view(target.shape).sum((1, 2)) / (target != self.nothing).sum((1, 2))

    def score(self, output, batch):
        """The share of right answers of each slice, nan where it is empty."""
        right = (output.argmax(-1) == batch.target).to(output.dtype).flatten(1)
        return {name: means_where(right, asked.flatten(1)) for name, asked in self.asked(batch).items()}

    def counts(self, batch):
        return {name: asked.sum((1, 2)) for name, asked in self.asked(batch).items()}

    def asked(self, batch):
        """name -> (N, B, K), True at the answers that a score is the share of right ones of."""
        asked = batch.target != self.nothing
        return {name: asked & where for name, where in self.slices(batch).items()}

    def solved(self, score):
        return score["accuracy"] >= self.threshold

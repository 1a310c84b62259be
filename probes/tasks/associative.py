"""What the tasks of family A share: pairs of a key and a value, rows that ask for keys, and one layer over frozen embeddings."""

from __future__ import annotations

import functools
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from attnprobe.probes.tasks.task import Task, check_every_key

PRESENT = 0.99  # the share of asked keys whose value must be given
HALLUCINATION = 0.005  # the share of absent keys for which a value may be given
EMIT = 0.5  # a value is given iff o . e_v exceeds this: it is then nearer to o than 0 is
ASKED = 4  # present keys, and as many absent ones, where some are absent
WIDTH = 64  # model_dim; the default head_dim
CHUNK = 128  # contexts evaluated at once
SHARED_ROWS = ("selective", "dcp")  # biases that sum a mask over the rows between key and query


@dataclass(frozen=True)
class Associative(Task):
    """Token ids: keys 0..K-1, values K..K+V-1, then BOS. A context is [BOS] k v k v ..., with distinct keys and values drawn
    with replacement; after it stand the query rows, each a key's token, in random order. Query rows attend to the context alone.

    target: the value of a present key, V (silence) for an absent one. The model is one layer over frozen random embeddings of
    length 1 with W_V = W_O = I and no residual; W_Q, W_K, b_q and the normaliser's threshold train, scores are 4 q . k, and
    the loss is |o - e_value|^2, or |o|^2 at an absent key.

    Class attributes of a subclass: absent: rows that ask for a key which is not in the context; decoys: pairs whose key is
    e(other) + eps e(asked); amounts: the eps they take; start: how many BOS tokens stand first.
    """

    pairs: int = field(default=8, metadata={"help": "Key-value pairs in a context."})
    keys: int = field(default=32, metadata={"help": "Keys in the vocabulary."})
    values: int = field(default=4, metadata={"help": "Values in the vocabulary."})

    metric = "present"
    better = "high"
    threshold = PRESENT
    head_dim = WIDTH
    reference = "pn_fir_tau"
    absent = 0
    decoys = 0
    amounts: ClassVar[tuple[float, ...]] = ()
    start = 0
    valueless = 0
    shift = 0.0

    def __post_init__(self):
        super().__post_init__()
        least = max(2, self.present)
        if not least <= self.pairs <= WIDTH:
            raise ValueError(f"pairs must be from {least} to {WIDTH}, not {self.pairs}: {self.present} of them are asked for")
        needed = self.pairs + self.absent + self.decoys
        if not needed <= self.keys <= 2 * WIDTH:
            raise ValueError(f"keys must be from {needed} (pairs, decoys and absent keys are distinct) to {2 * WIDTH}, not {self.keys}")
        if not 2 <= self.values <= WIDTH:
            raise ValueError(f"values must be from 2 to {WIDTH}, not {self.values}")

    @property
    @abstractmethod
    def present(self):
        """How many rows ask for a key of the context."""

    @property
    @abstractmethod
    def steps(self):
        """Optimiser steps."""

    @property
    def rows(self):
        """Query rows."""
        return self.present + self.absent

    @property
    def context(self):
        """Tokens before the query rows."""
        return self.start + 2 * (self.pairs + self.decoys)

    @property
    def recipe(self):
        from attnprobe.probes.recipe import Recipe

        return Recipe(steps=self.steps, lr=0.01, batch=24, warm_up=20, floor=0.05, betas=(0.9, 0.99))

    @property
    def model(self):
        from attnprobe.probes.model_spec import ModelSpec

        return ModelSpec(
            vocab_size=self.keys + self.values + self.start,
            seq_len=self.context + self.rows,
            embedding="frozen",
            values="identity",
            query="token",
            rows=self.rows,
            model_dim=WIDTH,
            key_std=WIDTH**-0.5,
            score_scale=4.0,
            score_shift=self.shift,
            query_bias=True,
            mixed=self.decoys > 0,
            valueless=self.valueless,
        )

    def check(self, spec, head_dim):
        check_every_key(self, spec)
        for layer in spec.of_layers(self.layers):
            if layer.bias.name in SHARED_ROWS:
                raise ValueError(
                    f"{layer.bias.name} makes no sense on {self.name}: it sums a mask over the rows between key and query, "
                    f"and here each query row asks alone, of a context whose own rows ask nothing"
                )

    @property
    def readers(self):
        from attnprobe.probes import recall_baselines as read

        places = self.pairs + self.decoys
        of_a_place = (1 + (places - 1) / self.values) / places  # the asked pair's value, or another that is equal by chance
        stated = {
            read.lookup: ("exact", 1.0),
            read.unigram: ("unigram", 1 / self.values),
            read.last_value: ("last value", of_a_place),
            read.position: ("position", of_a_place),
            read.majority: ("majority", read.majority_share(places, self.values)),
        }
        stated |= {read.silence: ("silence", 0.0)} if self.absent else {}
        stated |= {read.decoy: ("decoy", 1 / self.values)} if self.decoys else {}
        return {name: (functools.partial(rule, self), share) for rule, (name, share) in stated.items()}

    def as_output(self, said):
        """Answers (B, rows), V for silence, as Seen: a table of unit vectors, the answer's own as output, and no weights."""
        import numpy as np
        import torch

        from attnprobe.probes.model import Seen

        table = torch.eye(self.model.vocab_size, dtype=torch.float64)
        values = torch.cat([table[self.keys : self.keys + self.values], torch.zeros_like(table[:1])])  # silence last
        output = values[torch.from_numpy(np.ascontiguousarray(said))][None]
        return Seen(output, torch.zeros(*output.shape[:3], self.model.seq_len, dtype=torch.float64), table[None])

    def sample(self, rng, n):
        import numpy as np

        return self.encode(rng, n, np.asarray(self.amounts)[rng.integers(0, len(self.amounts), n)] if self.amounts else None)

    def evaluation(self, rng, size):
        """Chunks with every eps equally often."""
        import numpy as np

        for first in range(0, size, CHUNK):
            n = min(CHUNK, size - first)
            yield self.encode(rng, n, np.resize(self.amounts, n) if self.amounts else None)

    def encode(self, rng, n, eps):
        """n contexts with their rows; eps (n,) where there are decoys."""
        from attnprobe.probes.tasks.pairs import Sizes, contexts

        sizes = Sizes(self.pairs, self.keys, self.values, self.present, self.absent, self.decoys, self.start)
        return contexts(rng, n, sizes, eps)

    def loss(self, output, batch):
        import torch

        from attnprobe.probes.mixers.stream import Lookup

        values = output.table[:, self.keys : self.keys + self.values]
        answers = torch.cat([values, torch.zeros_like(values[:, :1])], 1)  # (N, V + 1, M), silence last
        wanted = Lookup(answers, batch.target, None).dense()  # (N, B, rows, M)
        return (output.output - wanted).square().sum(-1).mean((1, 2))

    def said(self, output):
        """The value that each row gives (N, B, rows), V where it is silent: the nearest of the values and, if keys may be absent, 0."""
        import torch

        values = output.table[:, self.keys : self.keys + self.values]
        near = (output.output.flatten(1, 2) @ values.mT).view(*output.output.shape[:3], -1)  # (N, B, rows, V)
        best = near.max(-1)
        return torch.where(best.values > EMIT, best.indices, self.values) if self.absent else best.indices

    def score(self, output, batch):
        """present: right answers at present keys; dead: present keys whose row has no weight at all; with absent keys,
        hallucination: a value given for one, and mass: its row's weights; sink: its weight on BOS; then slices of present
        and hallucination, by the eps of the decoys or by the asked pair's half of the context."""
        said, mass = self.said(output), output.weights.sum(-1)
        present = batch.target < self.values
        right, given = said == batch.target, said < self.values
        made = {"present": share(right, present), "dead": share(mass == 0, present)}
        if self.absent:
            made |= {"hallucination": share(given, ~present), "mass": share(mass, ~present)}
        if self.start:
            made["sink"] = share(output.weights[..., 0], ~present)
        for eps in self.amounts:
            of_eps = ((batch.side["eps"] - eps).abs() < 1e-4)[..., None]
            made[f"present@{eps:g}"] = share(right, present & of_eps)
            made[f"hallucination@{eps:g}"] = share(given, ~present & of_eps)
        if not self.absent:
            early = batch.side["slot"] < self.pairs // 2
            made |= {"present@early": share(right, early), "present@late": share(right, ~early)}
        return made

    def picture(self, batch):
        """Tokens as k = key, v = value, ? = a row that asks for a key; below, whose decoy a pair is, and the answers."""
        K, tokens = self.keys, batch.tokens[0]
        names = [f"k{t}" if t < K else f"v{t - K}" if t < K + self.values else "bos" for t in map(int, tokens[: self.context])]
        yield "token", [*names, *(f"?k{t}" for t in tokens[self.context :])]
        if self.decoys:
            pulled = zip(batch.side["mix"][0], batch.side["amount"][0], strict=True)
            yield "decoy", [f"k{t}" if amount else "" for t, amount in pulled]
        yield "answer", [*([""] * self.context), *("-" if v == self.values else f"v{v}" for v in batch.target[0])]


def share(x, where):
    """The mean of x over the rows where `where`: two (N, B, rows) -> (N,), nan where there are none."""
    from attnprobe.probes.tasks.task import means_where

    return means_where(x.double().flatten(1), where.expand_as(x).flatten(1))

"""Topic: weak evidence all over the first half of the sequence, asked for at its end."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.distant import CLASSES, FILLERS, Distant

SHARE = 0.3  # of the first half's tokens that are the topic's for certain
STRENGTHS = {"weak": (-1.0, 0.2), "middle": (0.2, 0.3), "strong": (0.3, 1.0)}  # lead over the runner-up, as a share of the evidence


@register("topic", paper="ours, for stochastic attention", family="E2")
@dataclass(frozen=True)
class Topic(Distant):
    """Which of 8 topics is the first half about? Diffuse evidence, asked for in the last quarter.

    128 tokens: each of the first 64 is the topic's token with chance 0.3, else that of a topic drawn from all 8; the rest are
    fillers of 8 kinds; the target at each of the last 32 positions is the topic.

        *2  *6  *2  *0  *2  *5  ...  |  c  a  h  ...  |  e  b  b  ...     at every position after the second bar: 2

    Choices of ours: the task itself, model_dim 32, two heads, three layers, 350 steps of batch 8, initial weights, 256 held-out
    sequences, solved = accuracy >= 0.9 at one draw of a random routing.

    The Bayes reader, who answers the most frequent topic and of equal ones any, scores 0.9995. Answers that read less: any one
    topic 0.125; one evidence token 0.39; the last 16 of them 0.88; the last 46 positions, what three windows of 16 reach, 0.33:
    they hold evidence at the first 13 of the 32 queries alone.

    Scores: accuracy, by the strength of the evidence (the topic's lead over the runner-up, as a share of all evidence: weak up to 0.2,
    middle up to 0.3, strong above), and accuracy8.
    """

    shown = ("accuracy8", *STRENGTHS)

    @property
    def rows(self):
        return self.seq_len // 4

    def sample(self, rng, n):
        import numpy as np

        half = self.seq_len // 2
        topic = rng.integers(0, CLASSES, n, dtype=np.uint8)
        evidence = rng.integers(0, CLASSES, (n, half), dtype=np.uint8)
        evidence = np.where(rng.random((n, half), dtype=np.float32) < SHARE, topic[:, None], evidence)
        tokens = np.empty((n, self.seq_len), np.uint8)
        tokens[:, :half] = FILLERS + evidence
        tokens[:, half:] = rng.integers(0, FILLERS, (n, self.seq_len - half), dtype=np.uint8)
        counts = (evidence[:, None] == np.arange(CLASSES, dtype=np.uint8)[:, None]).sum(-1)  # (n, classes)
        own = np.take_along_axis(counts, topic[:, None].astype(np.intp), 1)[:, 0]
        np.put_along_axis(counts, topic[:, None].astype(np.intp), -1, 1)
        return self.batch(tokens, topic, {"lead": (own - counts.max(1)).astype(np.int16)})

    @property
    def readers(self):
        import numpy as np

        half = self.seq_len // 2

        def most_frequent(first):
            """Of the evidence from `first` on."""
            return lambda batch: self.said((batch.tokens[:, first:half, None] - FILLERS == np.arange(CLASSES)).sum(1).argmax(-1))

        return {
            "bayes": (most_frequent(0), best_share(half)),
            "majority": (lambda batch: self.said(np.zeros(len(batch.tokens), int)), 1 / CLASSES),
            "one token": (most_frequent(half - 1), best_share(1)),
        }

    def slices(self, batch):
        lead = batch.side["lead"] / (self.seq_len // 2)  # (N, B)
        return {name: ((lead > low) & (lead <= high))[..., None] for name, (low, high) in STRENGTHS.items()}


@functools.cache
def best_share(n):
    """The exact score of the best reader of n evidence tokens: the most frequent class, of equal ones any.

    Its class comes k times with chance Binomial(n, SHARE + (1 - SHARE) / CLASSES). The others share the rest evenly: their counts are
    those of independent Poisson variables given the sum, and of these all are below k, or j of them k, where the class wins one of j + 1.
    """
    import numpy as np
    from scipy.stats import binom, poisson

    total, others = 0.0, CLASSES - 1
    for k, chance in enumerate(binom.pmf(np.arange(n + 1), n, SHARE + (1 - SHARE) / CLASSES)):
        rest = n - k
        of_one = poisson.pmf(np.arange(rest + 1), rest / others)
        below = np.where(np.arange(rest + 1) < k, of_one, 0)
        ways = [np.eye(rest + 1)[0]]  # of sums of 0, 1, ... of them
        for _ in range(others):
            ways.append(np.convolve(ways[-1], below)[: rest + 1])
        for j in range(min(others, rest // k if k else others) + 1):
            tied = math.comb(others, j) * poisson.pmf(k, rest / others) ** j * ways[others - j][rest - j * k]
            total += chance * tied / poisson.pmf(rest, rest) / (j + 1)
    return float(total)

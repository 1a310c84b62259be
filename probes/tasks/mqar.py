"""Multi-query associative recall: pairs of a key and a value, then the keys again, at power-law gaps, each asking for its value."""

from __future__ import annotations

from dataclasses import dataclass, field

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.decoder import Decoder
from attnprobe.probes.trace import Trace

LARGEST = 1 << 13  # vocabulary
LONGEST = 1 << 10  # sequence


@register("mqar", paper="Arora et al. 2023, Zoology; FPA", family="C5")
@dataclass(frozen=True)
class Mqar(Decoder):
    """What value stood after each key that comes again: two layers must first write a key into the place of its value.

    Zoology's layout: distinct keys, each followed by its value, values distinct too; then every key once more, at an even
    distance from the pairs whose gaps are drawn without replacement with chances as g^(a-1), in the order of the pairs; zeros
    elsewhere. Token 0 is the filler, 1..V/2-1 are keys, V/2..V-1 values (two pairs here):

        k7 v3 k2 v9 k7  .  .  .  .  . k2  .      answers: v3 at the second k7, v9 at the second k2

    With --stacked a position holds two tokens, each embedded in half of the width: a key beside its value, then a key or the filler
    beside the filler. A layer that looks its key up finds the value there: no shift is needed, and the model has one layer.

    An exact reader scores 1. Answers that read less: one fixed value 0.03 (majority), a value of the pairs 0.25 (unigram), the last
    pair's value 0.25 (last write), the value of the pair in the query's place among the queries 0.30 (position).

    Scores: accuracy, and by whether the gap is one of the nearest quarter.

    --intervene changes FPA's bias b in layer 1 alone, in every arm that has it in all layers; --ablation runs the documented set:
    clamp=c max(b, -c); off-until=K b = 0 before step K; warmup=K b min(1, step / K) (these two are judged at the last step alone);
    freeze its parameters keep their start; zero-own, only-own b = 0 there, or only there, where a value looks at its own key;
    zero-offset=j b = 0 at distance j; const=c no b, but -c from a value to its own key; field-scale=a its maps start a times as large.
    Followed in training (--trace): the bias, and the attention, from a value to its own key in layer 1.

    Choices of ours: the layout without a next token after a query, readout over the values alone (Zoology: all tokens), zeros
    between queries (Zoology: random tokens by default), sizes, the model (learned positions, no MLP, one head, width 32) and recipe;
    every initial weight N(0, init_std), output projections divided by sqrt(2 layers); the stacked form's two halves.
    The reference is softmax: it has no bias to remove from layer 1, and exists at every number of layers.
    """

    seq_len: int = field(default=32, metadata={"help": "Positions."})
    vocabulary: int = field(default=64, metadata={"help": "Tokens: the filler, keys, and from the middle on values."})
    pairs: int = field(default=4, metadata={"help": "Key-value pairs."})
    gap_exponent: float = field(default=0.01, metadata={"help": "a: a query's gap g has chance ~ g^(a-1)."})
    layers: int | None = field(default=None, metadata={"help": "Layers of the model; default: 2, stacked 1."})  # type: ignore[assignment]
    init_std: float = field(default=0.03, metadata={"help": "Standard deviation of initial weights."})
    field_std: float | None = field(default=None, metadata={"help": "The same of a bias's maps; default: as init_std."})
    stacked: bool = field(default=False, metadata={"help": "Key and value in one position; one layer."})

    reference = "softmax"
    steps = 1000
    batch = 32
    decay = 0.1
    mlp = 0
    positions = "learned"
    nothing = -1  # every scored position asks
    ablation = (
        "clamp=0.1", "clamp=0.3", "clamp=1", "off-until=500", "freeze", "zero-own", "only-own", "zero-offset=2", "const=1", "const=3",
        "warmup=300", "warmup=600", "field-scale=0.1",
    )  # fmt: skip

    def __post_init__(self):
        super().__post_init__()
        defaults = {"layers": 1 if self.stacked else 2, "field_std": self.init_std}
        for name, value in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        if not 4 <= self.vocabulary <= LARGEST or self.vocabulary % 2:
            raise ValueError(f"vocabulary must be even (half of it is values), from 4 to {LARGEST}, not {self.vocabulary}")
        if not 1 <= self.pairs < self.vocabulary // 2:
            most = self.vocabulary // 2 - 1
            raise ValueError(f"pairs must be from 1 to {most}, not {self.pairs}: a vocabulary of {self.vocabulary} has {most} keys")
        if not 2 * self.first <= self.seq_len <= LONGEST:
            raise ValueError(
                f"seq_len must be from {2 * self.first} (pairs, then room for as many queries) to {LONGEST}, not {self.seq_len}"
            )
        for name, (low, high) in {"layers": (1, 8), "gap_exponent": (1e-3, 2), "init_std": (1e-4, 1), "field_std": (1e-4, 1)}.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} must be from {low:g} to {high:g}, not {getattr(self, name)}")

    @property
    def lookup(self):
        return not self.stacked

    @property
    def span(self):
        """Positions that a pair, or a query and what follows it, takes."""
        return 1 if self.stacked else 2

    @property
    def first(self):
        return self.span * self.pairs

    @property
    def space(self):
        """Where a query may stand."""
        return (self.seq_len - self.first) // self.span

    @property
    def vocab_size(self):
        return self.vocabulary

    @property
    def classes(self):
        return self.vocabulary // 2

    @property
    def std(self):
        return self.init_std

    @property
    def bias_std(self):
        return self.field_std

    @property
    def paired(self):
        return self.stacked

    @property
    def own(self):
        return () if self.stacked else tuple(range(1, self.first, 2))

    @property
    def traced(self):
        return (Trace("own key", 1, self.own, tuple(t - 1 for t in self.own)),) if self.own else ()

    @property
    def arms(self):
        """The bias in every layer, in none, and in every layer but the first."""
        below = ("/".join(["softmax", *["fpa"] * (self.layers - 1)]),) if self.layers > 1 else ()
        return ("softmax", "fpa", *below)

    def sample(self, rng, n):
        import numpy as np

        from attnprobe.probes.batch import Batch

        small = np.uint8 if self.vocabulary <= 256 else np.int16
        half, P = self.vocabulary // 2, self.pairs
        keys = distinct(rng, n, half - 1, P).astype(small) + small(1)
        values = distinct(rng, n, half, P)
        chance = np.arange(1, self.space + 1, dtype=np.float32) ** np.float32(self.gap_exponent - 1)
        waits = rng.standard_exponential((n, self.space), dtype=np.float32) / chance
        gaps = np.argsort(waits, 1)[:, :P]  # in the order of a draw without replacement
        at = (self.first + self.span * gaps).astype(np.int16)
        tokens = np.zeros((n, self.seq_len), small)
        beside, shown = np.zeros_like(tokens), (values + half).astype(small)
        tokens[:, : self.first : self.span] = keys
        (beside[:, :P] if self.stacked else tokens[:, 1 : self.first : 2])[:] = shown
        np.put_along_axis(tokens, at.astype(np.intp), keys, 1)
        side = {"gap": gaps.astype(np.int16)} | ({"beside": beside} if self.stacked else {})
        return Batch(tokens, values.astype(np.int16), at, np.ones(self.seq_len, bool), side)

    @property
    def readers(self):
        import numpy as np

        half = self.vocabulary // 2

        def values(batch):
            shown = batch.side["beside"][:, : self.pairs] if self.stacked else batch.tokens[:, 1 : self.first : 2]
            return shown.astype(int) - half

        def exact(batch):
            asked = np.take_along_axis(batch.tokens, batch.scored.astype(np.intp), 1)
            pair = (asked[:, :, None] == batch.tokens[:, None, : self.first : self.span]).argmax(-1)
            return self.said(np.take_along_axis(values(batch), pair, 1))

        return {
            "exact": (exact, 1.0),
            "majority": (lambda batch: self.said(0 * values(batch)), 1 / half),
            "unigram": (lambda batch: self.said(values(batch)[:, :1].repeat(self.pairs, 1)), 1 / self.pairs),
            "last write": (lambda batch: self.said(values(batch)[:, -1:].repeat(self.pairs, 1)), 1 / self.pairs),
        }

    def evaluation(self, rng, size):
        for n in self.chunks(size):
            yield self.sample(rng, n)

    def slices(self, batch):
        near = batch.side["gap"] < max(1, self.space // 4)
        return {"accuracy": True, "accuracy@near": near, "accuracy@far": ~near}

    def picture(self, batch):
        """k = key, v = value; below, in the stacked form, the second token of a position, and the answers."""
        half = self.vocabulary // 2

        def named(tokens):
            return ["." if t == 0 else f"k{t}" if t < half else f"v{t - half}" for t in map(int, tokens)]

        answers = dict(zip(batch.scored[0].tolist(), batch.target[0].tolist(), strict=True))
        yield "token", named(batch.tokens[0])
        if self.stacked:
            yield "beside", named(batch.side["beside"][0])
        yield "answer", [f"v{answers[t]}" if t in answers else "" for t in range(self.seq_len)]


def distinct(rng, n, count, k):
    """n draws of k of 0..count-1 without replacement, in random order: (n, k), by k swaps in rows of 0..count-1."""
    import numpy as np

    rows = np.arange(n)
    order = np.arange(count, dtype=np.int16)[None].repeat(n, 0)
    left = count - np.arange(k)
    to = np.arange(k) + (rng.random((n, k)) * left).astype(np.intp)
    for i in range(k):
        order[rows, to[:, i]], order[:, i] = order[:, i].copy(), order[rows, to[:, i]]
    return order[:, :k]

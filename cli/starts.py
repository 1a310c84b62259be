"""The files that `probe new` writes: one that runs as it is for each axis, and one for a task. @NAME@ and @CLASS@ are filled in."""

BIAS = '''"""A bias: a key names a price, paid by every later query."""

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Bias, Init
from attnprobe.probes.registry import register


@register("@NAME@", paper="ours")  # the name in specs, such as rope+@NAME@
@dataclass(frozen=True)  # its fields, if any, are parameters in a spec: @NAME@(field=value)
class @CLASS@(Bias):
    """b_ts = -softplus(w_h . x_s) where s < t, 0 at s = t."""

    def parameters(self, dims):
        """What is trained: name -> Init(shape without the seed axis, std or value). dims: model_dim, head_dim, num_heads, ..."""
        return {"price": Init((dims.model_dim, dims.num_heads), std=dims.field_std)}

    def __call__(self, p, x, scores, draw):
        """The bias, <= 0, of the last T queries on all S keys: broadcastable to scores (N seeds, B, H, T, S).

        p: the parameters, each (N, *shape); x: the layer's input, x.linear(w) maps it by w (N, M, C) to (N, B, S, C).
        """
        import torch

        T, S = scores.shape[-2:]
        price = torch.nn.functional.softplus(x.linear(p["price"])).movedim(-1, 2)  # (N, B, H, S)
        earlier = scores.new_ones(T, S).tril(S - T - 1)  # (T, S): 1 where s < t; row 0 is position S - T
        return -price[..., None, :] * earlier  # (N, B, H, T, S)
'''

NORMALISER = '''"""A normaliser: squares of positive scores, over one more than their sum."""

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Floored
from attnprobe.probes.registry import register


@register("@NAME@", paper="ours")  # the name in specs, such as rope+@NAME@
@dataclass(frozen=True)  # its fields, if any, are parameters in a spec: @NAME@(field=value)
class @CLASS@(Floored):
    """relu(x)^2 / (1 + sum relu(x)^2): a row without a positive score is silent."""

    def parameters(self, dims):
        """What is trained: name -> Init(shape without the seed axis, std or value)."""
        return {}

    def __call__(self, p, scores, mask):
        """Weights >= 0 of scores (N seeds, B, H, T, S), 0 where mask is False; a row sums to at most 1.

        What a masked key scores must not count: it may be anything. Floored takes log(weights + 1e-6) where a task compares
        logarithms; derive from Normaliser, with log and finish of your own, where that is exact.
        """
        x = scores.relu().masked_fill(~mask, 0)
        m = x.amax(-1, keepdim=True).clamp(min=1).detach()  # cancels, and keeps squares of large scores finite
        u = (x / m).square()
        return u / (m**-2 + u.sum(-1, keepdim=True))
'''

POSITION = '''"""A position: keys shrink along the sequence."""

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Position
from attnprobe.probes.registry import register


@register("@NAME@", paper="ours")  # the name in specs, such as @NAME@+fpa
@dataclass(frozen=True)  # its fields are parameters in a spec: @NAME@(rate=0.9)
class @CLASS@(Position):
    """k_s times rate^s; queries as they are."""

    rate: float = 0.98

    def __post_init__(self):
        if not 0 < self.rate <= 1:
            raise ValueError(f"@NAME@: rate must be above 0, and at most 1 (no positions), not {self.rate}")

    def parameters(self, dims):
        """What is trained: name -> Init(shape without the seed axis, std or value)."""
        return {}

    def __call__(self, p, q, k):
        """q (N seeds, B, H, T, D) of the last T positions, k (N, B, H, S, D) of all S -> the same shapes."""
        import torch

        s = torch.arange(k.shape[-2], device=k.device, dtype=k.dtype)
        return q, k * self.rate ** s[:, None]
'''

KEY_FILTER = '''"""A key filter: a key carries part of the one before it."""

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Init, KeyFilter
from attnprobe.probes.registry import register


@register("@NAME@", paper="ours")  # the name in specs, such as @NAME@+rope
@dataclass(frozen=True)  # its fields, if any, are parameters in a spec: @NAME@(field=value)
class @CLASS@(KeyFilter):
    """k~_s = k_s + a_h k_{s-1}, k_{-1} = 0."""

    def parameters(self, dims):
        """What is trained: name -> Init(shape without the seed axis, std or value)."""
        return {"a": Init((dims.num_heads, 1, 1), value=0.5)}

    def __call__(self, p, k):
        """k (N seeds, B, H, S, D), before positions -> the same shape."""
        import torch

        before = torch.nn.functional.pad(k, (0, 0, 1, 0))[..., :-1, :]  # k_{s-1}
        return k + p["a"][:, None] * before
'''

ROUTING = '''"""A routing: every second key, counted back from the query."""

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import OnePath
from attnprobe.probes.registry import register


@register("@NAME@", paper="ours")  # the name in specs, such as rope+@NAME@(stride=3)
@dataclass(frozen=True)
class @CLASS@(OnePath):
    """t sees s <= t iff t - s is a multiple of stride; OnePath: one mask, nothing to train."""

    stride: int = 2

    content_free = True  # masks do not depend on queries and keys

    def __post_init__(self):
        if self.stride < 1:
            raise ValueError(f"@NAME@: stride must be at least 1, not {self.stride}")

    @classmethod
    def of_window(cls, w):
        """The routing that --swap --window w stands for; refuse where it has no window."""
        raise ValueError("@NAME@ has a stride and no window: name it in a spec")

    def fits(self, seq_len):
        """Refuse sequences on which it makes no sense."""
        if self.stride >= seq_len:
            raise ValueError(f"@NAME@: stride must be below {seq_len}, the length of the sequence, not {self.stride}")

    def masks(self, q, k, draw):
        """True where a query may attend: broadcastable to (N seeds, B, H, T, S). q: the last T positions, k: all S. A query sees itself."""
        import torch

        T, S = q.shape[-2], k.shape[-2]
        back = torch.arange(S - T, S, device=k.device)[:, None] - torch.arange(S, device=k.device)  # (T, S): t - s
        return [(back >= 0) & (back % self.stride == 0)]
'''

TASK = '''"""A task: the symbol that stands after the mark."""

from dataclasses import dataclass, field

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.decoder import Decoder


@register("@NAME@", paper="ours")  # the command: probe run @NAME@
@dataclass(frozen=True)  # its fields are options of the command
class @CLASS@(Decoder):
    """Which symbol stood after the mark, asked at the end: one must be found by what stands before it.

    Symbols, one mark among them, and a question:

        c a * b a d ... ?      answer: b

    An exact reader scores 1. Answers that read less: one fixed symbol 0.13 (majority), the last symbol 0.20 (last write).

    Scores: accuracy, and by whether the mark stands in the first half.

    Choices of ours: all of it. Decoder gives two layers, the loss, the recipe and the rule for "solved"; see it for what to change.
    """

    symbols: int = field(default=8, metadata={"help": "Symbols, from 2 to 32."})

    seq_len = 13
    first = 12  # the first scored position

    def __post_init__(self):
        if not 2 <= self.symbols <= 32:
            raise ValueError(f"symbols must be from 2 to 32, not {self.symbols}")

    @property
    def vocab_size(self):
        return self.symbols + 2  # and the mark, and the question

    @property
    def classes(self):
        return self.symbols

    def sample(self, rng, n):
        """n examples, a function of rng alone, without a loop over them."""
        import numpy as np

        from attnprobe.probes.batch import Batch

        tokens = rng.integers(0, self.symbols, (n, self.seq_len), dtype=np.uint8)
        mark = rng.integers(0, self.first - 1, n)  # a symbol follows
        rows = np.arange(n)
        tokens[rows, mark], tokens[:, -1] = self.symbols, self.symbols + 1
        target = tokens[rows, mark + 1][:, None]  # (n, 1): one answer at each scored position
        return Batch(tokens, target, np.array([self.first]), np.ones(self.seq_len, bool), {"mark": mark})

    def evaluation(self, rng, size):
        """Sequences that are scored, in chunks; training and evaluation have streams of their own."""
        for n in self.chunks(size):
            yield self.sample(rng, n)

    def slices(self, batch):
        """Scores: name -> where it is taken; `accuracy` decides."""
        early = (batch.side["mark"] < self.first // 2)[..., None]
        return {"accuracy": True, "accuracy@early": early, "accuracy@late": ~early}

    @property
    def readers(self):
        """What `probe check` holds the task to: rules that read tokens, and their accuracy."""
        import numpy as np

        def exact(batch):
            mark = (batch.tokens == self.symbols).argmax(1)
            return self.said(batch.tokens[np.arange(len(mark)), mark + 1][:, None])

        return {
            "exact": (exact, 1.0),
            "majority": (lambda batch: self.said(np.zeros((len(batch.tokens), 1), int)), 1 / self.symbols),
            "last write": (lambda batch: self.said(batch.tokens[:, -2:-1]), (1 + 10 / self.symbols) / 11),
        }

    def picture(self, batch):
        """Symbols by letters, * the mark, ? the question; below, the answer. A cell a position."""
        letters = [chr(ord("a") + i) if i < 26 else str(i) for i in range(self.symbols)]
        yield "token", [[*letters, "*", "?"][token] for token in batch.tokens[0]]
        yield "answer", [*[""] * self.first, letters[batch.target[0, 0]]]
'''

MIXERS = {"bias": BIAS, "normaliser": NORMALISER, "position": POSITION, "key_filter": KEY_FILTER, "routing": ROUTING}

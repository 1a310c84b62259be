"""Push and pop: which items are on the stack now, read by one attention row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from attnprobe.probes.registry import register
from attnprobe.probes.tasks.task import Task, check_every_key

THRESHOLD = 0.95  # share of sequences answered exactly
ITEMS, OPERATIONS = 8, 16
POP, BOS, QUERY = ITEMS, ITEMS + 1, ITEMS + 2
VALUE_DIM, HIDDEN = 16, 32
LETTERS = "abcdefgh"
SLICES = {"exact size 0": (0, 0), "exact size 2": (2, 2), "exact size 4+": (4, OPERATIONS)}  # after 16 operations it is even


@register("push-pop", paper="FPA, one-layer probes", family="B4")
@dataclass(frozen=True)
class PushPop(Task):
    """Which items are on the stack after 16 pushes and pops: an alive set that no age and no content tells.

    BOS, sixteen operations, query. An operation pushes one of 8 items (always where the stack is empty, else with chance 1/2)
    or pops. Membership is of item types: an item that was pushed twice and popped once is on the stack.

        bos  push a  push b  pop  push c  push a  pop  ...  ?        on the stack: a c (the first a, and c)

    `--ask top` asks for the top item instead, or "empty": alive keys all have bias 0, so that the bias of one layer does not say
    which is the latest.

    Choices of ours: features (item, push, pop, BOS, query), the query token as query (one row is computed), values of dimension
    16 read by a ReLU MLP of 32, binary cross-entropy (top: cross-entropy), solved = at least 95 % of 2048 held-out sequences
    answered exactly, learning rate, initial weights.

    An exact reader scores 1. Answers that read less, members / top: the most frequent answer, empty, 0.20 / 0.20; every item that was
    pushed (unigram) 0.03 / the most pushed 0.21; the last item pushed (last write) 0.02 / 0.53; the items of the last three
    operations (position) 0.19 / -.

    Scores: exact, and by the size of the stack, which is even after 16 operations.
    """

    ask: Literal["members", "top"] = field(default="members", metadata={"help": "Every item on the stack, or the top one."})

    head_dim = 8
    test_size = 2048
    metric = "exact"
    better = "high"
    threshold = THRESHOLD
    rule = f"exact >= {THRESHOLD}"
    arms = ("fpa", "fpa-sum", "fox", "softmax", "selective(maps=own)")
    seq_len = OPERATIONS + 2

    @property
    def recipe(self):
        from attnprobe.probes.recipe import Recipe

        return Recipe(steps=600, lr=0.01, batch=64)

    @property
    def model(self):
        from attnprobe.probes.model_spec import ModelSpec

        features = self.features()
        return ModelSpec(
            len(features), self.seq_len, "features", "learned", "token", rows=1, features=features, key_std=0.3, init_std=0.5,
            readout="mlp", value_dim=VALUE_DIM, hidden=HIDDEN, classes=ITEMS + (self.ask == "top"),
        )  # fmt: skip

    def features(self):
        """Fixed feature vectors (11, 12): item one-hot, push, pop, BOS, query. Ids: items (a push of each), pop, BOS, query."""
        import numpy as np

        eye = np.eye(QUERY + 1)
        return np.insert(eye, ITEMS, eye[:, :ITEMS].sum(1), axis=1)

    def check(self, spec, head_dim):
        check_every_key(self, spec)

    def sample(self, rng, n):
        import numpy as np

        from attnprobe.probes.batch import Batch

        codes = rng.integers(0, 2 * ITEMS, (OPERATIONS, n), dtype=np.uint8)  # an item, and in the upper half the wish to push
        items, wishes = codes % ITEMS, codes >= ITEMS
        size, sizes, pushes = np.zeros(n, dtype=np.int8), np.empty(codes.shape, dtype=np.int8), np.empty_like(wishes)
        for t in range(OPERATIONS):
            np.logical_or(wishes[t], size == 0, out=pushes[t])
            size = np.add(size, np.where(pushes[t], np.int8(1), np.int8(-1)), out=sizes[t])
        lowest, members, top = size, np.zeros(n, dtype=np.uint8), np.full(n, ITEMS, dtype=np.uint8)
        for t in reversed(range(OPERATIONS)):  # a push is on the stack where the size never falls below it again
            lowest = np.minimum(lowest, sizes[t])
            stays = pushes[t] & (lowest == sizes[t])
            members |= stays << items[t]
            top = np.where(stays & (top == ITEMS), items[t], top)
        tokens = np.full((n, self.seq_len), QUERY, dtype=np.uint8)
        tokens[:, 0], tokens[:, 1:-1] = BOS, np.where(pushes, items, POP).T
        target = np.unpackbits(members[:, None], axis=1, bitorder="little") if self.ask == "members" else top
        keys = np.arange(self.seq_len) < self.seq_len - 1
        return Batch(tokens, target, np.array([self.seq_len - 1]), keys, {"size": size.astype(np.uint8)})

    def evaluation(self, rng, size):
        yield self.sample(rng, size)

    @property
    def readers(self):
        import numpy as np

        every = np.arange(ITEMS)

        def operations(batch):
            return batch.tokens[:, 1:-1]

        def members(chosen):
            """(n, 8) as logits, one row."""
            return (np.asarray(chosen, dtype=float) - 0.5)[:, None]

        def item(chosen):
            """(n,), ITEMS for none, as logits of one row."""
            return np.eye(ITEMS + 1)[chosen][:, None]

        def on_stack(batch):
            """Which operations are pushes that no later height falls below: (n, 16)."""
            heights = np.where(pushes(batch), 1, -1).cumsum(1)
            return pushes(batch) & (np.minimum.accumulate(heights[:, ::-1], 1)[:, ::-1] == heights)

        def named(batch, where):
            """Where an operation pushes each item: (n, 16, 8)."""
            return where[:, :, None] & (operations(batch)[:, :, None] == every)

        def pushes(batch):
            return operations(batch) != POP

        def item_at(batch, at):
            return operations(batch)[np.arange(len(at)), at]

        def latest(batch, where):
            """The item of the last operation that is `where`, ITEMS where none is."""
            return np.where(where.any(1), item_at(batch, OPERATIONS - 1 - where[:, ::-1].argmax(1)), ITEMS)

        def most_pushed(batch):
            """Of equally frequent items the first, which the top rarely is."""
            times = (operations(batch)[:, :, None] == operations(batch)[:, None]).sum(-1)
            return item_at(batch, np.where(pushes(batch), times, 0).argmax(1))

        if self.ask == "top":
            return {
                "exact": (lambda batch: item(latest(batch, on_stack(batch))), 1.0),
                "majority": (lambda batch: item(np.full(len(batch.tokens), ITEMS)), 0.20),
                "unigram": (lambda batch: item(most_pushed(batch)), 0.21),
                "last write": (lambda batch: item(latest(batch, pushes(batch))), 0.53),
            }
        return {
            "exact": (lambda batch: members(named(batch, on_stack(batch)).any(1)), 1.0),
            "majority": (lambda batch: members(np.zeros((len(batch.tokens), ITEMS))), 0.20),
            "unigram": (lambda batch: members(named(batch, pushes(batch)).any(1)), 0.03),
            "last write": (lambda batch: members(latest(batch, pushes(batch))[:, None] == every), 0.02),
            "position": (lambda batch: members(named(batch, pushes(batch))[:, -3:].any(1)), 0.19),
        }

    def walks(self, batch):
        """The height of the stack; a push is written at the height that it makes."""
        from attnprobe.probes.walk import Key, Walk

        tokens = [int(token) for token in batch.tokens[0]]
        steps = [1 if token < ITEMS else -1 if token == POP else 0 for token in tokens]
        heights = tuple(sum(steps[: t + 1]) for t in range(self.seq_len))
        keys = tuple(Key(t, heights[t], LETTERS[token]) for t, token in enumerate(tokens) if token < ITEMS)
        return (Walk(heights, keys, killed="popped"),)

    def picture(self, batch):
        """Operations (an item's letter is a push), and under the query the items of the answer."""
        names = [*LETTERS, "pop", "bos", "?"]
        tokens, target = batch.tokens[0], batch.target[0]
        letters = [names[i] for i in target.nonzero()[0]] if self.ask == "members" else [] if target == ITEMS else [names[target]]
        yield "token", [names[token] for token in tokens]
        yield "answer", [*[""] * (self.seq_len - 1), "".join(letters) or "none"]

    def loss(self, output, batch):
        from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

        logits = output[:, :, 0]  # (N, B, classes)
        if self.ask == "members":
            return binary_cross_entropy_with_logits(logits, batch.target.to(logits.dtype), reduction="none").mean((-1, -2))
        return cross_entropy(logits.movedim(-1, 1), batch.target.long(), reduction="none").mean(-1)

    def score(self, output, batch):
        """exact: the share of sequences answered exactly, and by the size of the stack."""
        from attnprobe.probes.tasks.task import means_where

        logits, size = output[:, :, 0], batch.side["size"]
        right = ((logits > 0) == (batch.target > 0)).all(-1) if self.ask == "members" else logits.argmax(-1) == batch.target
        right = right.to(logits.dtype)
        return {"exact": right.mean(-1)} | {
            name: means_where(right, (size >= low) & (size <= high)) for name, (low, high) in SLICES.items()
        }

    def solved(self, score):
        return score["exact"] >= self.threshold

"""Batch: the only value that passes between a task and training."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Batch:
    """Examples of one seed (numpy, no N axis) or of a stack of seeds (torch, leading N axis).

    tokens (B, T) integers; target (B, ...) what the loss compares with; scored: positions whose rows are scored,
    (T',) or, where they differ by example, (B, T');
    keys (T,) boolean, which positions may be attended to; side: what an oracle query (bits (B, P)) or an embedding needs, each (B, ...).
    key_tokens, of a stack only: tokens with every position that is no key blanked to 0, (N, 1, T) where that is the same in
    all examples (a ladder's rungs), so that keys are computed once and broadcast, else (N, B, T).
    every_key, of a stack only: whether keys is True everywhere, known without asking the device.
    """

    tokens: Any
    target: Any
    scored: Any
    keys: Any
    side: dict = field(default_factory=dict)
    key_tokens: Any = None
    every_key: bool = False

    def arrays(self):
        """The per-example arrays, in a fixed order."""
        return [self.tokens, self.target, *(self.side[name] for name in sorted(self.side))]

    def examples(self, first, last):
        """Examples first..last-1 of a stack."""

        def part(x):
            return x[:, first:last]

        side = {name: part(x) for name, x in self.side.items()}
        scored = self.scored if self.scored.dim() == 1 else part(self.scored)
        key_tokens = self.key_tokens if self.key_tokens.shape[1] == 1 else part(self.key_tokens)
        return replace(self, tokens=part(self.tokens), target=part(self.target), scored=scored, side=side, key_tokens=key_tokens)


def stack(batches, device, dtype):
    """One Batch of tensors (N, B, ...) from N seeds' numpy Batches; floating arrays become `dtype`."""
    import numpy as np
    import torch

    def tensor(arrays):
        x = torch.from_numpy(np.stack(arrays)).to(device)
        return x.to(dtype) if x.is_floating_point() else x

    first = batches[0]
    tokens = np.stack([b.tokens for b in batches])
    key_tokens = np.where(first.keys, tokens, 0).astype(tokens.dtype)
    if (key_tokens == key_tokens[:, :1]).all():
        key_tokens = key_tokens[:, :1]
    return Batch(
        tensor(tokens),
        tensor([b.target for b in batches]),
        torch.as_tensor(first.scored, device=device) if first.scored.ndim == 1 else tensor([b.scored for b in batches]).long(),
        torch.as_tensor(first.keys, device=device),
        {name: tensor([b.side[name] for b in batches]) for name in first.side},
        tensor(key_tokens),
        bool(first.keys.all()),
    )

"""Mixture of block attention: the query's own block, and the past blocks whose mean key it likes best."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import OnePath
from attnprobe.probes.mixers.routing.full import causal
from attnprobe.probes.registry import register

BLOCK = 8  # of a routing made for a window


@register("moba", paper="Lu et al. 2025, Mixture of Block Attention")
@dataclass(frozen=True)
class Moba(OnePath):
    """Keys in blocks of `block`: the query's own block up to the query, and of the past blocks the top - 1 best.

    A block's score is q_t . the mean of its keys, positions applied, for each head; of equal ones the later is taken. No
    gradient passes through the choice. The last block may be short; a sequence of one block is full attention.
    """

    block: int = 8
    top: int = 2

    def __post_init__(self):
        for name, value in {"block": self.block, "top": self.top}.items():
            if value < 1:
                raise ValueError(f"moba: {name} must be at least 1, not {value}")

    @classmethod
    def of_window(cls, w):
        if w < BLOCK or w % BLOCK:
            raise ValueError(f"moba: a window is made of blocks of {BLOCK}, so it must be a multiple of {BLOCK}, not {w}")
        return cls(BLOCK, w // BLOCK)

    def fits(self, seq_len):
        if seq_len <= self.block:
            raise ValueError(f"moba: block must be below {seq_len}, the length of the sequence, not {self.block}: it needs two blocks")
        if self.top > -(-seq_len // self.block):
            raise ValueError(f"moba: top must be at most {-(-seq_len // self.block)}, the blocks of the sequence, not {self.top}")

    def masks(self, q, k, draw):
        import torch

        T, S = q.shape[-2], k.shape[-2]
        count = -(-S // self.block)
        blocks = torch.arange(count, device=k.device)
        own = torch.arange(S - T, S, device=k.device)[:, None] // self.block  # (T, 1)
        score = q.detach() @ self.means(k.detach(), count).mT  # (N, B, H, T, count)
        score = score.masked_fill(blocks >= own, -torch.inf)  # where fewer past blocks are left than are chosen, causality drops the rest
        best = score.flip(-1).argsort(dim=-1, descending=True, stable=True)[..., : self.top - 1]
        chosen = torch.zeros_like(score, dtype=torch.bool).scatter_(-1, count - 1 - best, True)
        return [(chosen | (blocks == own)).repeat_interleave(self.block, -1)[..., :S] & causal(T, S, k.device)]

    def means(self, k, count):
        """The mean key of each block, the last of which may be short: (N, B, H, count, D)."""
        import torch

        S = k.shape[-2]
        sizes = torch.full((count, 1), self.block, dtype=k.dtype, device=k.device)
        sizes[-1] = S - (count - 1) * self.block
        whole = torch.nn.functional.pad(k, (0, 0, 0, count * self.block - S))
        return whole.unflatten(-2, (count, self.block)).sum(-2) / sizes

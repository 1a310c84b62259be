"""A layer's input, as what its linear maps are taken of: dense vectors, rows of a table named by tokens, or a mixture of two rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Dense:
    """values (N, B, T, M)."""

    values: Any

    @property
    def length(self):
        """T, the number of positions."""
        return self.values.shape[2]

    def linear(self, weight):
        """weight (N, M, C) -> (N, B, T, C)."""
        N, B, T, M = self.values.shape
        return (self.values.reshape(N, B * T, M) @ weight).view(N, B, T, -1)

    def last(self, rows):
        """The input at the last `rows` positions."""
        return Dense(self.values[:, :, -rows:])

    def columns(self, which):
        """The input with these of its M coordinates alone, in order; None: all of them."""
        return self if which is None else Dense(self.values[..., which])

    def keys(self):
        """The input right at every key position; elsewhere, anything."""
        return self

    def dense(self):
        """The vectors themselves (N, B, T, M)."""
        return self.values


@dataclass(frozen=True)
class Lookup:
    """x = table[tokens]: table (V, M), or (N, V, M) for one a seed; tokens (N, B, T). A map is taken of the V rows, then looked up.

    key_tokens (N, 1 or B, T): see Batch.
    """

    table: Any
    tokens: Any
    key_tokens: Any

    @property
    def length(self):
        """T, the number of positions."""
        return self.tokens.shape[2]

    def linear(self, weight):
        """weight (N, M, C) -> (N, B, T, C)."""
        return self.looked_up(self.table @ weight)  # of (N, V, C)

    def looked_up(self, rows):
        """rows (N, V, C) -> (N, B, T, C)."""
        import torch

        N, V, C = rows.shape
        first = torch.arange(0, N * V, V, device=rows.device)[:, None, None]
        return rows.reshape(N * V, C).index_select(0, (self.tokens + first).flatten()).view(*self.tokens.shape, C)

    def last(self, rows):
        """The input at the last `rows` positions."""
        return Lookup(self.table, self.tokens[:, :, -rows:], self.key_tokens[:, :, -rows:])

    def columns(self, which):
        """The input with these of its M coordinates alone, in order; None: all of them."""
        return self if which is None else Lookup(self.table[..., which], self.tokens, self.key_tokens)

    def keys(self):
        """The input right at every key position; elsewhere, anything. Its B is 1 where keys do not depend on the example."""
        return Lookup(self.table, self.key_tokens, self.key_tokens)

    def dense(self):
        """The vectors themselves (N, B, T, M)."""
        return self.looked_up(self.table.expand(self.tokens.shape[0], -1, -1))


@dataclass(frozen=True)
class Mixture:
    """x = base + amount * other: two Lookups and amount (N, B, T), 0 where a position is one token alone."""

    base: Any
    other: Any
    amount: Any

    @property
    def length(self):
        """T, the number of positions."""
        return self.base.length

    def linear(self, weight):
        """weight (N, M, C) -> (N, B, T, C)."""
        return self.base.linear(weight) + self.amount[..., None] * self.other.linear(weight)

    def last(self, rows):
        """The input at the last `rows` positions."""
        return Mixture(self.base.last(rows), self.other.last(rows), self.amount[:, :, -rows:])

    def keys(self):
        """The input right at every key position; elsewhere, anything."""
        return self

    def columns(self, which):
        """The input with these of its M coordinates alone, in order; None: all of them."""
        return Mixture(self.base.columns(which), self.other.columns(which), self.amount)

    def dense(self):
        """The vectors themselves (N, B, T, M)."""
        return self.base.dense() + self.amount[..., None] * self.other.dense()

"""Walk: a task's field along one sequence and the keys written on it, for pictures of which keys live and what killed the others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Key:
    """A key: the position at which it is written, its level, and a short name."""

    at: int
    level: int
    name: str


@dataclass(frozen=True)
class Walk:
    """One walk: the field at each position, None where it has none (nothing falls there), and its keys in order of position.

    name: where a sequence has several walks, else empty; killed: what a key below whose level the field fell is called.
    """

    field: tuple[int | None, ...]
    keys: tuple[Key, ...]
    name: str = ""
    killed: str = "dead"

    def end(self, key):
        """The first position after a key at which the field falls below its level; None for a key that is alive."""
        later = range(key.at + 1, len(self.field))
        return next((at for at in later if self.field[at] is not None and self.field[at] < key.level), None)

    @property
    def alive(self):
        """The keys that no later field fell below."""
        return tuple(key for key in self.keys if self.end(key) is None)

    @property
    def levels(self):
        """The lowest and the highest level that the field or a key has."""
        found = [level for level in self.field if level is not None] + [key.level for key in self.keys]
        return min(found), max(found)

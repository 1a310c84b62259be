"""Records: rows of named values that print as an aligned table, in a terminal and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload


@dataclass(frozen=True)
class Records(Sequence[dict[str, Any]]):
    """Rows, each a dict; a row that lacks a column has None there.

    >>> print(Records.of([{"arm": "fpa", "kl": 0.00123456}, {"arm": "rope", "kl": None}]))
    arm        kl
    fpa   0.00123
    rope        -
    """

    rows: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, rows: Iterable[dict[str, Any]]) -> Records:
        """The Records of some dicts, every one with every column that any has, in the order in which they appear."""
        given = list(rows)
        columns = dict.fromkeys(name for row in given for name in row)
        return cls(tuple({name: row.get(name) for name in columns} for row in given))

    @property
    def columns(self) -> list[str]:
        """The columns' names."""
        return list(self.rows[0]) if self.rows else []

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    @overload
    def __getitem__(self, which: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[dict[str, Any], ...]: ...
    def __getitem__(self, which: int | slice) -> dict[str, Any] | tuple[dict[str, Any], ...]:
        return self.rows[which]

    def __str__(self) -> str:
        cells = [self.columns, *([shown(value) for value in row.values()] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        left = [all(isinstance(row[name], str | None) for row in self.rows) for name in self.columns]
        lines = (
            "  ".join(text.ljust(width) if flush else text.rjust(width) for text, width, flush in zip(line, widths, left, strict=True))
            for line in cells
        )
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(shown(v))}</td>" for v in row.values()) + "</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def shown(value: Any) -> str:
    """A value as a cell: a float with three significant digits, a dash for None."""
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)

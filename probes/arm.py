"""Arm: one row of a comparison, a mechanism at a head dimension, and how arms and seeds are written as text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from attnprobe.probes.spec import Spec, number, parse

SEEDS = re.compile(r"\d{1,18}(:\d{1,18})?", re.ASCII)
MOST_SEEDS = 1000
LARGEST_HEAD_DIM = 512


@dataclass(frozen=True)
class Arm:
    """One row of a comparison: a mechanism, under the name it was asked for by, and a head dimension.

    A control is an arm again at a head dimension that suffices. Raises ValueError where a part's parameter is nan, which equals nothing:
    the arm would not even be itself where a worker gives it back.
    """

    name: str
    spec: Spec
    head_dim: int
    control: bool = False

    def __post_init__(self) -> None:
        check_parameters(self.name, self.spec)

    def __str__(self) -> str:
        return f"{self.name}@{self.head_dim}"


def check_parameters(name: str, spec: Spec) -> None:
    """Raise ValueError where a parameter of one of a spec's parts is nan. name: the arm's."""
    parts: list[Any] = [part for layer in spec.layers for part in (*layer.parts().values(), spec.swap) if part]
    for part in parts:
        for field in fields(part):
            if (value := getattr(part, field.name)) != value:
                raise ValueError(f"arm {name!r}: {part.name}({field.name}=...) takes a number, not {value}")


def arm(text: str, default_head_dim: int) -> Arm:
    """`SPEC` or `SPEC@HEAD_DIM` as an Arm. Raises ValueError.

    >>> str(arm("rope", 4)), str(arm("fir+fpa@8", 4))
    ('rope@4', 'fir+fpa@8')
    """
    spec, at, dim = text.partition("@")
    if not at:
        return Arm(spec, parse(spec), default_head_dim)
    return Arm(spec, parse(spec), head_dim(number(int, dim, f"arm {text!r}: the head dimension after @"), f"arm {text!r}"))


def head_dim(value: int, where: str) -> int:
    """A head dimension within bounds. Raises ValueError."""
    if not 1 <= value <= LARGEST_HEAD_DIM:
        raise ValueError(f"{where}: head_dim must be from 1 to {LARGEST_HEAD_DIM}, not {value}")
    return value


def once(arms: Iterable[Arm]) -> list[Arm]:
    """The arms, each mechanism and head dimension where it stands first."""
    first: dict[tuple[Spec, int], Arm] = {}
    for a in arms:
        first.setdefault((a.spec, a.head_dim), a)
    return list(first.values())


def seeds(text: str, option: str = "--seeds") -> tuple[int, ...]:
    """`15` is seeds 0:15, `100:115` is 100..114: a tuple of ints. Raises ValueError.

    >>> seeds("3"), seeds("100:102")
    ((0, 1, 2), (100, 101))
    """
    if not SEEDS.fullmatch(text):
        raise ValueError(f"{option} takes a count such as 15 or a range such as 100:115, not {text!r}")
    first, colon, last = text.partition(":")
    low, high = (int(first), int(last)) if colon else (0, int(text))
    if high <= low:
        raise ValueError(f"{option} must name at least one seed >= 0, as a count or as first:last with last above first, not {text!r}")
    if high - low > MOST_SEEDS:
        raise ValueError(f"{option} takes at most {MOST_SEEDS} seeds at once, not {high - low}")
    return tuple(range(low, high))

"""Figure: what a source states of one arm of one task, and which arm it finds ahead."""

from __future__ import annotations

from dataclasses import dataclass, field

COMPUTED = "theory"  # the task of a figure that is computed, not trained
LOWER_IS_BETTER = {"hallucination", "mass", "sink"}  # of the scores that figures are of


@dataclass(frozen=True)
class Figure:
    """What a source states of one arm (canonical spec) of one task, in its `table`.

    value: of `n` seeds solved; without n of the score `metric`; "fails": no seed solves; a range is a string, "14-15". winner: the arm,
    of the same head dimension, that the source finds ahead of this one. case: what tells a row from others of its table. where: what it
    is a figure of. note: the measured reason why ours differs; always: it is told where ours
    matches too, since it bears on what the match says. quick: it is part of `--quick`. Of the task COMPUTED, arm names a
    quantity.
    """

    source: str
    table: str
    task: str
    arm: str
    head_dim: int | None
    value: int | float | str
    n: int | None
    where: str
    options: dict = field(default_factory=dict)
    case: str = ""
    metric: str | None = None
    winner: str | None = None
    note: str | None = None
    quick: bool = False
    always: bool = False

    @property
    def counts(self):
        """Whether it is of solved seeds."""
        return self.n is not None or self.value == "fails"

    @property
    def bounds(self):
        """(lowest, highest) value stated, as a rate where it counts seeds."""
        if self.value == "fails":
            return 0.0, 0.0
        low, high = (float(end) for end in self.value.split("-")) if isinstance(self.value, str) else (self.value, self.value)
        return (low / self.n, high / self.n) if self.n else (low, high)

    @property
    def text(self):
        """As the source has it: `11/15`, `14-15/15`, `.272-.344`, `fails`, `0.445`."""
        stated = self.value if isinstance(self.value, str) else f"{self.value:.3g}"
        return f"{stated}/{self.n}" if self.n else stated

    @property
    def identity(self):
        """What no two figures share."""
        return (
            self.source,
            self.table,
            self.task,
            *sorted(map(str, self.options.items())),
            self.case,
            self.arm,
            self.head_dim,
            self.metric,
        )

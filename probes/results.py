"""Results: what run_probe returns, read as a table, as a data frame, or as an exact comparison of two arms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from attnprobe.probes.arm import Arm
from attnprobe.probes.records import Records
from attnprobe.probes.registry import nearest
from attnprobe.probes.stats import clopper_pearson, discordant, median, sign_test

if TYPE_CHECKING:
    import pandas

    from attnprobe.probes.recipe import Recipe
    from attnprobe.probes.tasks.task import Task


@dataclass(frozen=True)
class ArmResult:
    """An arm's stored records by seed, in the order asked for, and how many of them were not computed now."""

    arm: Arm
    records: dict[int, dict[str, Any]]
    reused: int

    @property
    def outcomes(self) -> dict[int, dict[str, Any]]:
        """seed -> its result: status "solved" | "unsolved" | "failed", score (name -> float), steps, curve [[step, metric], ...]."""
        return {seed: record["result"] for seed, record in self.records.items()}

    @property
    def solved(self) -> int:
        """How many seeds are solved; a failed seed is not."""
        return sum(outcome["status"] == "solved" for outcome in self.outcomes.values())

    @property
    def failed(self) -> list[int]:
        """The seeds whose loss, gradient or metric was not finite."""
        return [seed for seed, outcome in self.outcomes.items() if outcome["status"] == "failed"]

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Clopper-Pearson interval of the solved rate."""
        return clopper_pearson(self.solved, len(self.records))


@dataclass(frozen=True)
class Comparison:
    """Two arms on the same seeds, failed ones of either side left out.

    solved: of each arm, of n seeds; wins: seeds that only the first solves; losses: only the second; p: one-sided exact sign
    test of the first against the second (McNemar's exact test), 1 where none differs; interval: 95 % Clopper-Pearson of the
    share of wins among the seeds that differ, None where none does.
    """

    arms: tuple[str, str]
    n: int
    solved: tuple[int, int]
    wins: tuple[int, ...]
    losses: tuple[int, ...]
    p: float
    interval: tuple[float, float] | None

    def __str__(self) -> str:
        (a, b), (k, m) = self.arms, self.solved
        told = f"{a} solves {k} and {b} {m} of {self.n} seeds; only {a}: {len(self.wins)}, only {b}: {len(self.losses)}; p = {self.p:.2g}"
        if self.interval is None:
            return told
        low, high = self.interval
        return f"{told}; {a} ahead in {100 * low:.0f}-{100 * high:.0f} % of the seeds that differ"


@dataclass(frozen=True, repr=False)
class Results(Sequence[ArmResult]):
    """The ArmResults of one run, in the order of the arms; `results["fpa"]` or `results["fpa@8"]` is that arm's."""

    task: Task
    recipe: Recipe
    arms: tuple[ArmResult, ...]

    def __len__(self) -> int:
        return len(self.arms)

    def __iter__(self) -> Iterator[ArmResult]:
        return iter(self.arms)

    @overload
    def __getitem__(self, which: int | str) -> ArmResult: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[ArmResult, ...]: ...
    def __getitem__(self, which: int | str | slice) -> ArmResult | tuple[ArmResult, ...]:
        if not isinstance(which, str):
            return self.arms[which]
        named = {str(found.arm): found for found in self.arms}
        short = [found for found in self.arms if found.arm.name == which and not found.arm.control] or [
            found for found in self.arms if found.arm.name == which
        ]
        if which not in named and len(short) > 1:
            raise ValueError(f"{which!r} is several arms: {', '.join(str(found.arm) for found in short)}; name one")
        if which not in named and not short:
            raise ValueError(f"no arm {which!r} in these results{nearest(which, [*named, *(found.arm.name for found in self.arms)])}")
        return named[which] if which in named else short[0]

    def table(self) -> Records:
        """One row an arm: arm, head_dim, control, n, solved, failed, low and high (the 95 % interval of the solved rate), the
        median and the worst seed's metric, seconds of training."""
        return Records.of(self._row(found) for found in self.arms)

    def seeds(self) -> Records:
        """One row an arm and seed: arm, head_dim, control, seed, status, steps, seconds, and every score by its name."""
        return Records.of(self._seed_row(found, seed) for found in self.arms for seed in found.records)

    def to_pandas(self) -> pandas.DataFrame:
        """`seeds()` as a pandas.DataFrame. Raises ImportError where pandas is not installed."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas() needs pandas, which is not installed: pip install pandas; or use .seeds() or .table()") from None
        return pandas.DataFrame.from_records(list(self.seeds()))

    def compare(self, a: str, b: str) -> Comparison:
        """The first arm against the second, paired by seed. a, b: "fpa" or "fpa@8". Raises ValueError for an arm that is not there."""
        first, second = self[a], self[b]
        if first is second:
            raise ValueError(f"{a!r} and {b!r} are the same arm, {first.arm}: compare two")
        left, right = first.outcomes, second.outcomes
        kept = [seed for seed in left if seed in right and "failed" not in (left[seed]["status"], right[seed]["status"])]
        sides = [{seed: found[seed]["status"] == "solved" for seed in kept} for found in (left, right)]
        wins, losses = discordant(*sides)
        differ = len(wins) + len(losses)
        return Comparison(
            (str(first.arm), str(second.arm)),
            len(kept),
            (sum(sides[0].values()), sum(sides[1].values())),
            tuple(wins),
            tuple(losses),
            sign_test(len(wins), len(losses)),
            clopper_pearson(len(wins), differ) if differ else None,
        )

    def __repr__(self) -> str:
        return f"Results({self.task!r}, {', '.join(str(found.arm) for found in self.arms)})"

    def __str__(self) -> str:
        return f"{self.task.name}: solved is {self.task.rule}\n{self.table()}"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def _row(self, found: ArmResult) -> dict[str, Any]:
        metric = self.task.metric
        values = [outcome["score"][metric] for outcome in found.outcomes.values() if outcome["status"] != "failed"]
        worst = (max if self.task.better == "low" else min)(values) if values else None
        return {
            "arm": found.arm.name,
            "head_dim": found.arm.head_dim,
            "control": found.arm.control,
            "n": len(found.records),
            "solved": found.solved,
            "failed": len(found.failed),
            "low": found.interval[0],
            "high": found.interval[1],
            f"median {metric}": median(values) if values else None,
            f"worst {metric}": worst,
            "seconds": sum(record["recorded"]["seconds"] for record in found.records.values()),
        }

    def _seed_row(self, found: ArmResult, seed: int) -> dict[str, Any]:
        record = found.records[seed]
        outcome = record["result"]
        given = {"arm": found.arm.name, "head_dim": found.arm.head_dim, "control": found.arm.control, "seed": seed}
        told = {"status": outcome["status"], "steps": outcome["steps"], "seconds": record["recorded"]["seconds"]}
        return given | told | outcome["score"]

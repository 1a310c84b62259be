"""What a task is: a frozen value that samples batches and says what a model should be, lose and solve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from attnprobe.probes.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from attnprobe.probes.batch import Batch
    from attnprobe.probes.model_spec import ModelSpec
    from attnprobe.probes.recipe import Recipe
    from attnprobe.probes.spec import Spec


class Task(ABC):
    """A probe. Subclasses are frozen dataclasses; their fields are the task's options on the command line.

    Class attributes: name (by @register); version: int, raised when results are no longer comparable; chosen_on: the seeds that
    its recipe was chosen on; fresh: seeds to report on; leave: a seed that
    passes an evaluation leaves the stack; traced: the Traces followed in training; heads: results keep each seed's keys and
    offsets of the last row; gradient: results keep the norm of each seed's first gradient, as the score `gradient`; num_heads,
    layers: of the model; test_size: examples of the final evaluation; at_once: how many of them go through the model at a time,
    0 for all of a chunk; draws: test-time draws of a random routing, over which class probabilities are averaged too; head_dim:
    the default; control_dim: a head dimension that suffices, for the control that failure is not optimisation, or None;
    reference: the arm that the others are compared with by default; sets: how many sets the score `realised` is a share of, or
    None where it was not counted exhaustively; ablation: the documented set of interventions; exhaustive: the evaluation holds
    every example there is; shown: names in `score` that a table shows too; lookup: an answer stands after an earlier occurrence
    of the scored token; readers: name -> (rule, metric), what `probe check` holds the task to: a rule gives of a numpy Batch what
    a model would, (B, ...), or what `as_output` takes; `exact` solves the task from its tokens with a perfect score, `bayes`, where
    they leave a doubt, with the score stated, and any other is a shortcut that has the metric stated and does not solve; metric: the
    name in `score` that decides, with better "low" | "high" and threshold.
    """

    name: ClassVar[str]
    metric: ClassVar[str]
    better: ClassVar[Literal["low", "high"]]
    threshold: ClassVar[float]
    version = 1
    chosen_on = range(15)
    fresh = "100:115"
    leave = False
    traced: tuple[Trace, ...] = ()
    heads = False
    gradient = False
    num_heads = 1
    layers = 1
    test_size = 1024
    at_once = 0
    draws = 1
    head_dim = 4
    control_dim = None
    reference = "fpa"
    sets = None
    ablation: tuple[str, ...] = ()
    exhaustive = False
    shown: tuple[str, ...] = ()
    lookup = False
    readers: Mapping[str, Any] = MappingProxyType({})

    def __post_init__(self) -> None:
        """Raise ValueError where an option is not of its declared type. A subclass that checks bounds too calls this first."""
        from attnprobe.probes.fields import check_types

        check_types(self)

    @property
    @abstractmethod
    def rule(self) -> str:
        """When a seed is solved, in words, for the footer of a table."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, n: int) -> Batch:
        """n examples: numpy.random.Generator, int -> Batch of numpy arrays; a function of its arguments."""

    @abstractmethod
    def evaluation(self, rng: np.random.Generator, size: int) -> Iterator[Batch]:
        """Evaluation data of one seed, in chunks: an iterator of Batches, `size` examples in all unless it is exhaustive."""

    @property
    @abstractmethod
    def model(self) -> ModelSpec:
        """The ModelSpec."""

    @property
    @abstractmethod
    def recipe(self) -> Recipe:
        """The Recipe that every arm is trained with by default."""

    @property
    @abstractmethod
    def arms(self) -> tuple[str, ...]:
        """The default arms, as spec strings."""

    @abstractmethod
    def check(self, spec: Spec, head_dim: int) -> None:
        """Raise ValueError, with the reason, where a mechanism makes no sense on this task."""

    @abstractmethod
    def picture(self, batch: Batch) -> Iterator[tuple[str, list[str]]]:
        """The first example of a numpy Batch, drawn: rows of (label, one short cell a position)."""

    def walks(self, batch):
        """The Walks of the first example of a numpy Batch, for tasks whose keys live and die along one: none by default."""
        return ()

    @abstractmethod
    def loss(self, output: Any, batch: Batch) -> Any:
        """The training loss of each seed (N,)."""

    @abstractmethod
    def score(self, output: Any, batch: Batch) -> dict[str, Any]:
        """Metrics: name -> (N,), each a mean over the batch's examples, or over as many answers as `counts` says; nan, but for
        `metric`, where the batch has none to score."""

    def counts(self, batch: Batch) -> Mapping[str, Any]:
        """name -> (N,), how many answers of a stacked Batch a score is the mean of, where that is not the number of examples: what the
        batch weighs in the mean over an evaluation's chunks. None by default."""
        return MappingProxyType({})

    def as_output(self, said: Any) -> Any:
        """What a reader's rule gives of a numpy Batch, as a model's output for a stack of that one seed: (B, ...) -> (1, B, ...)."""
        import numpy as np
        import torch

        return torch.from_numpy(np.asarray(said, dtype=float))[None]

    @abstractmethod
    def solved(self, score: dict[str, Any]) -> Any:
        """Which seeds pass: (N,) boolean."""


def check_oracle(task, spec):
    """Raise ValueError where a mechanism makes no sense with an oracle's query, which stands at the last position alone."""
    for mixer in spec.of_layers(task.layers):
        if mixer.bias.every_row:
            raise ValueError(
                f"{mixer.bias.name} reads every row's scores, and {task.name} gives the last row alone a query; use selective(maps=own)"
            )
    check_every_key(task, spec)


def check_every_key(task, spec):
    """Raise ValueError where a routing hides keys, on a task whose queries are no keys themselves."""
    for mixer in spec.judged.of_layers(task.layers):
        if mixer.routing.hides:
            raise ValueError(
                f"{mixer.routing.name} hides keys, and {task.name} asks for any of them from rows that are no keys themselves: "
                f"a row could be left without one"
            )


def check_routing(task, spec, seq_len):
    """Raise ValueError where a routing does not fit the sequences of a task whose every position is a key."""
    for mixer in spec.judged.of_layers(task.layers):
        mixer.routing.fits(seq_len)


def means_where(values, mask):
    """The mean of values (N, B) where mask (N, B) is True, a seed at a time: (N,); nan where it is nowhere, and nowhere else:
    inf where a value that counts is not finite."""
    import torch

    mask = mask.expand_as(values)
    mean = torch.where(mask, values, 0).sum(-1) / mask.sum(-1)
    return mean.masked_fill(mask.any(-1) & ~mean.isfinite(), torch.inf)

"""Synthetic tasks, attention mechanisms as points of five axes, and stacked-seed training.

    from attnprobe.probes import Ladder, run_probe
    results = run_probe(Ladder(r=10), ["fpa", "rope"], seeds="100:115", store="results")
    print(results.table())
    print(results.compare("fpa", "rope"))

Importing this package loads neither torch nor numpy: a name is imported when it is first asked for.
"""

from typing import TYPE_CHECKING

if __name__ == "probes":
    raise ImportError("'probes' is part of attnprobe: run `pip install -c constraints.txt .`, then `import attnprobe.probes`")

HOMES = {
    "run_probe": "run",
    "Results": "results",
    "ArmResult": "results",
    "Comparison": "results",
    "Records": "records",
    "Arm": "arm",
    "MixerSpec": "spec",
    "Spec": "spec",
    "parse": "spec",
    "load": "loading",
    "Recipe": "recipe",
    "Store": "store",
    "Batch": "batch",
    "Task": "tasks.task",
    "TASKS": "tasks",
}

if TYPE_CHECKING:
    from attnprobe.probes.arm import Arm as Arm
    from attnprobe.probes.batch import Batch as Batch
    from attnprobe.probes.loading import load as load
    from attnprobe.probes.recipe import Recipe as Recipe
    from attnprobe.probes.records import Records as Records
    from attnprobe.probes.results import ArmResult as ArmResult
    from attnprobe.probes.results import Comparison as Comparison
    from attnprobe.probes.results import Results as Results
    from attnprobe.probes.run import run_probe as run_probe
    from attnprobe.probes.spec import MixerSpec as MixerSpec
    from attnprobe.probes.spec import Spec as Spec
    from attnprobe.probes.spec import parse as parse
    from attnprobe.probes.store import Store as Store
    from attnprobe.probes.tasks import TASKS as TASKS
    from attnprobe.probes.tasks.assignment import Assignment as Assignment
    from attnprobe.probes.tasks.copy import Copy as Copy
    from attnprobe.probes.tasks.count import Count as Count
    from attnprobe.probes.tasks.decoys import Decoys as Decoys
    from attnprobe.probes.tasks.duration import Duration as Duration
    from attnprobe.probes.tasks.flip_flop import FlipFlop as FlipFlop
    from attnprobe.probes.tasks.ladder import Ladder as Ladder
    from attnprobe.probes.tasks.latch import Latch as Latch
    from attnprobe.probes.tasks.mqar import Mqar as Mqar
    from attnprobe.probes.tasks.name_search import NameSearch as NameSearch
    from attnprobe.probes.tasks.push_pop import PushPop as PushPop
    from attnprobe.probes.tasks.recall import Recall as Recall
    from attnprobe.probes.tasks.score_shift import ScoreShift as ScoreShift
    from attnprobe.probes.tasks.sink import Sink as Sink
    from attnprobe.probes.tasks.task import Task as Task
    from attnprobe.probes.tasks.topic import Topic as Topic
    from attnprobe.probes.tasks.two_walks import TwoWalks as TwoWalks
    from attnprobe.probes.tasks.unanswerable import Unanswerable as Unanswerable
else:

    def __getattr__(name):
        """A public name, or the class of a registered task, imported now."""
        from importlib import import_module

        if name in HOMES:
            return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
        task = _task_classes().get(name) if name[:1].isupper() else None
        if task is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.tasks").TASKS[task]

    def __dir__():
        return sorted([*HOMES, *_task_classes()])

    def _task_classes():
        """Class -> task, as the registry reads them: a new task is one file, with no line here."""
        from attnprobe.probes.tasks import TASKS

        return {entry.cls: task for task, entry in TASKS.entries.items()}

"""Which stored results may stand in one table, and the command that makes each of its rows again."""

import json
import shlex
import sys
from dataclasses import asdict, dataclass, fields, replace

from attnprobe.cli.inputs import ranges
from attnprobe.cli.tables import by_size
from attnprobe.probes.arm import MOST_SEEDS
from attnprobe.probes.registry import nearest
from attnprobe.probes.run import Arm, ArmResult

SETTABLE = ("steps", "lr", "batch")  # of a recipe, on the command line


@dataclass(frozen=True)
class Comparison:
    """Results of today's code for one task, recipe and device, on seeds without a gap: what one run could have made."""

    task: object
    recipe: object
    device: str
    seeds: tuple
    results: tuple

    @property
    def title(self):
        """The task and its options as they are typed."""
        from attnprobe.cli.tables import title

        return title({"task": self.task.name, "config": {"options": asdict(self.task)}}).plain

    def report(self):
        """The run of these arms as `probe run --json` prints it; its family is every stored arm but the controls."""
        from attnprobe.cli import inputs
        from attnprobe.cli.report import build

        base = inputs.arm(self.task.reference, self.task.head_dim)
        command = f"probe run {self.task.name}"
        return build(command, self.task, self.recipe, self.seeds, self.task.head_dim, self.device, base, self.results)


def chosen(root, names):
    """The task names as a set. Raises ValueError for one that the store has no result of, and where there is no store."""
    from attnprobe.probes.holdings import task_names

    there = task_names(root)
    for name in names or ():
        if name not in there:
            raise ValueError(f"{root} holds no result of task {name!r}{nearest(name, there) if there else ''}")
    return frozenset(names or ())


def gather(holdings):
    """The Comparisons of the current ones among Holdings; older and unknown results stand in none."""
    together = {}
    for held in holdings:
        if held.state == "current":
            together.setdefault((held.task, json.dumps(held.identity["recipe"], sort_keys=True), held.identity["device"]), []).append(held)
    by_task = sorted(together.items(), key=lambda item: by_size(item[0][0].name, asdict(item[0][0])))
    return [made for (task, _, device), group in by_task for made in split(task, device, group)]


def split(task, device, group):
    """The Comparisons of results alike in all but arm and seed: one a range of seeds without a gap."""
    from attnprobe.probes.holdings import recipe_of

    recipe, everyone = recipe_of(group[0].identity["recipe"]), sorted({held.identity["seed"] for held in group})
    for low, high in ranges(everyone):
        by_arm = {}
        for held in sorted(group, key=lambda held: held.identity["seed"]):
            if low <= held.identity["seed"] < high:
                by_arm.setdefault((held.spec, held.identity["head_dim"]), {})[held.identity["seed"]] = held.record
        yield Comparison(task, recipe, device, tuple(range(low, high)), ordered(task, by_arm))


def ordered(task, by_arm):
    """ArmResults of (spec, head_dim) -> records: the task's own arms first, as it lists them, then the others by name, controls last.

    A control is an arm that also stands at another head dimension, at the task's `control_dim`; the reference has none.
    """
    from attnprobe.cli import inputs

    own = [inputs.arm(text, task.head_dim).spec for text in task.arms]
    reference = inputs.arm(task.reference, task.head_dim).spec

    def control(spec, dim):
        return dim == task.control_dim and spec != reference and any(other == spec and at != dim for other, at in by_arm)

    def place(arm):
        return arm.control, own.index(arm.spec) if arm.spec in own else len(own), arm.name, arm.head_dim

    arms = sorted((Arm(str(spec), spec, dim, control(spec, dim)) for spec, dim in by_arm), key=place)
    return tuple(ArmResult(arm, by_arm[arm.spec, arm.head_dim], 0) for arm in arms)


def command(comparison, result):
    """The command line that computes an arm's stored seeds again; None where its recipe is none that the command line can ask for."""
    task, recipe, usual = comparison.task, comparison.recipe, comparison.task.recipe
    given = {name: getattr(recipe, name) for name in SETTABLE}
    if replace(usual, **given) != recipe:
        return None
    words = ["probe", "run", task.name]
    for field in fields(task):
        value = getattr(task, field.name)
        if value != field.default:
            words += [f"--{field.name.replace('_', '-')}", *([] if value is True else [str(value)])]
    words += [word for file in loaded(task, result.arm.spec) for word in ("--load", file)]
    words += ["--arm", str(result.arm), "--no-control"]
    words += [word for name, value in given.items() if value != getattr(usual, name) for word in (f"--{name}", str(value))]
    words += ["--device", comparison.device] if comparison.device != "cpu" else []
    spans = [(at, min(at + MOST_SEEDS, high)) for low, high in ranges(result.records) for at in range(low, high, MOST_SEEDS)]
    return " && ".join(shlex.join([*words, "--seeds", f"{low}:{high}"]) for low, high in spans)


def loaded(task, spec):
    """The user's files, loaded by --load, that a task or a part of a mechanism stands in."""
    parts = [part for side in (spec.trained, spec.judged) for layer in side.layers for part in layer.parts().values()]
    modules = dict.fromkeys(type(one).__module__ for one in (task, *parts))
    return [sys.modules[name].__file__ for name in modules if not name.startswith("attnprobe.")]

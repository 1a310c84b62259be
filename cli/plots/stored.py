"""What a store holds for a figure: the results of today's code that answer what is asked, and what is there and left out."""

import shlex
import sys
from collections import Counter
from dataclasses import dataclass, fields, replace
from pathlib import Path

from attnprobe.cli.comparisons import SETTABLE, ordered
from attnprobe.cli.inputs import ranges
from attnprobe.cli.plots import style
from attnprobe.probes.holdings import holdings, recipe_of
from attnprobe.probes.spec import parse

MOST_TOLD = 3  # kinds of what is left out


@dataclass(frozen=True)
class Asked:
    """What a figure asks of a store.

    task: with the options asked for, of which `free` may have any value; recipe: what of the task's is another; arms, seeds: None for
    all that are stored, arms at head_dim alone.
    """

    task: object
    head_dim: int
    recipe: dict
    device: str = "cpu"
    arms: tuple | None = None
    seeds: tuple | None = None
    free: str | None = None

    def takes(self, held):
        """Whether a Holding is of the arms asked for, whatever else it is."""
        place = held.identity["arm_name"], held.identity["head_dim"]
        return self.arms is None or place in {(str(arm.spec), arm.head_dim) for arm in self.arms}

    def other(self, held):
        """In which options a Holding is another than what is asked for, as they are typed; empty where in none."""
        known, names = held.identity, [field.name for field in fields(self.task) if field.name != self.free]
        changed = {name: value for name in names if (value := getattr(held.task, name)) != getattr(self.task, name)}
        wanted, there = replace(held.task.recipe, **self.recipe), recipe_of(known["recipe"])
        changed |= {name: value for name in SETTABLE if (value := getattr(there, name)) != getattr(wanted, name)}
        changed |= {"device": known["device"]} if known["device"] != self.device else {}
        changed |= {"head_dim": known["head_dim"]} if self.arms is None and known["head_dim"] != self.head_dim else {}
        alike = replace(there, **{name: getattr(wanted, name) for name in SETTABLE}) == wanted
        return " ".join([*flags(changed), *["another recipe"] * (not alike)])


@dataclass(frozen=True)
class Found:
    """The Holdings that answer an Asked; how many of today's are others, by in what; how many files are not today's, by state.

    Those that differ in the seed alone are among the others.
    """

    asked: Asked
    held: tuple
    others: Counter
    passed: Counter

    @property
    def arms(self):
        """The Arms that have any result: in the order asked for, else the task's own first."""
        there = {(held.spec, held.identity["head_dim"]): {} for held in self.held}
        if self.asked.arms is None:
            own = {parse(text): text for text in self.asked.task.arms}
            return tuple(replace(one.arm, name=own.get(one.arm.spec, one.arm.name)) for one in ordered(self.asked.task, there))
        names = {(str(spec), dim) for spec, dim in there}
        return tuple(arm for arm in self.asked.arms if (str(arm.spec), arm.head_dim) in names)

    def records(self, arm):
        """An Arm's records: value of the free option, None where there is none -> {seed: record}."""
        found = {}
        for held in self.held:
            if (held.identity["arm_name"], held.identity["head_dim"]) == (str(arm.spec), arm.head_dim):
                value = getattr(held.task, self.asked.free) if self.asked.free else None
                found.setdefault(value, {})[held.identity["seed"]] = held.record
        return {value: dict(sorted(seeds.items())) for value, seeds in sorted(found.items())}

    @property
    def cut(self):
        """`60 steps` where what is drawn was trained for other steps than its recipe's, else nothing."""
        said = (style.cut(self.asked.recipe.get("steps"), held.task.recipe.steps) for held in self.held)
        return next(filter(None, said), "")

    @property
    def seeds(self):
        """The seeds of any result, in order."""
        return tuple(sorted({held.identity["seed"] for held in self.held}))


def find(root, asked):
    """The Found of a store's directory; nothing where there is none, which is not made."""
    there = holdings(root, [asked.task.name]) if not str(root) or Path(root).exists() else []
    today = [held for held in there if held.state == "current" and asked.takes(held)]
    said = {held.path: asked.other(held) for held in today}
    alike = [held for held in today if not said[held.path]]
    wanted = {held.path for held in alike if asked.seeds is None or held.identity["seed"] in asked.seeds}
    drawn = tuple(held for held in alike if held.path in wanted)
    beside = [held.identity["seed"] for held in alike if held.path not in wanted]
    others = Counter(text for text in said.values() if text)
    others |= {f"--seeds {spans(sorted(set(beside)))}": len(beside)} if beside else {}
    passed = Counter(held.state for held in there if held.state != "current")
    return Found(asked, drawn, others, passed)


def tell(found, root, more=""):
    """Say on stderr what the Founds of a figure hold, where arms or seeds were not named, and what is stored beside it.

    more: of what is drawn, at the end.
    """
    open_ended = any(None in (one.asked.arms, one.asked.seeds) for one in found)
    if open_ended:
        names = dict.fromkeys(arm.name for one in found for arm in one.arms)
        told(f"{', '.join(names)}; seeds {spans(union(found))}{more}", others(found))
    passed(found, root)


def told(drawn, beside):
    """Say on stderr what is drawn, and what is stored and is not, if anything."""
    print(f"drawn: {drawn}", file=sys.stderr)
    if beside:
        print(f"note: stored, and not drawn: {beside}", file=sys.stderr)


def union(found):
    """The seeds that any Found holds, in order."""
    return sorted(set().union(*(one.seeds for one in found)))


def passed(found, root):
    """Say on stderr how many files are not of today's code, and what shows them."""
    states = sum((one.passed for one in found), Counter())
    if count := states.total():
        hints = {"unknown": ", of a file of yours that is not loaded?"}
        told = "; ".join(f"{n} {state}{hints.get(state, '')}" for state, n in states.items())
        what, them = (f"{count} files are", "them") if count > 1 else ("1 file is", "it")
        line = shlex.join(["probe", "results", "--store", str(root)])
        print(f"note: {what} not of today's code ({told}), and passed over; {line} shows {them}", file=sys.stderr)


def others(found):
    """What is stored beside, in words: what differs least first, with the task where there are several."""
    many = len({one.asked.task.name for one in found}) > 1
    counts = Counter()
    for one in found:
        for text, count in one.others.items():
            counts[f"{one.asked.task.name} {text}" if many else text] += count
    nearest = sorted(counts.items(), key=lambda item: (item[0].count("--"), -item[1]))
    told = [f"{count} seed{'s' * (count > 1)} {'of' if many else 'with'} {text}" for text, count in nearest[:MOST_TOLD]]
    rest = sum(count for _, count in nearest[MOST_TOLD:])
    return ", ".join([*told, *[f"{rest} others"] * (rest > 0)])


def absent(found, root, what):
    """The start of an error where nothing answers: what is not there, and what is."""
    if not Path(root).exists():
        return f"there is no store at {root}"
    beside = others(found)
    return f"{root} holds no {what}" + (f", but {beside}" if beside else "")


def spans(seeds):
    """Seeds as they are typed: `0:15, 100:115`."""
    return ", ".join(f"{low}:{high}" for low, high in ranges(seeds))


def flags(options):
    """`--r 8`, `--head-dim 4`: options as words on a command line, without a value where it is True, repeated where it is a list."""
    made = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        made += [f"{flag} {one}" for one in value] if isinstance(value, list | tuple) else [flag if value is True else f"{flag} {value}"]
    return made


def run_line(command, task, options):
    """`probe run ladder --r 8 --seeds 15`: the command for a task's own options, where they are not the default, and for these."""
    own = {field.name: value for field in fields(task) if (value := getattr(task, field.name)) != field.default}
    words = [word for flag in flags(own | options) for word in flag.split(" ", 1)]
    return shlex.join(["probe", *command, task.name, *words])

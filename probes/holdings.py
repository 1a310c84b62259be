"""What a store holds, read without being asked for anything in particular: each result beside what today's code makes of it.

A result is `current` if `probe run` would take it for its own today. One of other code, another version of its task or an older
schema is `older`; of a later schema or task version, `newer`; of a task or a part that is not known here, `unknown`; and `damaged` if it
is no result that this store wrote. Nothing here writes or removes.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from attnprobe.probes.recipe import Recipe
from attnprobe.probes.record import FIELDS, SCHEMA, read, unscored
from attnprobe.probes.spec import Spec, parse
from attnprobe.probes.store import identity
from attnprobe.probes.tasks import TASKS

STATES = ("current", "older", "newer", "unknown", "damaged")
OF_A_FILE = "; of a file of yours? --load FILE"
RESULT = re.compile(r"[0-9a-f]{16}\.json")
ASIDE = re.compile(r"[0-9a-f]{16}\.corrupt[0-9]+")  # set aside by Store.load
TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.[0-9]+\.tmp")  # of a write that was cut off, or is going on


@dataclass(frozen=True)
class Holding:
    """One file: its state, the reasons where that is not `current`, the record where it is whole, and today's Task and Spec where known."""

    path: Path
    size: int
    state: str
    why: tuple = ()
    record: dict | None = None
    task: object = None
    spec: Spec | None = None

    @property
    def identity(self):
        return self.record["identity"]

    @property
    def result(self):
        return self.record["result"]

    @property
    def recorded(self):
        return self.record["recorded"]


def holdings(root, names=()):
    """The Holdings under a store's directory, in order of path, of the tasks named or of all.

    Raises ValueError where there is no such directory, OSError where a file may not be read.
    """
    known = {}
    return [found for path in files(root, RESULT, names) if (found := holding(path, known)) is not None]


def leftovers(root):
    """(files set aside as corrupt, files of unfinished writes) under a store's directory, in order of path."""
    return files(root, ASIDE), files(root, TEMPORARY)


def task_names(root):
    """The names of the tasks that a store has a directory of."""
    return sorted({path.parent.parent.name for path in files(root, RESULT)})


def files(root, pattern, names=()):
    """The files STORE/<task>/<arm>/<name> whose name matches, in order of path."""
    if not str(root):
        raise ValueError("a store must name a directory")
    root = Path(root)
    if not root.is_dir():
        raise ValueError(f"there is no store at {root}; `probe run ladder --store {root}` makes one")
    return sorted(path for path in root.glob("*/*/*") if pattern.fullmatch(path.name) and (not names or path.parent.parent.name in names))


def holding(path, known):
    """The Holding of a file; None if it has gone meanwhile. known: a dict that keeps what today's code says between calls."""
    if path.exists() and not path.is_file():
        return Holding(path, 0, "damaged", ("it is no file",))
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        record = read(data, path)
    except ValueError as error:
        return Holding(path, len(data), "damaged", (str(error),))
    if record["schema"] != SCHEMA:
        state = "older" if record["schema"] < SCHEMA else "newer"
        return Holding(path, len(data), state, (f"schema {record['schema']}, not {SCHEMA}",))
    described = record["identity"]
    arm = json.dumps([value for name, value in described.items() if name not in ("seed", "recipe")], sort_keys=True)
    if arm not in known:
        known[arm] = today(described)
    state, why, task, spec = known[arm]
    if state in ("current", "older") and not same_fields(described["recipe"], Recipe):
        state, why = "older", (*why, "other fields of a recipe")
    if state == "current" and (lacks := unscored(record, task.metric)):
        return Holding(path, len(data), "damaged", (lacks,))
    return Holding(path, len(data), state, why, record, task, spec)


def today(described):
    """(state, why, Task, Spec) that today's code gives what an identity describes, whatever its seed and recipe."""
    if described["task"] not in TASKS:
        return "unknown", (f"no task {described['task']} here{OF_A_FILE}",), None, None
    cls = TASKS[described["task"]]
    if described["version"] > cls.version:
        return "newer", (f"task version {described['version']}, not {cls.version}",), None, None
    why = [f"task version {described['version']}, not {cls.version}"] if described["version"] != cls.version else []
    try:
        task = cls(**described["options"])
    except (TypeError, ValueError):
        return "older", (*why, "options that the task does not take"), None, None
    try:
        spec = parse(described["arm_name"])
    except ValueError:
        return "unknown", (*why, f"no mechanism {described['arm_name']} here{OF_A_FILE}"), task, None
    now = identity(task, spec, described["head_dim"], Recipe(), described["seed"], described["dtype"], described["device"])
    other = [name for name in FIELDS if name not in ("recipe", "seed", "version") and plain(now[name]) != described[name]]
    said = {"code": "other code", "options": "other options of the task", "arm": "other parameters of the mechanism"}
    why += [said.get(name, f"another {name}") for name in other]
    return "older" if why else "current", tuple(why), task, spec


def same_fields(described, cls):
    """Whether a dict has a dataclass's fields, and values that it takes."""
    try:
        return set(described) == {f.name for f in fields(cls)} and plain(asdict(recipe_of(described))) == described
    except (TypeError, ValueError):
        return False


def recipe_of(described):
    """The Recipe that an identity's `recipe` describes."""
    return Recipe(**described | {"betas": tuple(described["betas"])})


def plain(value):
    """A value as JSON reads it back."""
    return json.loads(json.dumps(value))

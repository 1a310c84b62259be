"""What a store holds of a task, read without writing: the records that today's code would take for its own."""

import dataclasses
import json
import shlex
import sys
from pathlib import Path

from attnprobe.probes.holdings import recipe_of
from attnprobe.probes.record import SCHEMA, key
from attnprobe.probes.record import read as whole
from attnprobe.probes.run import named
from attnprobe.probes.spec import parse
from attnprobe.probes.store import identity
from attnprobe.probes.tasks import TASKS


def scan(root, name):
    """(key -> record, how many files were passed over) of a task: those of this schema, whole, and named as today's code names them.

    A file of other code, of another version of the task, or damaged, is passed over: no figure mixes it with the rest.
    A directory that is not there holds nothing, and is not made.
    """
    records, known, passed = {}, {}, 0
    for path in sorted(Path(root).glob(f"{name}/*/*.json")):
        record = read(path)
        if record is not None and record["key"] == today(record["identity"], known):
            records[record["key"]] = record
        else:
            passed += 1
    return records, passed


def read(path):
    """A record, or None where the file holds none that is whole."""
    if not path.is_file():
        return None
    try:
        record = whole(path.read_bytes(), path)
    except ValueError:
        return None
    return record if record["schema"] == SCHEMA else None


def today(described, known):
    """The key that today's code gives what an identity describes, None where it no longer takes it. known: kept between calls."""
    arm = json.dumps([described[part] for part in ("options", "arm_name", "head_dim", "recipe", "dtype", "device")], sort_keys=True)
    if arm not in known:
        known[arm] = renamed(described)
    return known[arm] and key(known[arm] | {"seed": described["seed"]})


def renamed(described):
    """The identity that today's code makes of an old one's description, or None."""
    try:
        task = TASKS[described["task"]](**described["options"])
        spec, recipe = parse(described["arm_name"]), recipe_of(described["recipe"])
    except (ValueError, TypeError, KeyError):
        return None
    return identity(task, spec, described["head_dim"], recipe, described["seed"], described["dtype"], described["device"])


def told(root, name):
    """`scan`'s records, and a line on stderr where files were passed over."""
    records, passed = scan(root, name)
    if passed:
        which = "of other code, of a file that is not loaded, or damaged"
        print(f"note: {passed} files under {root}/{name} are {which}, and passed over", file=sys.stderr)
    return records


def pick(records, task, arms, seeds, recipe, device="cpu"):
    """Arm -> {seed: record} of the records that answer for these arms, for those that have any."""
    found = {arm: {seed: record for seed in seeds if (record := records.get(key(named(task, arm, recipe, seed, device))))} for arm in arms}
    return {arm: held for arm, held in found.items() if held}


def run_line(command, task, options):
    """`probe run ladder --r 8 --seeds 15`: the command for a task's own options, where they are not the default, and for these."""
    own = {field.name: value for field in dataclasses.fields(task) if (value := getattr(task, field.name)) != field.default}
    line = ["probe", *command, task.name]
    for name, value in (own | options).items():
        flag = f"--{name.replace('_', '-')}"
        line += [word for one in value for word in (flag, str(one))] if isinstance(value, list | tuple) else [flag]
        line += [] if value is True or isinstance(value, list | tuple) else [str(value)]
    return shlex.join(line)

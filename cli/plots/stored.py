"""What a store holds of a task, whatever was asked for when it was computed: records that today's code would read again."""

import json
from pathlib import Path

from attnprobe.probes.spec import parse
from attnprobe.probes.store import SCHEMA, Store, checksum, identity, key
from attnprobe.probes.tasks import TASKS


def scan(root, name):
    """(records, how many files were passed over) of a task: those of this schema, whole, and named as today's code would name them.

    A file of other code, of another version of the task, or damaged, is passed over: no figure mixes it with the rest.
    """
    records, known, passed = [], {}, 0
    for path in sorted(Store(root).root.glob(f"{name}/*/*.json")):
        record = read(path)
        if record is not None and record["key"] == today(record["identity"], known):
            records.append(record)
        else:
            passed += 1
    return records, passed


def read(path):
    """A record, or None where the file holds none that is whole."""
    try:
        record = json.loads(Path(path).read_bytes())
        whole = record["schema"] == SCHEMA and record["checksum"] == checksum(record)
        return record if whole and record["key"] == key(record["identity"]) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def today(described, known):
    """The key that today's code gives what an identity describes, None where it no longer takes it. known: kept between calls."""
    arm = json.dumps([described[part] for part in ("options", "arm_name", "head_dim", "recipe", "dtype", "device")], sort_keys=True)
    if arm not in known:
        known[arm] = named(described)
    return known[arm] and key(known[arm] | {"seed": described["seed"]})


def named(described):
    """The identity that today's code makes of an old one's description, or None."""
    from attnprobe.probes.recipe import Recipe

    try:
        task = TASKS[described["task"]](**described["options"])
        spec, recipe = parse(described["arm_name"]), Recipe(**described["recipe"])
    except (ValueError, TypeError):
        return None
    return identity(task, spec, described["head_dim"], recipe, described["seed"], described["dtype"], described["device"])


def labels(task):
    """Canonical spec -> the name that a task's own arms are asked for by."""
    return {str(parse(name)): name for name in task.arms}


def seeds_text(seeds):
    """Seeds as `15 seeds` or `1 seed`."""
    return f"{len(seeds)} seed{'s' * (len(seeds) != 1)}"

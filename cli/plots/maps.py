"""Attention maps beside the seeds that they are of: computed once, by training that seed again, since a store holds no weights."""

import json
import os
from pathlib import Path

from attnprobe.cli.plots import walk
from attnprobe.probes.holdings import same_fields, today
from attnprobe.probes.recipe import Recipe
from attnprobe.probes.run import named
from attnprobe.probes.store import Store, key
from attnprobe.probes.tasks import TASKS

SCHEMA = 1


def load(root, task, arm, seed, recipe, word):
    """A stored map, (T, S) lists, or None."""
    identity = named(task, arm, recipe, seed, "cpu")
    held = read(where(root, identity, word))
    return held["weights"] if held and (key(held["identity"]), held["word"]) == (key(identity), word) else None


def save(root, task, arm, seed, recipe, word, weights):
    """Store a map, whole or not at all."""
    identity = named(task, arm, recipe, seed, "cpu")
    path = where(root, identity, word)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    held = {"schema": SCHEMA, "identity": identity, "name": arm.name, "word": word, "weights": weights}
    temporary.write_text(json.dumps(held, allow_nan=False), encoding="utf-8")
    temporary.replace(path)


def where(root, identity, word):
    """Beside the seed's result: its name, with the word and `.map` for `.json`."""
    return Store(root).path(identity).with_suffix(f".{word}.map")


def read(path):
    """What a map's file holds, or None where it is not there or not whole."""
    try:
        held = json.loads(path.read_bytes())
        return held if held["schema"] == SCHEMA and held.keys() >= {"identity", "name", "word", "weights"} else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def drawable(root):
    """Every Walk that a store's maps make: one a word, seed and head dimension, of the arms that have it; of today's code alone."""
    found = {}
    for path in sorted(Path(root).glob("ladder/*/*.map")):
        held = read(path)
        if held is not None and of_today(held["identity"]):
            options, seed = held["identity"]["options"], held["identity"]["seed"]
            group = json.dumps([options, held["identity"]["head_dim"], held["identity"]["recipe"], seed, held["word"]], sort_keys=True)
            found.setdefault(group, []).append(held)
    return [of_word(maps) for maps in found.values()]


def of_today(identity):
    """Whether today's code would name a map's seed so."""
    try:
        return today(identity)[0] == "current" and same_fields(identity["recipe"], Recipe)
    except (KeyError, TypeError):
        return False


def of_word(maps):
    """The Walk of maps of one word and seed."""
    identity = maps[0]["identity"]
    task = TASKS["ladder"](**identity["options"])
    return walk.gather(task, maps[0]["word"], identity["seed"], {held["name"]: held["weights"] for held in maps})

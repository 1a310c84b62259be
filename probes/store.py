"""The store: one JSON file an (arm, seed), named by the hash of what determines it, written whole.

A write goes to a temporary name, is fsynced and renamed, so that no lock is needed, a kill leaves no half file, and two
runs may share a store. Whatever is not in the key (time, threads, host) is recorded but does not name the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from dataclasses import asdict
from pathlib import Path

from attnprobe.probes.code import digest

SCHEMA = 1
SHARED_CODE = ("attnprobe.probes.train", "attnprobe.probes.model", "attnprobe.probes.mixers.attention")
RESULT_FIELDS = {"seed", "status", "score", "steps", "curve", "data_hash", "head", "failure"}


class Store:
    """Results under one directory.

    Args: root: the directory, made if missing; warn: called with one line when a file is set aside.
    Raises OSError at construction if the directory cannot be written.
    """

    def __init__(self, root, warn=lambda line: None):
        self.root, self.warn = Path(root), warn
        self.root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self.root):
            pass  # an unwritable store is found out before anything is computed

    def path(self, identity):
        """STORE/<task>/<arm>/<key[:16]>.json for an identity made by `identity`."""
        arm = re.sub(r"[^A-Za-z0-9.+_=,-]", "~", identity["arm_name"])
        return self.root / identity["task"] / f"{arm}@{identity['head_dim']}" / f"{key(identity)[:16]}.json"

    def load(self, identity):
        """The stored record of an identity, or None; a file that does not hold it is set aside under `.corrupt`."""
        path = self.path(identity)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            record = json.loads(text)
            if record["schema"] != SCHEMA or record["key"] != key(identity) or not set(record["result"]) >= RESULT_FIELDS:
                raise ValueError("it does not hold the result that its name says")
        except (ValueError, KeyError, TypeError) as error:
            aside = path.with_suffix(".corrupt")
            path.replace(aside)
            self.warn(f"{path} is not a readable result ({error}); set aside as {aside.name}, the seed is computed again")
            return None
        return record

    def save(self, identity, result, recorded):
        """Write one seed's result and return its record."""
        record = {"schema": SCHEMA, "key": key(identity), "identity": identity, "result": result, "recorded": recorded}
        path = self.path(identity)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record, allow_nan=False)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", suffix=".tmp", delete=False, encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)
        return json.loads(text)


def identity(task, spec, head_dim, recipe, seed, dtype, device_type):
    """What determines a result: task, arm, recipe, seed, number format, device and code, as canonical plain data."""
    parts = [part for layer in spec.layers for part in layer.parts().values()]
    return {
        "schema": SCHEMA,
        "task": task.name,
        "options": asdict(task),
        "version": task.version,
        "arm": spec.full(),
        "arm_name": str(spec),
        "head_dim": head_dim,
        "num_heads": task.num_heads,
        "layers": task.layers,
        "recipe": asdict(recipe),
        "seed": seed,
        "dtype": dtype,
        "device": device_type,
        "code": digest([*SHARED_CODE, type(task).__module__, *(type(part).__module__ for part in parts)]),
    }


def key(identity):
    """sha256 of the identity as canonical JSON."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

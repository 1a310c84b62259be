"""The store: one JSON file an (arm, seed), named by the hash of what determines it, written whole.

A write goes to a temporary name, is fsynced and renamed, so that no lock is needed, a kill leaves no half file, and two
runs may share a store. Whatever is not in the key (time, threads, host) is recorded but does not name the file. A checksum
over what is read back tells a damaged file from a result.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attnprobe.probes.code import digest
from attnprobe.probes.mixers import kernel
from attnprobe.probes.record import SCHEMA, checksum, key, read, unscored
from attnprobe.probes.tasks import TASKS

SHARED_CODE = ("attnprobe.probes.train", "attnprobe.probes.model", "attnprobe.probes.mixers.attention")


class Store:
    """Results under one directory.

    Args: root: the directory, made if missing; warn: called with one line when a file is set aside.
    Raises OSError at construction where there is no such directory and none can be made. It need not be writable to be read.
    """

    def __init__(self, root: str | Path, warn: Callable[[str], object] = lambda line: None) -> None:
        if not str(root):
            raise ValueError("a store must name a directory")
        self.root, self.warn = Path(root), warn
        if self.root.exists() and not self.root.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "a store is a directory, and this is none", str(self.root))
        self.root.mkdir(parents=True, exist_ok=True)

    def check_writable(self) -> None:
        """Raise OSError, which names the store, where its directory cannot be written: to be found out before anything is computed."""
        with self.writing(), tempfile.TemporaryFile(dir=self.root):
            pass

    def check_free(self, identity: dict[str, Any]) -> None:
        """Raise ValueError where a result of a newer schema has the place of an identity's: nothing is written over it."""
        path = self.path(identity)
        if path.is_file():
            try:
                record = read(path.read_bytes(), path)
            except ValueError:  # what is damaged has no claim to its place
                return
            check_not_newer(record, path)

    @contextlib.contextmanager
    def writing(self):
        """What fails to be written in here is said of the store, whatever temporary file it was."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, f"a result cannot be written: {error.strerror}", str(self.root)) from error

    def path(self, identity: dict[str, Any]) -> Path:
        """STORE/<task>/<arm>/<key[:16]>.json for an identity made by `identity`."""
        arm = re.sub(r"[^A-Za-z0-9.+_=,-]", "~", identity["arm_name"])
        return self.root / identity["task"] / f"{arm}@{identity['head_dim']}" / f"{key(identity)[:16]}.json"

    def load(self, identity: dict[str, Any]) -> dict[str, Any] | None:
        """The stored record of an identity, or None; a file that does not hold it is set aside under `.corrupt`.

        Raises ValueError where it is a result of a newer schema, which stays where it is.
        """
        path = self.path(identity)
        for folder in (path.parent.parent, path.parent):
            if folder.exists() and not folder.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, "results are kept in this directory, and it is none", str(folder))
        if not path.exists():
            return None
        if not path.is_file():
            raise OSError(errno.EINVAL, "a result is a file, and this is none", str(path))
        data = path.read_bytes()
        try:
            record = read(data, path)
            check_not_newer(record, path)
            if record["schema"] != SCHEMA or record["key"] != key(identity):
                raise ValueError("it is the result of something else")
            if identity["task"] in TASKS and (why := unscored(record, TASKS[identity["task"]].metric)):
                raise ValueError(why)
        except Newer:
            raise
        except ValueError as error:
            aside = next(a for n in itertools.count(1) if not (a := path.with_suffix(f".corrupt{n}")).exists())
            path.replace(aside)
            self.warn(f"{path} is not a readable result ({error}); set aside as {aside.name}, the seed is computed again")
            return None
        return record

    def save(self, identity: dict[str, Any], result: dict[str, Any], recorded: dict[str, Any]) -> dict[str, Any]:
        """Write one seed's result and return its record. Raises as `check_free` does."""
        self.check_free(identity)
        record = {"schema": SCHEMA, "key": key(identity), "identity": identity, "result": result, "recorded": recorded}
        record = json.loads(json.dumps(record, allow_nan=False))  # what will be read back: tuples become lists
        with self.writing():
            write(self.path(identity), json.dumps(record | {"checksum": checksum(record)}, allow_nan=False))
        return record | {"checksum": checksum(record)}


class Newer(ValueError):
    """A result of a newer schema."""


def check_not_newer(record, path):
    """Raise Newer where a record is of a newer schema than this."""
    if record["schema"] > SCHEMA:
        what = f"a result of schema {record['schema']}, newer than {SCHEMA}, which is written here"
        raise Newer(f"{path} is {what}: it stays as it is; update attnprobe, or give another store")


def write(path, text):
    """Write a file whole, by way of a temporary one, which is removed where that fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def identity(task, spec, head_dim, recipe, seed, dtype, device_type):
    """What determines a result: task, arm, recipe, seed, number format, device and code, as canonical plain data."""
    parts = [part for side in (spec.trained, spec.judged) for layer in side.layers for part in layer.parts().values()]
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
        "code": digest(
            [*SHARED_CODE, type(task).__module__, *(type(part).__module__ for part in parts)],
            kernel.modules(task, spec, head_dim, device_type),
        ),
    }

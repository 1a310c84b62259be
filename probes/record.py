"""A record: what one file of a store holds, and whether a file holds one.

A record has a schema, a key, the identity that the key is of, a result, what was recorded beside it, and a checksum over these two.
"""

from __future__ import annotations

import hashlib
import json
import math

SCHEMA = 1
STATUSES = ("solved", "unsolved", "failed")
FIELDS = {
    "schema": int, "task": str, "options": dict, "version": int, "arm": str, "arm_name": str, "head_dim": int, "num_heads": int,
    "layers": int, "recipe": dict, "seed": int, "dtype": str, "device": str, "code": str,
}  # fmt: skip


def key(identity):
    """sha256 of the identity as canonical JSON."""
    return digest_of(identity)


def checksum(record):
    """sha256 of a record's result and of what was recorded beside it."""
    return digest_of([record["result"], record["recorded"]])


def digest_of(value):
    """sha256 of a value as canonical JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read(data, path):
    """The record that a file's bytes hold: of another schema as it stands, of this one only if it is what a Store writes under that name.

    Raises ValueError, with the reason, where they hold none.
    """
    try:
        record = json.loads(data)
        if type(record["schema"]) is not int:
            raise ValueError("its schema is no int")
        if record["schema"] == SCHEMA:
            check(record, path)
        return record
    except KeyError as error:
        raise ValueError(f"it has no {error}") from None
    except (TypeError, AttributeError, ArithmeticError, RecursionError):
        raise ValueError("it is no record") from None


def check(record, path):
    """Raise ValueError, or what reading a wrong type raises, where a record of this schema is not what a Store writes under that name."""
    described, result = record["identity"], record["result"]
    wrong = [name for name, kind in FIELDS.items() if type(described[name]) is not kind]
    if wrong:
        raise ValueError(f"its identity's {wrong[0]} is no {FIELDS[wrong[0]].__name__}")
    if record["key"] != key(described) or path.stem != record["key"][:16]:
        raise ValueError("its name is not that of its identity")
    if record["checksum"] != checksum(record):
        raise ValueError("its content is not what was written")
    if result["seed"] != described["seed"] or not is_result(result) or not is_recorded(record["recorded"]):
        raise ValueError("its result is none")


def is_result(result):
    """Whether a dict is the result of one seed, as training returns it."""
    failed, failure, head = result["status"] == "failed", result["failure"], result["head"]
    return (
        result["status"] in STATUSES
        and all(is_number(x) for x in [*result["score"].values(), result["steps"]])
        and isinstance(result["data_hash"], str)
        and all(is_curve(points) for points in [result["losses"], result["curve"], *result["traces"].values()])
        and (failure is None) != failed
        and (failure is None or {"quantity", "step"} <= failure.keys())
        and (head is None or {"keys", "offsets"} <= head.keys())
    )


def is_recorded(recorded):
    """Whether a dict is what is recorded beside a result."""
    texts = [recorded["date"], *recorded["versions"].values()]
    return is_number(recorded["seconds"]) and all(isinstance(text, str) for text in texts)


def is_curve(points):
    """Whether a value is [[step, value], ...], None for a value that was not finite."""
    return isinstance(points, list) and all(
        isinstance(point, list) and len(point) == 2 and is_number(point[0]) and (point[1] is None or is_number(point[1]))
        for point in points
    )


def is_number(x):
    """Whether a value is a finite number."""
    return isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)


def unscored(record, metric):
    """Why a record is no result of a task that decides by `metric`: its seed did not fail and lacks that score; else None."""
    result = record["result"]
    return None if result["status"] == "failed" or metric in result["score"] else f"its score has no {metric!r}"

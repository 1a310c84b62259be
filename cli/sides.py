"""Reads one side of `probe diff`: a store, or a file that `probe export` wrote, as rows a seed."""

import csv
import json
from pathlib import Path

from attnprobe.cli.row_formats import kind
from attnprobe.cli.row_schema import SCHEMA, SEEDS

PAIRED = ("task", "options", "arm", "head_dim", "recipe", "dtype", "device", "seed")  # what names a seed's result on both sides
NEEDED = (*PAIRED, "status", "state", "date", "task_version", "code", "theory")
READS = {"int": int, "float": float, "json": json.loads, "text": str, "bool": bool}
TYPES = {"int": int, "float": (int, float), "json": dict, "text": str}
MAY_LACK = {"theory"}  # where a result is not of today's code


def read(path):
    """The rows of a store's directory, whatever their state, or of an export. Raises ValueError or OSError."""
    if Path(path).is_dir():
        from attnprobe.cli.rows import seed_rows
        from attnprobe.probes.holdings import holdings

        return seed_rows(holdings(path))
    if not Path(path).exists():
        raise ValueError(f"there is no {path}: give a store's directory, or a file that `probe export` wrote")
    reader = {".csv": from_csv, ".json": from_json, ".parquet": from_parquet}.get(Path(path).suffix.lower())
    if reader is None:
        raise ValueError(f"{path}: give a store's directory, or a .csv, .json or .parquet file that `probe export` wrote")
    try:
        rows = reader(path)
        for row in rows:
            check(row)
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, csv.Error, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is no export of seeds: {type(error).__name__}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path} is no export of seeds: {error}") from None
    return rows


def check(row):
    """Raise ValueError or KeyError where a row has not what is needed to pair it."""
    if row["schema"] != SCHEMA:
        raise ValueError(f"its rows are of schema {row['schema']}, not {SCHEMA}")
    for name in NEEDED:
        given, wanted = row[name], TYPES[SEEDS[name][0]]
        if not (given is None and name in MAY_LACK) and (isinstance(given, bool) or not isinstance(given, wanted)):
            raise ValueError(f"a row's {name} is {given!r}")


def from_json(path):
    """The rows of --json."""
    made = json.loads(Path(path).read_text(encoding="utf-8"))
    if made["rows"] != "seeds":
        raise ValueError("it has a row an arm, which cannot be paired; export --rows seeds")
    return made["data"]


def from_csv(path):
    """The rows of --csv."""
    with open(path, encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    if found and "seed" not in found[0]:
        raise ValueError("it has no column `seed`; export --rows seeds")
    return [{name: None if text in ("", None) else READS[kind(name)](text) for name, text in row.items()} for row in found]


def from_parquet(path):
    """The rows of --parquet."""
    try:
        import pyarrow.parquet as pq
        from pyarrow import ArrowException
    except ImportError:
        raise ValueError("it is Parquet, which needs pyarrow: pip install 'attnprobe[parquet]'") from None
    try:
        rows = pq.read_table(path).to_pylist()
    except ArrowException as error:
        raise ValueError(str(error)) from None
    return [{name: json.loads(x) if x is not None and kind(name) == "json" else x for name, x in row.items()} for row in rows]

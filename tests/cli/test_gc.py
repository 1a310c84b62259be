"""`probe gc`: shows by default, removes what is asked for, and never a result of today's code."""

import json
import os
import time

import pytest
from typer.testing import CliRunner

from attnprobe.cli import clearing
from attnprobe.cli.probe import app
from attnprobe.probes.holdings import holdings
from attnprobe.probes.store import key
from attnprobe.probes.tasks.ladder import Ladder

TASK = Ladder(r=5)


def invoke(*arguments):
    return CliRunner().invoke(app, ["gc", *arguments], env={"COLUMNS": "80"})


def aged(path, text="x", hours=2):
    path.write_text(text)
    then = time.time() - 3600 * hours
    os.utime(path, (then, then))
    return path


@pytest.fixture
def store(tmp_path, fill, fill_older):
    """A store with one file of every kind; names -> paths."""
    root = tmp_path / "results"
    fill_older(root, TASK, "alibi@4", {7: 0.5})
    fill(root, TASK, "fpa@4", {0: 0.01, 1: 0.02, 2: 0.03})
    old, first, second, third = (held.path for held in holdings(root))
    paths = {"older": old, "current": first, "damaged": second, "unknown": third}
    record = json.loads(third.read_bytes())
    record["identity"]["arm_name"] = "mine"
    record["key"] = key(record["identity"])
    third.unlink()
    paths["unknown"] = third.with_name(f"{record['key'][:16]}.json")
    paths["unknown"].write_text(json.dumps(record))
    second.write_text("{}")
    folder = first.parent
    paths["aside"] = folder / "0123456789abcdef.corrupt1"
    paths["aside"].write_text("damage")
    paths["unfinished"] = aged(folder / ".0123456789abcdef.1.tmp")
    paths["being written"] = folder / ".0123456789abcdef.2.tmp"
    paths["being written"].write_text("x")
    paths["stranger"] = aged(folder / "notes.txt")
    return root, paths


def left(paths):
    return {name for name, path in paths.items() if path.exists()}


GOES = {
    (): {"damaged", "aside", "unfinished"},
    ("--corrupt",): {"damaged", "aside"},
    ("--temporary",): {"unfinished"},
    ("--older",): {"older"},
    ("--older", "--corrupt", "--temporary"): {"older", "damaged", "aside", "unfinished"},
}


@pytest.mark.parametrize("asked", GOES)
def test_what_is_asked_for_goes_and_nothing_else(store, asked):
    root, paths = store
    everything = left(paths)
    shown = invoke(*asked, "--store", str(root))
    assert shown.exit_code == 0, shown.output
    assert f"nothing was removed; --remove removes the {len(GOES[asked])} listed" in shown.stdout
    assert left(paths) == everything
    done = invoke(*asked, "--remove", "--store", str(root))
    assert left(paths) == everything - GOES[asked]
    assert f"removed {len(GOES[asked])} file" in done.stdout
    assert all(str(paths[name]) in done.stdout for name in GOES[asked])


def test_a_folder_that_is_left_empty_goes_and_no_other(store):
    root, paths = store
    invoke("--older", "--remove", "--store", str(root))
    assert not paths["older"].parent.exists()
    assert paths["current"].exists()


def test_json_names_every_file_and_whether_it_is_gone(store):
    root, paths = store
    size = paths["older"].stat().st_size
    made = json.loads(invoke("--older", "--json", "--store", str(root)).stdout)
    assert made["files"] == [{"path": str(paths["older"]), "kind": "older", "why": "other code", "bytes": size, "removed": False}]
    assert made["there"]["corrupt"]["files"] == 2
    made = json.loads(invoke("--older", "--remove", "--json", "--store", str(root)).stdout)
    assert [one["removed"] for one in made["files"]] == [True]
    assert not paths["older"].exists()


def test_a_file_that_changed_meanwhile_stays(store):
    root, paths = store
    found = [one for one in clearing.items(root) if one.kind == "corrupt"]
    paths["damaged"].write_text("written again, and well")
    gone, kept = clearing.remove(found)
    assert [one.path for one in kept] == [paths["damaged"]]
    assert paths["damaged"].exists()
    assert [one.path for one in gone] == [paths["aside"]]


def test_a_removed_result_is_computed_again_and_a_kept_one_is_not(store):
    root, paths = store
    invoke("--older", "--corrupt", "--remove", "--store", str(root))
    states = {held.path: held.state for held in holdings(root)}
    assert states == {paths["current"]: "current", paths["unknown"]: "unknown"}


@pytest.mark.parametrize(
    ("asked", "says"), [(["--remove", "--dry-run"], "give one of them"), (["--store", "/nowhere/at/all"], "there is no store")]
)
def test_bad_input_is_one_line_and_exit_2(store, asked, says):
    done = invoke(*asked, *([] if "--store" in asked else ["--store", str(store[0])]))
    assert done.exit_code == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_clean_store_has_nothing_to_remove(tmp_path, fill):
    fill(tmp_path, TASK, "fpa@4", {0: 0.01})
    done = invoke("--older", "--remove", "--store", str(tmp_path))
    assert done.exit_code == 0
    assert "removed 0 files" in done.stdout
    assert "nothing to remove" in invoke("--store", str(tmp_path)).stdout

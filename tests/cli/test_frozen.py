"""`probe reproduce --freeze` and `--check`: figures against a reference."""

import json
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from attnprobe.cli import frozen

TINY = ["--steps", "2", "--seeds", "100:102", "--workers", "1"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return ["--store", str(tmp_path_factory.mktemp("results"))]


def test_check_finds_a_changed_verdict_a_moved_value_and_nothing_else(probe, store, tmp_path):
    path = tmp_path / "reference.json"
    asked = ("fpa", "--tasks", "push-pop,theory", *TINY, *store, "--quiet")
    assert probe("reproduce", *asked, "--freeze", str(path)).exit_code == 0
    still = probe("reproduce", *asked, "--check", "--reference", str(path))
    assert still.exit_code == 0
    assert "verdicts changed: 0, values moved: 0" in still.stdout
    reference = json.loads(path.read_text())
    at = next(i for i, row in enumerate(reference["rows"]) if row["arm"] == "fpa-sum")
    reference["rows"][at] |= {"verdict": "matches", "ours": 2, "interval": [0.2, 1.0]}
    path.write_text(json.dumps(reference))
    moved = probe("reproduce", *asked, "--check", "--reference", str(path))
    assert moved.exit_code == 1
    assert "VERDICT fpa, push-pop: fpa-sum: matches -> differs" in moved.stdout
    assert "value   fpa, push-pop: fpa-sum: 1 -> 0, outside the reference's interval" in moved.stdout
    assert "verdicts changed: 1, values moved: 1" in moved.stdout
    reference["rows"][at] |= {"verdict": "differs"}
    path.write_text(json.dumps(reference))
    value_alone = probe("reproduce", *asked, "--check", "--reference", str(path))
    assert value_alone.exit_code == 0
    assert "verdicts changed: 0, values moved: 1" in value_alone.stdout


def test_check_tells_new_rows_lost_rows_and_other_seeds(probe, store, tmp_path):
    path = tmp_path / "reference.json"
    asked = ("fpa", "--tasks", "theory", *store, "--quiet")
    assert probe("reproduce", *asked, "--freeze", str(path)).exit_code == 0
    reference = json.loads(path.read_text())
    reference["rows"][0] |= {"arm": "renamed"}
    path.write_text(json.dumps(reference))
    done = probe("reproduce", *asked, "--seeds", "3", "--check", "--reference", str(path))
    assert done.exit_code == 1
    assert "p: 11 wins, no loss: not in the reference -> matches" in done.stdout
    assert "renamed: matches -> no such figure any more" in done.stdout
    assert "other seeds" in done.stdout
    fewer = [row for row in reference["rows"] if row["arm"] != "renamed"]
    path.write_text(json.dumps(reference | {"rows": fewer}))
    assert (
        probe("reproduce", "pn-fir-tau", "--tasks", "theory", *store, "--quiet", "--check", "--reference", str(path)).exit_code == 1
    )  # new rows


def test_a_reference_that_ships_is_part_of_the_package_and_needs_no_name(probe, store, tmp_path, monkeypatch):
    listed = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    assert any(fnmatch(frozen.SHIPPED, pattern) for pattern in listed["attnprobe.probes.papers"])
    asked = ("fpa", "--tasks", "theory", *store, "--quiet")
    assert probe("reproduce", *asked, "--freeze", str(tmp_path / frozen.SHIPPED)).exit_code == 0
    monkeypatch.setattr("importlib.resources.files", {"attnprobe.probes.papers": tmp_path}.__getitem__)
    done = probe("reproduce", *asked, "--check")
    assert done.exit_code == 0
    assert "verdicts changed: 0, values moved: 0" in done.stdout


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 1, "rows": [{}], "seeds": [1]}', '{"schema": 2, "rows": [], "seeds": [1]}'])
def test_a_file_that_is_no_reference_is_refused(text, tmp_path):
    path = tmp_path / "reference.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="no reference written by --freeze"):
        frozen.read(str(path))

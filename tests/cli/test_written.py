"""Files that a command writes, and stores that it reads: what cannot be is one line that names the path."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from attnprobe.cli.probe import app
from attnprobe.cli.written import write_whole

FULL = Path("/dev/full")  # a device that takes nothing


def invoke(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.mark.skipif(not FULL.exists(), reason="needs Linux's /dev/full")
def test_a_file_that_cannot_be_written_is_named():
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(FULL, b"x")
    assert caught.value.filename == str(FULL)


def test_a_temporary_file_that_cannot_be_made_goes_by_the_name_that_was_asked_for(tmp_path, monkeypatch):
    import tempfile

    def refuse(**where):
        raise PermissionError(13, "Permission denied", str(tmp_path / ".a.csv.x7"))

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(PermissionError) as caught:
        write_whole(tmp_path / "a.csv", b"x")
    assert caught.value.filename == str(tmp_path / "a.csv")


def test_a_file_that_is_replaced_stays_as_it_was_where_writing_fails(tmp_path, monkeypatch):
    import os

    out = tmp_path / "a.csv"
    write_whole(out, b"first")

    def refuse(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_whole(out, b"second")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.csv", b"first")]


@pytest.mark.skipif(not FULL.exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_behind_stdout_is_one_line(monkeypatch):
    import subprocess
    import sys

    with FULL.open("w") as full:
        done = subprocess.run([sys.executable, "-m", "attnprobe.cli", "cite"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "error: cannot write: No space left on device\n")


NAMELESS = {
    "run": ["run", "ladder"], "matrix": ["matrix"], "reproduce": ["reproduce"], "results": ["results"], "report": ["report"],
    "export": ["export", "--csv"], "gc": ["gc"], "curves": ["plot", "curves", "ladder"], "ladder": ["plot", "ladder"],
    "size": ["plot", "size", "ladder"], "map": ["plot", "matrix"], "walk": ["plot", "walk"],
}  # fmt: skip


@pytest.mark.parametrize("command", NAMELESS.values(), ids=NAMELESS)
def test_a_store_without_a_name_is_refused_by_what_writes_and_by_what_reads(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = invoke(*command, "--store", "")
    assert done.exit_code == 2, done.output
    assert done.stderr == "error: a store must name a directory\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sides", [["", "a"], ["a", ""], [""]])
def test_a_side_of_a_diff_without_a_name_is_refused(sides, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    done = invoke("diff", *sides)
    assert (done.exit_code, done.stderr) == (2, "error: a store must name a directory\n")

"""`probe new` writes files that run and pass `probe check` as they are, and touches nothing that is there."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from attnprobe.cli.probe import app
from attnprobe.cli.starts import MIXERS
from attnprobe.probes.loading import forget, load
from attnprobe.probes.spec import axis_of
from attnprobe.probes.tasks import TASKS

pytestmark = pytest.mark.usefixtures("nothing_stays_loaded")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})


@pytest.mark.parametrize("axis", MIXERS)
def test_a_new_mixer_is_a_part_of_its_axis_that_passes_every_check_and_runs(here, axis):
    done = invoke("new", "mixer", "my-part", "--axis", axis)
    assert done.stdout.splitlines()[:2] == ["wrote my_part.py", "  probe check my_part.py"]
    load("my_part.py")
    assert axis_of()["my-part"] == axis
    forget()
    checked = invoke("check", "my_part.py")
    assert checked.exit_code == 0, checked.stdout
    assert "my-part: all 14 checks hold" in checked.stdout
    told = done.stdout.splitlines()[2].split()
    assert told[:2] == ["probe", "run"]
    ran = invoke(*told[1:], "--steps", 2, "--seeds", 1, "--batch", 4, "--workers", 1, "--quiet", "--store", here / "results")
    assert ran.exit_code == 0, ran.output
    assert "my-part" in ran.stdout


def test_a_new_task_passes_every_check_and_runs(here):
    done = invoke("new", "task", "my-task", "--dir", here)
    load(here / "my_task.py")
    assert TASKS["my-task"]().readers.keys() == {"exact", "majority", "last write"}
    forget()
    checked = invoke("check", here / "my_task.py")
    assert checked.exit_code == 0, checked.stdout
    assert "readers" in checked.stdout
    for line in done.stdout.splitlines()[2:]:
        quick = [] if "show" in line else ["--steps", 2, "--batch", 4, "--workers", 1, "--quiet", "--store", here / "results"]
        ran = invoke(*line.split()[1:], *quick)
        assert ran.exit_code == 0, ran.output


def test_what_is_written_is_as_the_house_writes(here):
    for axis in MIXERS:
        invoke("new", "mixer", f"my-{axis.replace('_', '-')}", "--axis", axis)
    invoke("new", "task", "my-task")
    settings = ["--line-length", "140", "--isolated"]
    for words in (["check", "--select", "E,F,W,B,UP"], ["format", "--check"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *words, *settings, "."], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mixer", "there"], "there.py: File exists"),
        (["mixer", "fpa"], "the name 'fpa' is taken by the suite; choose another"),
        (["task", "Big"], "a name opens with a small letter"),
        (["mixer", "my.part"], "a name takes small letters, digits, - and _, not 'my.part'"),
        (["mixer", "mine", "--dir", "nowhere"], "No such file or directory"),
        (["mixer", "mine", "--axis", "head"], "'head' is not one of"),
    ],
)
def test_nothing_is_written_over_or_under_a_name_that_is_taken(here, words, message):
    (here / "there.py").write_text("kept")
    done = invoke("new", *words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert [path.name for path in here.iterdir()] == ["there.py"]
    assert (here / "there.py").read_text() == "kept"

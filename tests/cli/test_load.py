"""--load: a user's file takes part in every command that names tasks or mechanisms."""

import json

import pytest
from typer.testing import CliRunner

from attnprobe.cli.load import given
from attnprobe.cli.probe import app
from attnprobe.probes.loading import forget

pytestmark = pytest.mark.usefixtures("nothing_stays_loaded")

TASK = """
from dataclasses import dataclass, field
from attnprobe.probes.registry import register
from attnprobe.probes.tasks.count import Count


@register("my-count", paper="ours", family="C9")
@dataclass(frozen=True)
class MyCount(Count):
    '''Counting under another name.'''

    shade: int = field(default=3, metadata={"help": "How dark it is."})
    hue: int = 1
"""


@pytest.fixture
def files(tmp_path, mine):
    for name, text in {"mine.py": mine, "task.py": TASK, "broken.py": "x = (\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def invoke(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})


def test_the_files_given_are_found_wherever_they_stand():
    assert given(["run", "--load", "a.py", "ladder", "--load=b.py", "--arm", "x"]) == ["a.py", "b.py"]
    assert given(["run", "--", "--load", "a.py"]) == []
    assert given(["run", "--load"]) == []


def test_a_loaded_mechanism_runs_beside_the_suite_s(files):
    quick = ["--r", 4, "--steps", 2, "--batch", 4, "--seeds", 2, "--workers", 1, "--quiet", "--store", files / "results"]
    done = invoke("run", "ladder", *quick, "--load", files / "mine.py", "--arm", "mine", "--arm", "rope+mine", "--json")
    assert done.exit_code == 0, done.output
    made = json.loads(done.stdout)
    assert [row["mixer"] for row in made["arms"]] == ["mine", "rope+mine"] * 2
    assert made["config"]["unchecked"] == {"mine": str(files / "mine.py")}
    table = invoke("run", "ladder", *quick, "--load", files / "mine.py", "--arm", "mine", "--arm", "fpa")
    assert "mine: loaded from mine.py, not checked here" in table.stdout.splitlines()
    assert "not checked" not in invoke("run", "ladder", *quick, "--load", files / "mine.py", "--arm", "fpa").stdout


def test_a_run_says_which_loaded_part_is_in_no_arm_and_that_nothing_was_checked(files):
    quick = ["--steps", 2, "--batch", 4, "--seeds", 2, "--workers", 1, "--store", files / "results", "--load", files / "mine.py"]
    idle = f"note: {files}/mine.py: mine is loaded and in no arm; name it by --arm mine"
    unchecked = f"note: {files}/mine.py: not checked here; probe check {files}/mine.py does, before training"
    notes = [
        [line for line in invoke("run", "ladder", "--r", 4, "--no-control", *quick, *more).stderr.splitlines() if line.startswith("note")]
        for more in (["--arm", "fpa"], ["--arm", "rope+mine"], ["--arm", "fpa", "--quiet"], ["--arm", "mine", "--quiet"])
    ]
    assert notes == [[idle, unchecked], [unchecked], [idle], []]


def test_a_matrix_says_which_loaded_part_is_no_row_of_it_and_a_loaded_task_is_no_part(files):
    both = ["--load", files / "mine.py", "--load", files / "task.py"]
    done = invoke("matrix", "--tasks", "ladder", "--mixers", "fpa", "--dry-run", "--store", files / "results", *both)
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines() == [
        f"note: {files}/mine.py: mine is loaded and in no arm; name it by --mixers mine",
        f"note: {files}/task.py, {files}/mine.py: not checked here; probe check {files}/task.py {files}/mine.py does, before training",
    ]


def test_a_figure_of_a_loaded_mechanism_s_results_needs_the_file_and_says_so_without_it(files):
    quick = ["--r", 4, "--steps", 2, "--batch", 4, "--seeds", 2, "--workers", 1, "--quiet", "--no-control", "--store", files / "results"]
    assert invoke("run", "ladder", *quick, "--load", files / "mine.py", "--arm", "mine", "--arm", "fpa").exit_code == 0
    forget()
    figure = ["plot", "curves", "ladder", "--r", 4, "--steps", 2, "--batch", 4, "--store", files / "results", "--out", files / "a.svg"]
    without, loaded = invoke(*figure).stderr, invoke(*figure, "--load", files / "mine.py").stderr
    assert without.startswith(
        "drawn: fpa; seeds 0:2\nnote: 2 files are not of today's code (2 unknown, of a file of yours that is not loaded?)"
    )
    assert loaded == "drawn: fpa, mine; seeds 0:2\n"


@pytest.mark.parametrize("before", [True, False])
def test_a_loaded_task_is_a_command_with_its_fields_as_options(files, before):
    load, name = ["--load", files / "task.py"], "my-count"
    words = ["run", *load, name] if before else ["run", name, *load]
    shown = invoke(*words, "-h")
    assert shown.exit_code == 0, shown.output
    assert "--shade" in shown.stdout
    assert "How dark it is." in shown.stdout
    assert "--load" in shown.stdout
    done = invoke(*words, "--steps", 1, "--seeds", 1, "--arm", "rope", "--quiet", "--store", files / "results", "--shade", 7)
    assert done.exit_code == 0, done.output
    assert "my-count --shade 7" in done.stdout


def test_loaded_names_are_listed_shown_and_crossed(files):
    load = ["--load", files / "mine.py", "--load", files / "task.py"]
    assert "my-count" in invoke("run", *load, "-h").stdout
    listed = invoke("list", *load).stdout
    assert "Counting under another name." in listed
    assert "Keys but the query's own lose one." in listed
    assert "my-count, seed 0" in invoke("show", "my-count", *load).stdout
    asked = ["--tasks", "my-count,ladder", "--mixers", "mine", "--seeds", 1, "--dry-run", "--store", files / "results"]
    assert "my-count" in invoke("matrix", *asked, *load).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "ladder", "--load", "none.py"], "none.py: No such file or directory"),
        (["run", "ladder", "--load", "broken.py"], "broken.py, line 1: '(' was never closed"),
        (["run", "my-count", "--load", "mine.py"], "unknown task 'my-count'; did you mean 'count'?"),
        (["list", "--load"], "requires an argument"),
        (["bench", "bias", "--load", "mine.py"], "No such option"),
    ],
)
def test_a_file_that_will_not_do_is_one_line_and_exit_2(files, monkeypatch, words, message):
    monkeypatch.chdir(files)
    done = invoke(*words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("words", [["run", "my-count"], ["show", "my-count"], ["run", "ladder", "--arm", "mine"]])
def test_a_field_of_a_type_that_only_a_type_checker_sees_is_one_line_and_exit_2(files, mine, words):
    postponed = "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from decimal import Decimal\n"
    text = TASK if "my-count" in words else mine.replace("    def parameters", "    hue: int = 1\n\n    def parameters", 1)
    (files / "postponed.py").write_text(postponed + text.replace("hue: int", "hue: Decimal"))
    done = invoke(*words, "--load", files / "postponed.py")
    assert done.exit_code == 2, done.output
    assert "annotations must be names that its module has when it runs" in done.stderr
    assert "name 'Decimal' is not defined" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_loaded_file_is_one_line_that_says_where(files, workers, mine):
    (files / "raises.py").write_text(mine.replace("T, S = scores.shape[-2:]", "T, S = scores.sizes"))
    quick = ["--r", 3, "--steps", 1, "--seeds", 1, "--quiet", "--store", files / "results", "--workers", workers]
    done = invoke("run", "ladder", *quick, "--load", files / "raises.py", "--arm", "mine", "--arm", "fpa")
    assert done.exit_code == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith(f"error: {files / 'raises.py'}, line 16: AttributeError: 'Tensor' object has no attribute 'sizes'; probe check")


BIAS_BODY = "T, S = scores.shape[-2:]"
MISTAKES = {
    "a bias that returns None": ("return scores.new_ones", "return None and scores.new_ones", "mine: TypeError: unsupported operand"),
    "a bias that raises ValueError": (BIAS_BODY, "raise ValueError('no')", "{file}, line 16: ValueError: no"),
    "a bias that exits": (BIAS_BODY, "raise SystemExit(0)", "{file}, line 16: SystemExit: 0"),
}


def with_mistake(mistake, mine, files):
    """Options that train a bias with a mistake, and how the line on it opens."""
    old, new, said = MISTAKES[mistake]
    (files / "wrong.py").write_text(mine.replace(old, new, 1))
    return ["ladder", "--r", 3, "--load", files / "wrong.py", "--arm", "mine", "--arm", "fpa"], said.format(file=files / "wrong.py")


@pytest.mark.parametrize("more", [["--workers", 1], ["--workers", 2], ["--dry-run"]])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_loaded_part_is_one_line_that_names_it(files, mine, mistake, more):
    words, said = with_mistake(mistake, mine, files)
    done = invoke("run", *words, "--steps", 1, "--seeds", 1, "--quiet", "--store", files / "results", *more)
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith(f"error: {said}")
    assert line.endswith(f"probe check {files / 'wrong.py'} may tell more")


def test_a_parameter_that_is_nan_is_one_line_and_exit_2(files, mine):
    (files / "capped.py").write_text(mine.replace("    def parameters", "    cap: float = 1.0\n\n    def parameters", 1))
    quick = ["--steps", 1, "--seeds", 1, "--quiet", "--workers", 2, "--store", files / "results", "--load", files / "capped.py"]
    done = invoke("run", "ladder", *quick, "--arm", "mine(cap=nan)", "--arm", "mine(cap=-1)")
    assert done.exit_code == 2, done.output
    assert done.stderr == "error: arm 'mine(cap=nan)': mine(cap=...) takes a number, not nan\n"


SAMPLE = """
    def sample(self, rng, n):
        from dataclasses import replace

        batch = super().sample(rng, n)
        return replace(batch, {what}=batch.{what} + 100)
"""


@pytest.mark.parametrize(("what", "error"), [("target", "Target 10"), ("tokens", "index out of range")])
def test_a_loaded_task_whose_numbers_are_out_of_range_is_one_line_that_names_it(files, what, error):
    (files / "wrong.py").write_text(TASK + SAMPLE.format(what=what))
    quick = ["--steps", 1, "--seeds", 1, "--quiet", "--store", files / "results", "--workers", 1]
    done = invoke("run", "my-count", *quick, "--load", files / "wrong.py", "--arm", "fpa")
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith(f"error: my-count: IndexError: {error}")
    assert line.endswith(f"probe check {files / 'wrong.py'} may tell more")


def test_an_error_of_the_suite_s_own_keeps_its_traceback(files, monkeypatch):
    monkeypatch.setattr("attnprobe.probes.run.check_device", lambda *given: 1 / 0)
    done = invoke("run", "ladder", "--load", files / "mine.py", "--arm", "mine")
    assert isinstance(done.exception, ZeroDivisionError)

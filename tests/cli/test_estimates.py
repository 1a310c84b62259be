"""What runs are said to cost before they start: of a matrix, a grid of rates, receptive fields and benchmarks."""

import re

import pytest
from typer.testing import CliRunner

from attnprobe.cli import bench_command, cost, dry_run
from attnprobe.cli.probe import app
from attnprobe.probes import bench
from attnprobe.probes.run import Arm
from attnprobe.probes.spec import parse
from attnprobe.probes.store import Store
from attnprobe.probes.tasks import TASKS

QUICK = ["--steps", "2", "--seeds", "100:102", "--workers", "1"]


def invoke(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})


@pytest.fixture
def slow(monkeypatch):
    """Let every step seem to take 10 s, and a worker's start 7; the arms that are measured, in order."""
    seen = []

    def step_seconds(task, arm, *more, **steps):
        seen.append(arm.name)
        return 10.0

    monkeypatch.setattr(dry_run, "step_seconds", step_seconds)
    monkeypatch.setattr(cost, "startup", lambda: 7.0)
    monkeypatch.setattr(cost, "FEW", 0)
    return seen


def test_an_estimate_of_tasks_has_the_workers_start_up_once_a_task_that_starts_any(slow, tmp_path):
    """Two tasks of two arms, 2 steps of 10 s each: 80 s, 40 side by side, and 2 times 7 s; a task of one arm starts no worker."""
    matrix = ["matrix", "--steps", 2, "--seeds", 2, "--dry-run", "--store", tmp_path, "--mixers", "fpa,rope"]
    said = invoke(*matrix, "--tasks", "ladder,recall", "--workers", 2).stdout
    assert "80 s of training, about 54 s with 2 workers, 14 s of it their start-up, measured on 20 steps an arm; evaluation" in said
    assert "80 s of training, measured on" in invoke(*matrix, "--tasks", "ladder,recall", "--workers", 1).stdout
    assert "20 s of training, measured on" in invoke(*matrix[:-1], "fpa", "--tasks", "ladder", "--workers", 2).stdout


def test_a_worker_s_start_is_measured_on_a_process():
    assert 0.1 < cost.startup() < 120


def test_a_grid_of_rates_is_estimated_once_and_whole(slow, tmp_path):
    """Two arms at two rates on 3 selection seeds, then at one each: 6 trainings of 20 s, four kinds of them measured."""
    grid = [*QUICK, "--store", tmp_path, "--lr-grid", "0.01,0.03", "--select-seeds", "1000:1003", "--batch", 2, "--no-control"]
    run = ["run", "ladder", "--r", 4, "--arm", "fpa", "--arm", "rope", *grid]
    done = invoke(*run)
    assert done.exit_code == 0, done.output
    assert slow == ["fpa", "rope"] * 2
    assert re.findall(r"^\d+ trainings: about [^,]+", done.stderr, re.M) == ["6 trainings: about 2.0 min with 1 worker"]
    slow.clear()
    assert "trainings" not in invoke(*run).stderr
    assert slow == []  # all is stored, the reported seeds at the rate that was chosen


def test_a_matrix_s_estimate_has_the_grid_in_it(slow, tmp_path):
    """One arm, 2 + 2 times 3 seeds: three trainings of 20 s."""
    grid = ["--lr-grid", "0.01,0.03", "--select-seeds", "1000:1003", "--store", tmp_path]
    done = invoke("matrix", "--tasks", "ladder", "--mixers", "fpa", *QUICK, *grid)
    assert done.exit_code == 0, done.output
    first, second, *_ = done.stderr.splitlines()
    assert first == "ladder: 1 arm, 0 of 8 seeds stored, about 60 s of training"
    assert second.startswith("60 s of training, measured on 20 steps an arm; 2 rates on 3 selection seeds are in it;")


def test_jobs_of_a_grid_are_those_that_the_store_lacks_at_its_fullest_rate(tmp_path):
    task, arms = TASKS["ladder"](r=4), [Arm("fpa", parse("fpa"), 4), Arm("rope", parse("rope"), 4)]
    made = cost.stages(task, arms, (0, 1), task.recipe, Store(tmp_path), ((0.01, 0.03), (1000,)))
    assert [[(job.arm.name, job.recipe.lr, job.seeds) for job in stage] for stage in made] == [
        [("fpa", 0.01, (1000,)), ("rope", 0.01, (1000,))],
        [("fpa", 0.03, (1000,)), ("rope", 0.03, (1000,))],
        [("fpa", 0.01, (0, 1)), ("rope", 0.01, (0, 1))],
    ]


def test_a_field_says_how_long_its_training_takes_and_an_untrained_one_does_not(slow):
    field = ["field", "latch", "--seq-len", 16, "--layers", 2, "--arm", "rope", "--seeds", 1]
    assert invoke(*field, "--steps", 7).stderr.startswith("1 training: about 70 s with 1 worker")
    slow.clear()
    for more in (["--steps", 7, "--quiet"], ["--untrained"]):
        assert "training:" not in invoke(*field, *more).stderr
    assert slow == []


def test_benchmarks_say_how_long_they_take(slow, monkeypatch):
    """A round of 2 seeds is a stack and each of them alone, 30 s each."""
    monkeypatch.setattr(bench, "training", lambda *arguments: [])
    done = invoke("bench", "training", "--r", 4, "--arm", "fpa", "--seeds", 2, "--steps", 3, "--rounds", 2)
    assert done.stderr.startswith("6 trainings: about 3.0 min with 1 worker")
    monkeypatch.setattr(bench, "like_zoology", lambda *arguments: [])
    done = invoke("bench", "training", "--like", "zoology", "--arm", "fpa", "--steps", 3, "--rounds", 2)
    assert done.stderr.startswith("1 training: about 90 s with 1 worker")


def test_a_long_benchmark_of_the_bias_is_timed_on_its_first_rounds(monkeypatch):
    asked = []
    monkeypatch.setattr(bench, "bias", lambda lengths, rows, rounds: asked.append(rounds) or [])
    monkeypatch.setattr(bench_command, "FEW_SCORES", 0)
    monkeypatch.setattr(cost, "LONG", 0)
    done = invoke("bench", "bias", "--rounds", 7)
    assert asked == [1, 7]
    assert re.match(r"about \d+ s, measured on its first rounds\n", done.stderr)


def test_a_dry_run_of_what_is_stored_says_that_nothing_is_left(tmp_path):
    run = ["run", "ladder", "--r", 4, "--arm", "fpa", *QUICK, "--batch", 2, "--no-control", "--store", tmp_path]
    assert invoke(*run, "--quiet").exit_code == 0
    done = invoke(*run, "--dry-run")
    assert f"all is stored, and nothing is to be trained. Results: {tmp_path}" in done.stdout
    assert "s of training" not in done.stdout

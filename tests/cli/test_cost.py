"""What a run will cost: the plan of a dry run, and the line that warns of a long one."""

import json

import pytest

from attnprobe.cli import cost, dry_run

QUICK = ["--r", "4", "--steps", "50", "--batch", "4", "--seeds", "2", "--workers", "1"]


def test_dry_run_trains_nothing_and_estimates_the_cost(probe, store, tmp_path):
    done = probe("run", "ladder", *QUICK, *store, "--dry-run")
    assert done.exit_code == 0
    assert "0 of 2" in done.stdout
    assert "s of training" in done.stdout
    assert not list(tmp_path.rglob("*.json"))


def measured(monkeypatch, seconds, few=0):
    """Let a step seem to take `seconds`, by arm's name, else 0.01; trainings of fewer than `few` tokens are not measured."""
    seen = []

    def step_seconds(task, arm, *more, **steps):
        seen.append(arm.name)
        return seconds.get(arm.name, 0.01)

    monkeypatch.setattr(dry_run, "step_seconds", step_seconds)
    monkeypatch.setattr(cost, "FEW", few)
    return seen


LONG_RUN = [*QUICK, "--arm", "fpa", "--arm", "rope", "--no-control"]


def test_a_run_of_over_a_minute_says_so_before_it_trains_and_on_stderr_alone(probe, store, monkeypatch):
    """50 steps of 1.2 s and 50 of 2.4 s: 180 s, one after the other."""
    seen = measured(monkeypatch, {"fpa": 1.2, "rope": 2.4})
    done = probe("run", "ladder", *LONG_RUN, *store, "--json")
    assert seen == ["fpa", "rope"]
    assert done.stderr.startswith("2 trainings: about 3.0 min with 1 worker, measured on 5 steps each; evaluation comes on top")
    assert done.stderr.index("2 trainings") < done.stderr.index("to train")
    assert json.loads(done.stdout)
    again = probe("run", "ladder", *LONG_RUN, *store)
    assert "trainings" not in again.stderr
    assert len(seen) == 2  # all stored: nothing is measured


@pytest.mark.parametrize(
    ("seconds", "few", "told"),
    [({"fpa": 1.2, "rope": 0.01}, 0, True), ({"fpa": 0.5, "rope": 0.5}, 0, False), ({"fpa": 9.0, "rope": 9.0}, 10**6, False)],
    ids=["61 s", "50 s", "few tokens"],
)
def test_a_shorter_run_is_started_without_a_word(probe, store, monkeypatch, seconds, few, told):
    seen = measured(monkeypatch, seconds, few)
    done = probe("run", "ladder", *LONG_RUN, *store)
    assert ("trainings" in done.stderr) == told
    assert len(seen) == (0 if few else 2)


def test_quiet_measures_nothing(probe, store, monkeypatch):
    seen = measured(monkeypatch, {"fpa": 9.0})
    assert probe("run", "ladder", *LONG_RUN, *store, "--quiet").stderr == ""
    assert seen == []


def test_where_the_first_arm_takes_no_time_the_others_are_not_measured(probe, store, monkeypatch):
    seen = measured(monkeypatch, {})
    probe("run", "ladder", *LONG_RUN, *store)
    assert seen == ["fpa"]


def test_a_duration_is_said_in_the_unit_that_one_would_use():
    assert [cost.duration(s) for s in (61, 119, 120, 600, 7199, 7200, 90000)] == [
        "61 s", "119 s", "2.0 min", "10 min", "120 min", "2.0 h", "25 h",
    ]  # fmt: skip

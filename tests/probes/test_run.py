"""run_probe: resume, fresh, workers, and what a killed run leaves behind."""

import dataclasses
import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from attnprobe.probes import papers
from attnprobe.probes.run import Arm, Silent, run_probe
from attnprobe.probes.spec import parse
from attnprobe.probes.store import Store
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.ladder import Ladder
from attnprobe.probes.workers import unstopped

TASK = Ladder(r=4)
RECIPE = replace(TASK.recipe, steps=50, batch=4)
ARMS = [Arm(name, parse(name), 3) for name in ("fpa", "rope", "fox")]


class Watch(Silent):
    def __init__(self):
        self.told = []

    def started(self, arm, reused, missing):
        self.told.append((str(arm), reused, missing))


def run(store, seeds=(0, 1), arms=ARMS, **options):
    watch = Watch()
    results = run_probe(TASK, arms, seeds, RECIPE, store, watch=watch, **options)
    return {str(r.arm): {seed: record["result"] for seed, record in r.records.items()} for r in results}, watch.told


def test_a_second_run_computes_nothing_and_says_the_same(tmp_path):
    store = Store(tmp_path)
    first, told = run(store)
    assert told == [("fpa@3", 0, 2), ("rope@3", 0, 2), ("fox@3", 0, 2)]
    second, told = run(store)
    assert told == [("fpa@3", 2, 0), ("rope@3", 2, 0), ("fox@3", 2, 0)]
    assert second == first


def test_only_missing_seeds_are_computed_and_the_verdicts_are_those_of_an_undisturbed_run(tmp_path):
    whole, _ = run(Store(tmp_path / "whole"), seeds=(0, 1, 2))
    store = Store(tmp_path / "parts")
    run(store, seeds=(1,))
    resumed, told = run(store, seeds=(0, 1, 2))
    assert told[0] == ("fpa@3", 1, 2)
    for arm, seeds in whole.items():
        for seed, result in seeds.items():
            assert resumed[arm][seed]["status"] == result["status"]
            assert resumed[arm][seed]["data_hash"] == result["data_hash"]
            assert resumed[arm][seed]["score"]["kl"] == pytest.approx(result["score"]["kl"], rel=1e-3)


def test_fresh_computes_again_whatever_is_stored(tmp_path):
    store = Store(tmp_path)
    run(store)
    _, told = run(store, fresh=True)
    assert told[0] == ("fpa@3", 0, 2)


def test_workers_give_the_results_of_one_process(tmp_path):
    alone, _ = run(Store(tmp_path / "one"))
    beside, _ = run(Store(tmp_path / "two"), workers=2)
    assert beside == alone


def test_what_torch_does_at_first_is_done_once_and_is_in_no_arm_s_seconds(tmp_path, monkeypatch):
    """By a clock that only a small training of a step moves: the warm-up's."""
    from attnprobe.probes import run as module
    from attnprobe.probes import train

    now, real = [0.0], train.train_seeds
    module.warm_up.cache_clear()
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now[-1]))
    monkeypatch.setattr(train, "train_seeds", lambda *given: (now.append(now[-1] + 100), real(*given)))
    results = run_probe(TASK, ARMS, (0, 1), RECIPE, Store(tmp_path))
    assert now == [0.0, 100.0]
    assert {record["recorded"]["seconds"] for one in results for record in one.records.values()} == {0.0}


def test_a_store_that_cannot_be_written_is_read_and_refused_where_a_seed_is_missing(tmp_path, monkeypatch):
    store = Store(tmp_path)
    first, _ = run(store)

    def read_only(**given):
        raise OSError(errno.EROFS, "Read-only file system", f"{tmp_path}/tmp1234")

    monkeypatch.setattr("tempfile.TemporaryFile", read_only)
    assert run(Store(tmp_path))[0] == first
    with pytest.raises(OSError, match="a result cannot be written: Read-only file system") as caught:
        run(Store(tmp_path), seeds=(0, 1, 2))
    assert caught.value.filename == str(tmp_path)


@pytest.mark.parametrize("fresh", [False, True])
def test_a_result_of_a_newer_schema_is_left_in_its_place_and_refused_before_training(tmp_path, fresh):
    store = Store(tmp_path, warn=pytest.fail)
    run(store)
    newer = sorted(tmp_path.rglob("*.json"))[-1]
    newer.write_text('{"schema": 99}')
    with pytest.raises(ValueError, match="of schema 99, newer than 1, which is written here: it stays as it is") as caught:
        run(store, fresh=fresh)
    assert str(newer) in str(caught.value)
    assert newer.read_text() == '{"schema": 99}'
    assert len(list(tmp_path.rglob("*"))) == 1 + 3 + 6  # the task's directory, the arms', the seeds' files


def test_a_corrupt_result_is_computed_again(tmp_path):
    lines = []
    store = Store(tmp_path, warn=lines.append)
    first, _ = run(store)
    victim = next(tmp_path.rglob("*.json"))
    victim.write_text("{")
    again, told = run(store)
    assert again == first
    assert sorted(reused for _, reused, _ in told) == [1, 2, 2]
    assert str(victim) in lines[0]


def test_an_error_in_a_worker_reaches_the_caller(tmp_path):
    with pytest.raises(ValueError, match="names 2 layers"):
        run(Store(tmp_path), arms=[Arm("two", parse("rope/fpa"), 3)], workers=2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_a_worker_has_started(number):
    def handler(number, frame):
        came.append(number)

    came, before = [], signal.signal(number, handler)
    try:
        with unstopped():
            signal.raise_signal(number)
            assert came == []
        assert came == [number]
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads Linux's /proc")
def test_killing_a_run_loses_at_most_the_arms_in_flight_and_leaves_no_process(tmp_path):
    command = [sys.executable, "-m", "attnprobe.cli", "run", "ladder", "--r", "6", "--seeds", "3", "--steps", "200", "--workers", "2"]
    command += ["--no-control", *(f"--arm={arm}" for arm in ("fpa", "rope", "nope", "alibi"))]
    command += ["--store", str(tmp_path / "results"), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "done, training 2" in line:
            break
    workers = children(process.pid)
    assert len(workers) >= 2
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stderr.close()
    deadline = time.time() + 20
    while any(map(running, workers)) and time.time() < deadline:
        time.sleep(0.1)
    assert not any(map(running, workers))
    stored = sorted((tmp_path / "results").rglob("*.json"))
    assert 6 <= len(stored) < 12
    before = {path: path.stat().st_mtime_ns for path in stored}
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 stored" in done.stderr
    assert len(list((tmp_path / "results").rglob("*.json"))) == 12
    assert all(path.stat().st_mtime_ns == at for path, at in before.items())
    assert not list((tmp_path / "results").rglob("*.corrupt*"))


def children(pid):
    """The processes that a process has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def running(pid):
    """Whether a process is there and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_sources_figures_of_the_ladder():
    options = {"r": 10, "slot": "balanced", "evaluate": "auto"}
    assert papers.figure("ladder", options, "fpa", 4).value == 11
    assert papers.figure("ladder", options, "softmax", 4).value == 0
    assert papers.figure("ladder", options, "rope", 12).value == 15
    assert papers.figure("ladder", {**options, "r": 6}, "fox", 4).value == "14-15"
    assert papers.figure("ladder", {**options, "slot": "plain"}, "fox", 4) is None
    assert papers.figure("ladder", {**options, "r": 11}, "fpa", 4) is None


def test_the_source_s_figures_of_two_layers_are_about_their_own_depth_and_form():
    options = dataclasses.asdict(TASKS["mqar"]())
    assert [papers.figure("mqar", options, arm, 32).value for arm in ("fpa", "softmax/fpa", "softmax")] == [0, 15, 15]
    assert papers.figure("mqar", options | {"layers": 3}, "fpa", 32).value == "fails"
    assert papers.figure("mqar", dataclasses.asdict(TASKS["mqar"](stacked=True)), "softmax", 32) is None
    assert papers.figure("mqar", options | {"pairs": 2}, "fpa", 32) is None
    assert papers.figure("mqar", options, "fpa:clamp=0.3/fpa", 32) is None
    assert [papers.figure("assignment", {"statements": "pairs"}, arm, 32).value for arm in ("fpa", "fox")] == [9, 15]
    assert papers.figure("assignment", {"statements": "equations"}, "fpa", 32) is None

"""`probe reproduce`: what it trains, prints and reuses, resumption, exit codes."""

import csv
import io
import json
import re

import pytest

from attnprobe.cli import frozen
from attnprobe.probes.papers import FIGURES
from attnprobe.probes.papers.figure import COMPUTED

TINY = ["--steps", "2", "--seeds", "100:102", "--workers", "1"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return ["--store", str(tmp_path_factory.mktemp("results"))]


def test_the_command_trains_prints_and_reuses_what_is_stored(probe, store):
    first = probe("reproduce", "fpa", "--tasks", "push-pop,theory", *TINY, *store)
    assert first.exit_code == 0, first.output
    for text in ("FPA", "push-pop", "fpa-sum", "11/15", "0/2", "0.00049", "no evidence that 14 is more", "a smoke test", "100:102"):
        assert text in first.stdout
    assert "0 of 10 seeds stored" in first.stderr
    second = probe("reproduce", "fpa", "--tasks", "push-pop,theory", *TINY, *store)
    assert second.stdout == first.stdout
    assert "10 of 10 seeds stored" in second.stderr


def test_an_interrupted_reproduction_goes_on_where_it_stopped(probe, tmp_path, monkeypatch):
    from attnprobe.probes import run

    real, calls = run.run_probe, []

    def stop_at_the_second(task, *rest, **named):
        calls.append(task.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(task, *rest, **named)

    monkeypatch.setattr(run, "run_probe", stop_at_the_second)
    asked = ("pn-fir-tau", "--quick", "--tasks", "recall,score-shift", *TINY, "--store", str(tmp_path))
    stopped = probe("reproduce", *asked)
    assert stopped.exit_code == 130
    assert stopped.stdout == ""
    monkeypatch.setattr(run, "run_probe", real)
    resumed = probe("reproduce", *asked)
    assert resumed.exit_code == 0
    assert "recall: 2 arms, 4 of 4 seeds stored" in resumed.stderr
    assert "score-shift: 2 arms, 0 of 4 seeds stored" in resumed.stderr


def test_json_csv_and_markdown_hold_every_figure(probe, store):
    asked = ("all", "--tasks", "push-pop,theory", *TINY, *store, "--quiet")
    made = json.loads(probe("reproduce", *asked, "--json").stdout)
    count = sum(f.task in ("push-pop", COMPUTED) for f in FIGURES)
    assert len(made["rows"]) == count
    promised = {"source", "table", "arm", "theirs", "ours", "interval", "p", "verdict", "seconds", "note"}
    assert all(promised <= set(row) for row in made["rows"])
    assert made["seeds"] == [100, 101]
    read = list(csv.DictReader(io.StringIO(probe("reproduce", *asked, "--csv").stdout)))
    assert [row["verdict"] for row in read] == [row["verdict"] for row in made["rows"]]
    markdown = probe("reproduce", *asked, "--markdown").stdout
    assert len(re.findall(r"^\| .*\| (?:matches|differs|same direction) \|", markdown, re.M)) == count
    assert probe("reproduce", *asked, "--json").stderr == ""


def test_seeds_that_recipes_were_chosen_on_are_named_as_such(probe, store):
    text = probe("reproduce", "fpa", "--tasks", "theory", "--seeds", "15", *store).stdout
    assert "recipes were chosen on 0:15" in text
    assert "recipes were chosen on" not in probe("reproduce", "fpa", "--tasks", "theory", *store).stdout


def test_a_dry_run_prints_the_plan_and_trains_nothing(probe, tmp_path):
    done = probe("reproduce", "fpa", "--tasks", "push-pop", *TINY, "--store", str(tmp_path), "--dry-run")
    assert done.exit_code == 0
    assert "push-pop ask=members: 5 arms, 0 of 10 seeds stored" in done.stdout
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nobody"], "nobody"),
        (["fpa", "--tasks", "laddr"], "did you mean 'ladder'"),
        (["fpa", "--tasks", "recall"], "has no figure"),
        (["--seeds", "x"], "--seeds"),
        (["--workers", "0"], "--workers must be at least 1"),
        (["--json", "--csv"], "give one of them"),
        (["--check", "--reference", "/nowhere.json"], "/nowhere.json"),
        (["--check"], "no reference ships"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(probe, arguments, says, tmp_path, monkeypatch):
    monkeypatch.setattr(frozen, "SHIPPED", "absent.json")
    done = probe("reproduce", *arguments, "--store", str(tmp_path))
    assert done.exit_code == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_failed_seed_ends_with_exit_3_and_a_contradiction_with_exit_1(probe, store, monkeypatch):
    from attnprobe.cli import report
    from attnprobe.probes import run

    asked = ("fpa", "--tasks", "push-pop", *TINY, *store, "--quiet")
    real = run.run_probe

    def failing(*arguments, **named):
        results = real(*arguments, **named)
        results[0].records[100]["result"] |= {"status": "failed", "score": {}}
        return results

    monkeypatch.setattr(run, "run_probe", failing)
    done = probe("reproduce", *asked)
    assert done.exit_code == 3
    assert "the run failed on seeds 100" in done.stdout
    monkeypatch.setattr(run, "run_probe", real)
    monkeypatch.setattr(report, "contradiction", lambda task, result: f"{result.arm} does it")
    done = probe("reproduce", *asked)
    assert done.exit_code == 1
    assert "CONTRADICTION" in done.stderr


@pytest.mark.slow
def test_fpa_s_quick_figures_reproduce_where_we_say_that_they_do(probe, tmp_path):
    done = probe("reproduce", "fpa", "--quick", "--workers", "1", "--store", str(tmp_path), "--json")
    assert done.exit_code == 0, done.stderr
    differs = {(row["table"], row["case"], row["arm"]) for row in json.loads(done.stdout)["rows"] if row["verdict"] == "differs"}
    # one p is printed of all comparisons; a sum of dips reads a stack as well
    assert differs <= {
        ("theory", "r = 14", "p: 12 wins, no loss"),
        ("theory", "r = 18", "p: 13 wins, no loss"),
        ("push-pop", "", "fpa-sum"),
    }

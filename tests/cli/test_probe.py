"""The command probe: what it prints, in what form, with which exit code."""

import csv
import io
import json
import re

import pytest

from attnprobe.cli import inputs
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.ladder import Ladder

QUICK = ["--r", "4", "--steps", "50", "--batch", "4", "--seeds", "2", "--workers", "1"]


def test_a_run_prints_a_table_and_its_footer(probe, store):
    done = probe("run", "ladder", *QUICK, *store)
    assert done.exit_code == 0, done.output
    for text in (
        "fpa",
        "rope",
        "nope",
        "alibi",
        "fox",
        "solved: kl <= 0.1",
        "one-sided exact sign test",
        "Holm over 4 arms",
        "100:115",
        "can (T1)",
    ):
        assert text in done.stdout
    assert len(re.findall(r"^ (?:fpa|rope|nope|alibi|fox) ", done.stdout, re.M)) == 9


def test_json_is_all_there_is_on_stdout_and_holds_what_was_promised(probe, store):
    done = probe("run", "ladder", *QUICK, *store, "--json")
    made = json.loads(done.stdout)
    assert set(made) == {"schema", "command", "task", "config", "versions", "reference", "family", "correction", "side", "arms"}
    assert (made["schema"], made["task"], made["correction"], made["side"], made["reference"]) == (1, "ladder", "holm", "greater", "fpa@4")
    assert made["family"] == ["rope@4", "nope@4", "alibi@4", "fox@4"]
    promised = (
        "arm mixer head_dim control n solved failed interval metric realised realisable ceiling p p_holm theory source seconds steps seeds"
    )
    for row in made["arms"]:
        assert set(promised.split()) <= set(row)
        assert set(row["metric"]) == {"name", "better", "threshold", "median", "worst"}
        assert {"seed", "status", "metric", "steps", "key", "data_hash"} <= set(row["seeds"][0])
    nope = made["arms"][2]
    assert (nope["arm"], nope["mixer"]) == ("nope@4", "softmax")
    assert nope["realised"] <= nope["realisable"] <= nope["ceiling"]
    assert len({seed["data_hash"] for row in made["arms"] for seed in row["seeds"] if seed["seed"] == 0}) == 1


def test_csv_and_markdown_hold_every_arm(probe, store):
    rows = list(csv.DictReader(io.StringIO(probe("run", "ladder", *QUICK, *store, "--csv").stdout)))
    assert [row["arm"] for row in rows][:5] == ["fpa@4", "rope@4", "nope@4", "alibi@4", "fox@4"]
    assert rows[0]["p"] == "" and rows[1]["p"] != ""  # noqa: PT018
    text = probe("run", "ladder", *QUICK, *store, "--markdown").stdout.splitlines()
    assert len(text) == 2 + 9
    assert all(line.startswith("| ") and line.endswith(" |") for line in text if not line.startswith("|--"))


def test_a_second_run_says_what_is_stored_on_stderr(probe, store):
    probe("run", "ladder", *QUICK, *store)
    done = probe("run", "ladder", *QUICK, *store)
    assert "fpa@4: 2 of 2 stored" in done.stderr
    assert "stored" not in done.stdout
    assert probe("run", "ladder", *QUICK, *store, "--quiet").stderr == ""


@pytest.mark.parametrize(
    "arguments", [["-h"], ["run", "-h"], ["run", "ladder", "--help"], ["show", "-h"], ["bench", "-h"], ["bench", "training", "-h"]]
)
def test_help_opens_with_examples(probe, arguments):
    done = probe(*arguments)
    assert done.exit_code == 0
    assert done.stdout.split("Usage:")[1].split("\n", 1)[1].strip().startswith("probe ")


def test_no_arguments_shows_help(probe):
    assert probe().stdout == probe("--help").stdout
    assert probe().exit_code == 0


def test_the_list_names_tasks_parts_with_their_papers_and_named_arms(probe):
    text = probe("list").stdout
    for name in (
        "ladder",
        "fir",
        "rope",
        "alibi-fixed",
        "fpa-sum",
        "softmax*",
        "Press et al. 2022",
        "Lin et al. 2025",
        "fpa rope nope alibi fox",
    ):
        assert name in text


def test_show_draws_one_example_in_bands_that_fit(probe):
    wide, narrow = probe("show", "ladder", "--r", "6").stdout, probe("show", "ladder", "--r", "12", COLUMNS="80").stdout
    assert "level 6" in wide
    assert "target" in wide
    drawing = narrow.split("Which rungs")[0]
    assert all(len(line) <= 80 for line in drawing.splitlines())
    assert drawing.count("token") == 2


@pytest.mark.parametrize("task", ["duration", "two-walks", "push-pop", "name-search"])
def test_every_task_runs_with_its_default_arms_and_prints_within_the_width(probe, task, store):
    arguments = ["run", task, "--steps", "2", "--batch", "4", "--seeds", "2", "--workers", "1", "--quiet", *store]
    for width in ("80", "120"):
        done = probe(*arguments, COLUMNS=width)
        assert done.exit_code == 0, done.output
        assert all(len(line) <= int(width) for line in done.stdout.split("solved:")[0].splitlines()[1:])
    assert all(name.partition("(")[0] in done.stdout for name in TASKS[task]().arms)


def test_arms_that_are_one_mechanism_are_run_once_and_controls_follow_the_others():
    arms = inputs.arms(Ladder(r=4), ["nope", "softmax", "fpa", "fox@6"], 4, parse("fpa"), True)
    assert [(str(a), a.control) for a in arms] == [("nope@4", False), ("fpa@4", False), ("fox@6", False), ("nope@6", True)]
    assert [str(a) for a in inputs.arms(Ladder(r=4), None, 4, parse("fpa"), False)] == ["fpa@4", "rope@4", "nope@4", "alibi@4", "fox@4"]


@pytest.mark.parametrize(("text", "expected"), [("3", (0, 1, 2)), ("100:103", (100, 101, 102))])
def test_seeds_are_a_count_or_a_range(text, expected):
    assert inputs.seeds(text) == expected


def test_a_reference_may_have_a_head_dimension_of_its_own(probe, store):
    done = probe("run", "ladder", *QUICK, *store, "--reference", "fox@6", "--arm", "fox@6", "--arm", "nope", "--no-control", "--json")
    made = json.loads(done.stdout)
    assert made["reference"] == "fox@6"
    assert made["family"] == ["nope@4"]

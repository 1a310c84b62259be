"""How family A is shown: its columns, the exact ceiling, the source's shares, and what gives way in a narrow terminal."""

import json
import re

import pytest
from rich.console import Console
from typer.testing import CliRunner

from attnprobe.cli import tables
from attnprobe.cli.probe import app
from attnprobe.cli.report import near_threshold
from attnprobe.cli.verdict import verdict
from attnprobe.probes.papers import figure
from attnprobe.probes.run import Arm
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks import TASKS

QUICK = ["--steps", "2", "--batch", "2", "--seeds", "2", "--workers", "1", "--quiet"]
FAMILY = ("recall", "unanswerable", "decoys", "score-shift", "sink")


def invoke(*arguments, columns=200):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(columns)})


def said(task, spec, **options):
    return verdict(TASKS[task](**options), Arm(spec, parse(spec), 64)).text


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return ["--store", str(tmp_path_factory.mktemp("results"))]


@pytest.mark.parametrize("spec", ["softmax", "power-tau", "softpick", "zero-keys"])
def test_without_filter_position_and_bias_the_ceiling_is_printed(spec):
    assert said("recall", spec) == "E[present] <= 0.44226"
    assert said("unanswerable", spec) == said("sink", spec) == said("score-shift", spec) == "E[present] <= 0.44226"
    assert said("recall", spec, pairs=2, values=2) == "E[present] <= 0.75000"


@pytest.mark.parametrize("spec", ["fir", "pn_fir_tau", "rope", "alibi", "fir+fpa"])
def test_with_any_of_them_there_is_no_theorem(spec):
    assert said("recall", spec) == "no theorem"


def test_decoys_have_no_theorem():
    assert said("decoys", "softmax") == "no theorem"


def test_sources_without_a_number_of_seeds_are_shown_as_they_are():
    def cell(task, spec, **options):
        found = figure(task, options, str(parse(spec)), 64)
        return tables.source({"source": {"value": found.value, "n": found.n}})

    assert cell("recall", "softmax") == "0.445"
    assert cell("recall", "fir+softmax") == "1"
    assert cell("unanswerable", "fir+entmax15") == ".272-.344"
    assert cell("unanswerable", "pn_fir_tau") == "0"
    assert cell("sink", "pn_fir_tau", bos="zero") == "0.0031"
    assert tables.source({"source": {"value": 11, "n": 15}}) == "11/15"


@pytest.mark.parametrize("name", FAMILY)
def test_a_run_shows_what_decides_the_task(name, store):
    done = invoke("run", name, *QUICK, *store)
    assert done.exit_code == 0, done.output
    task = TASKS[name]()
    heading = next(line for line in done.stdout.splitlines() if re.match(r" arm +d +solved", line))
    assert all(word in heading.split() for word in ("present", *task.shown))
    assert f"solved: {task.rule}" in done.stdout
    report = json.loads(invoke("run", name, *QUICK, *store, "--json").stdout)
    assert report["reference"] == f"{task.reference}@64"
    assert len(report["family"]) == len(task.arms) - 1
    assert all(row["scores"].keys() == set(task.shown) for row in report["arms"])


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("width", [80, 120])
def test_no_table_is_wider_than_its_terminal_and_presence_stays(name, width, store):
    report = json.loads(invoke("run", name, *QUICK, *store, "--json").stdout)
    out = Console(width=width)
    names, gone = tables.columns_for(report, out)
    with out.capture() as printed:
        out.print(tables.table_of(report, names))
    assert max(map(len, printed.get().splitlines())) <= width
    assert "median" in names
    assert not [heading for heading in gone if "@" not in heading and heading in TASKS[name]().shown]


@pytest.mark.parametrize("name", FAMILY)
def test_an_example_is_drawn_with_its_account(name):
    done = invoke("show", name)
    assert done.exit_code == 0, done.output
    assert re.search(r"^token .*k\d+", done.stdout, re.M)
    assert re.search(r"^answer ", done.stdout, re.M)
    assert "Choices of ours, not stated by the source" in done.stdout


def test_an_accuracy_is_near_its_threshold_when_its_error_is():
    """Threshold .99 allows an error of .01; within 5 % of that: .9895 to .9905. A divergence is near within 5 % of itself."""

    def row(better, threshold, *values):
        seeds = [{"seed": i, "metric": value} for i, value in enumerate(values)]
        return {"arm": "a", "metric": {"better": better, "threshold": threshold}, "seeds": seeds}

    assert near_threshold([row("high", 0.99, 1.0, 0.9904, 0.9896, 0.96, None)]) == {"a": [1, 2]}
    assert near_threshold([row("low", 0.1, 0.104, 0.096, 0.09, 0.2)]) == {"a": [0, 1]}


def test_bad_options_are_one_line_and_exit_2():
    done = invoke("run", "unanswerable", "--pairs", "3")
    assert done.exit_code == 2
    assert "pairs must be from 4" in done.output

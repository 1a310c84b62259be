"""Interventions and traces on the command line: which arms they add, what is printed, what is refused."""

import csv
import io
import json
import re

import pytest
from rich.console import Console
from typer.testing import CliRunner

from attnprobe.cli import footer, inputs, traces
from attnprobe.cli.probe import app
from attnprobe.cli.report import unconfirmed
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.mqar import Mqar

QUICK = ["--seq-len", "12", "--vocabulary", "16", "--pairs", "2", "--steps", "100", "--batch", "4", "--seeds", "2", "--workers", "1"]


def invoke(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})


@pytest.fixture
def store(tmp_path):
    return ["--store", str(tmp_path / "results")]


def names(task, texts, changes):
    arms = inputs.arms(task, texts, 32, parse("softmax"), True)
    return [str(arm) for arm in inputs.intervened(task, arms, changes)]


def test_an_intervention_adds_every_arm_with_a_path_bias_in_all_layers_changed_in_layer_1():
    assert names(Mqar(), None, ["clamp=.3", "freeze"]) == ["fpa:clamp=0.3/fpa@32", "fpa:freeze/fpa@32"]
    texts = ["fox", "softmax/fpa", "fpa-sum", "rope+fpa/fpa@8", "fpa:freeze/fpa"]
    assert names(Mqar(), texts, ["clamp=1"]) == ["fpa-sum:clamp=1/fpa-sum@32", "rope+fpa:clamp=1/fpa@8"]
    assert names(Mqar(layers=3), ["fpa"], ["clamp=1"]) == ["fpa:clamp=1/fpa/fpa@32"]
    assert names(Mqar(), ["fpa", "fpa:clamp=1/fpa"], ["clamp=1"]) == []
    assert names(Mqar(), None, []) == []


def test_a_run_with_interventions_names_each_arm_in_table_json_and_store(store, tmp_path):
    arguments = [
        "run",
        "mqar",
        *QUICK,
        *store,
        "--arm",
        "fpa",
        "--arm",
        "softmax",
        "--intervene",
        "clamp=0.3",
        "--intervene",
        "off-until=60",
    ]
    done = invoke(*arguments, "--trace")
    assert done.exit_code == 0, done.output
    for arm in ("fpa", "softmax", "fpa:clamp=0.3/fpa", "fpa:off-until=60/fpa"):
        assert len(re.findall(rf"^ {re.escape(arm)} ", done.stdout, re.M)) == 3 - (arm == "softmax")  # the table, and those of traces
    assert "own key bias, at step" in done.stdout
    assert (
        "accuracy >= 0.99 at one of the evaluations every 50 steps up to 100 on 256 sequences (off-until: at step 100 alone)" in done.stdout
    )
    made = json.loads(invoke(*arguments, "--json").stdout)
    assert [row["mixer"] for row in made["arms"]] == ["fpa", "softmax", "fpa:clamp=0.3/fpa", "fpa:off-until=60/fpa"]
    for row in made["arms"]:
        for seed in row["seeds"]:
            assert [step for step, _ in seed["curve"]] == [50, 100]
            assert [step for step, _ in seed["traces"]["own key attention"]] == [0, 50, 100]
            assert ("own key bias" in seed["traces"]) == (row["mixer"] != "softmax")
    assert (tmp_path / "results" / "mqar" / "fpa~clamp=0.3~fpa@32").is_dir()


def test_the_ablation_is_the_documented_set(store):
    done = invoke("run", "mqar", *QUICK[:-2], "--workers", "1", *store, "--arm", "fpa", "--ablation", "--dry-run", "--steps", "700")
    assert done.exit_code == 0, done.output
    for change in Mqar.ablation:
        assert f"fpa:{change}/fpa" in done.stdout
    help_text = " ".join(re.sub("[│╭╰─╮╯]", " ", invoke("run", "mqar", "-h").stdout).split())
    assert all(change in help_text for change in Mqar.ablation)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("run mqar --arm fpa --intervene off-until=50 --steps 50", "off-until=50: it must end before the last step, of 50"),
        ("run mqar --arm fpa --intervene warmup=99 --steps 50", "warmup=99: it must end before the last step, of 50"),
        ("run mqar --intervene clmp=1", "unknown intervention 'clmp'; did you mean 'clamp'?"),
        ("run mqar --intervene clamp", "write clamp=value"),
        (
            "run mqar --arm softmax/fpa --intervene clamp=1",
            "none of the arms has FPA's bias, as yet unchanged, in every layer; give --arm fpa",
        ),
        ("run mqar --arm fpa:clamp=1", "an intervention is on layer 1 alone; give each layer, as in fpa:clamp=1/fpa"),
        ("run mqar --stacked --intervene clamp=1", "mqar has one layer here"),
        ("run ladder --intervene clamp=1", "ladder has one layer here"),
        ("run ladder --arm fpa:clamp=1", "ladder has one layer here"),
        ("run copy --intervene only-own", "copy has none"),
        ("run mqar --trace --csv", "leave out --csv"),
        ("run mqar --stacked --trace", "nothing is followed in training in this form of mqar"),
        ("run mqar --pairs 40", "pairs must be from 1 to 31, not 40"),
        ("run assignment --statements words", "--statements"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_exit_2(arguments, message, store):
    done = invoke(*arguments.split(), *store)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_trace_table_gives_medians_over_the_seeds_still_there_and_over_last_values():
    def seed(*points):
        return {"traces": {"own key bias": [list(point) for point in points]}}

    row = {
        "arm": "fpa@32",
        "n": 3,
        "seeds": [seed((0, -1.0), (50, -2.0)), seed((0, -2.0), (50, -4.0), (100, -6.0)), seed((0, -9.0), (50, None))],
    }
    table, told = traces.trace_tables({"arms": [row, {"arm": "softmax@32", "n": 1, "seeds": [{"traces": {}}]}]})
    assert "medians over the seeds still in training" in told
    assert table.title == "own key bias, at step"
    assert [[*column.cells] for column in table.columns] == [["fpa"], ["-2"], ["-3 (2)"], ["-6 (1)"], ["-4 (2)"]]  # none was looked at 400
    assert list(traces.trace_tables({"arms": [{"arm": "x@1", "n": 1, "seeds": [{"traces": {}}]}]})) == []


@pytest.mark.parametrize("name", ["flip-flop", "copy", "count", "assignment", "mqar"])
def test_a_task_of_two_layers_runs_by_default_and_shows_an_example(name, store):
    quick = [*QUICK[:-6], *QUICK[-6:]] if name == "mqar" else ["--steps", "50", "--batch", "4", "--seeds", "2", "--workers", "1"]
    done = invoke("run", name, *quick, *store, "--csv")
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["arm"] for row in rows] == [f"{arm}@32" for arm in TASKS[name]().arms]
    assert all(0 <= float(row["accuracy"]) <= 1 for row in rows)
    shown = invoke("show", name)
    assert shown.exit_code == 0
    assert "Choices of ours" in shown.stdout


def test_seeds_that_passed_at_an_evaluation_and_not_on_fresh_sequences_are_warned_of():
    def seed(number, status, *values):
        return {"seed": number, "status": status, "curve": [[50 * i, value] for i, value in enumerate(values, 1)]}

    high = {"arm": "fpa@32", "leaves": True, "metric": {"threshold": 0.99, "better": "high"}}
    seeds = [seed(7, "solved", 0.5, 0.995), seed(8, "unsolved", 0.5, 0.99), seed(9, "unsolved", 0.5, None, 0.98)]
    assert unconfirmed([high | {"seeds": seeds}]) == {"fpa@32": [8]}
    assert unconfirmed([high | {"leaves": False, "seeds": seeds}]) == {}
    low = {"arm": "fox@4", "leaves": True, "metric": {"threshold": 0.1, "better": "low"}}
    assert unconfirmed([low | {"seeds": [seed(1, "unsolved", 0.1), seed(2, "unsolved", 0.5)]}]) == {"fox@4": [1]}


def test_the_footer_names_them(store):
    report = json.loads(invoke("run", "copy", "--steps", "50", "--batch", "4", "--seeds", "2", "--arm", "fpa", *store, "--json").stdout)
    assert report["config"]["unconfirmed"] == {}
    report["config"]["unconfirmed"] = {"fpa@32": [1]}
    lines = list(footer.footer(report, Console(width=200, file=io.StringIO())))
    assert "warning: fpa@32: seed 1 passed at an evaluation, not on the fresh sequences" in lines

"""The command line of family E: swaps beside their training, and receptive fields beside the theory."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from attnprobe.cli.field_command import expected
from attnprobe.cli.inputs import arm, with_swaps
from attnprobe.cli.probe import app
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks import TASKS

QUICK = ["--seq-len", "32", "--layers", "2", "--steps", "2", "--batch", "2", "--seeds", "2", "--workers", "1", "--quiet"]
FIELD = ["--seq-len", "32", "--layers", "2", "--seeds", "2", "--untrained", "--quiet"]


def invoke(*arguments, width=160):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(width)})


@pytest.fixture
def store(tmp_path):
    return ["--store", str(tmp_path / "results")]


@pytest.mark.parametrize("task", ["latch", "topic"])
def test_a_run_shows_its_arms_within_the_width_and_says_what_is_random_and_what_swapped(task, store):
    for width in (80, 120, 160):
        done = invoke("run", task, *QUICK, "--swap", "swa,sa", "--window", "8", *store, width=width)
        assert done.exit_code == 0, done.output
        assert all(len(line) <= width for line in done.stdout.split("solved:")[0].splitlines())
        said = " ".join(done.stdout.split())
        assert "accuracy8: of the mean of class probabilities over 8" in said
        assert "a>b: trained as a with full routing, then judged under routing b" in said
        assert f"{task} --seq-len 32 --layers 2" in done.stdout
    names = [line.split()[0] for line in done.stdout.splitlines() if line.startswith(" rope")]
    assert names == ["rope", "rope>swa(w=8)", "rope>sa(w=8)", *TASKS[task].arms[1:]]


def test_json_and_csv_hold_what_was_trained_and_leave_the_mean_over_draws_empty_where_nothing_is_drawn(store):
    arguments = ["run", "latch", *QUICK, "--arm", "rope", "--arm", "rope+sa", "--swap", "sa,moba", *store]
    made = json.loads(invoke(*arguments, "--json").stdout)
    assert [(row["arm"], row["trained"], row["mixer"]) for row in made["arms"]] == [
        ("rope@16", "rope", "rope"),
        ("rope>sa@16", "rope", "rope>sa"),
        ("rope>moba@16", "rope", "rope>moba"),
        ("rope+sa@16", "rope+sa", "rope+sa"),
    ]
    assert [row["scores"]["accuracy8"] is None for row in made["arms"]] == [True, False, True, False]
    assert made["reference"] == "rope+sa@16"
    assert made["family"] == ["rope@16", "rope>sa@16", "rope>moba@16"]
    assert all(row["reused"] == 0 for row in made["arms"])
    rows = list(csv.DictReader(io.StringIO(invoke(*arguments, "--csv").stdout)))
    assert [row["accuracy8"] == "" for row in rows] == [True, False, True, False]
    again = json.loads(invoke(*arguments, "--json").stdout)
    assert [row["reused"] for row in again["arms"]] == [2, 2, 2, 2]
    one = json.loads(invoke("run", "latch", *QUICK, "--arm", "rope>sa(w=16)", *store, "--json").stdout)
    assert one["arms"][0]["reused"] == 2


def test_without_swaps_and_random_routings_the_footer_speaks_of_neither(store):
    done = invoke("run", "latch", *QUICK, "--arm", "rope", "--arm", "rope+swa", *store)
    assert "a>b" not in done.stdout
    assert "accuracy8:" not in done.stdout


REFUSED = {
    "--swap gated": "gated has parameters to train",
    "--swap saa": "unknown routing 'saa'; did you mean 'sa'?",
    "--swap full": "full is what it is trained with",
    "--swap sa --window 33": "sa: w must be at most 32, the length of the sequence, not 33",
    "--swap moba --window 12": "must be a multiple of 8, not 12",
    "--swap union --window 1": "union: w must be at least 2",
    "--swap sa --arm rope+swa": "--swap is of arms trained with full routing, and none of rope+swa@16 is",
    "--window 8": "--window is of the routings that --swap names",
    "--arm rope+swa>sa": "a swap is of a model trained with full routing, not with swa",
    "--arm rope+swa(w=40)": "swa: w must be at most 32",
    "--arm rope/rope/rope": "names 3 layers and the model has 2",
    "--arm rope+moba(block=32)": "it needs two blocks",
}


@pytest.mark.parametrize(("options", "message"), REFUSED.items())
def test_what_cannot_be_swapped_or_does_not_fit_is_one_line_and_exit_2(options, message, store):
    done = invoke("run", "latch", *QUICK, *options.split(), *store)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_a_swap_on_a_task_whose_queries_are_no_keys_is_refused(store):
    done = invoke("run", "ladder", "--r", "4", "--swap", "swa", *store)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "swa hides keys, and ladder asks for any of them" in done.stderr


def test_swaps_follow_their_arm_once():
    arms = [arm(text, 16) for text in ("rope", "rope>sa", "rope+swa", "fox@8")]
    made = [str(a) for a in with_swaps(arms, "sa, moba", 16)]
    assert made == ["rope@16", "rope>sa@16", "rope>moba@16", "rope+swa@16", "fox@8", "fox>sa@8", "fox>moba@8"]
    assert [str(a) for a in with_swaps(arms[:1], "union,moba", 24)] == ["rope@16", "rope>union(w=24)@16", "rope>moba(top=3)@16"]


def test_a_dry_run_costs_a_shared_training_once(store):
    done = invoke("run", "latch", *QUICK, "--arm", "rope", "--arm", "rope+swa", "--swap", "sa,swa", *store, "--dry-run")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("with the former") == 2
    assert len([line for line in done.stdout.splitlines() if "0 of 2" in line]) == 4
    assert "with 1 worker, measured" in done.stdout


def field(*arguments):
    done = invoke("field", "latch", *FIELD, *arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_window_s_field_is_measured_as_theory_computes_it():
    """swa(w=5) on 32 tokens: a layer back 4 more; pairs of a width m: m (m + 1) / 2 + (32 - m) m of 528."""
    (row,) = field("--arm", "rope+swa(w=5)")["arms"]
    computed = [(m * (m + 1) / 2 + (32 - m) * m) / 528 for m in (5, 9)]
    for layer, share in zip(row["layers"], computed, strict=True):
        assert layer["measured"] == pytest.approx(share)
        assert layer["simulated"] == pytest.approx(share)
        assert layer["recursion"] == pytest.approx(share)


def test_random_fields_are_near_the_simulated_ones_and_below_the_ring_s():
    made = field("--arm", "rope+sa(w=8)", "--arm", "rope+gated(w=8)", "--arm", "rope>union(w=8)")
    for row in made["arms"]:
        for layer in row["layers"]:
            assert layer["measured"] == pytest.approx(layer["simulated"], abs=0.05)
    sa, gated, union = made["arms"]
    assert [layer["recursion"] for layer in gated["layers"] + union["layers"]] == [None] * 4
    assert all(layer["recursion"] > layer["simulated"] for layer in sa["layers"])
    assert sa["layers"][0]["recursion"] == pytest.approx((1 + 31 / 2 * 7 / 31) / (33 / 2))  # a direct edge with chance 7/31
    assert made["config"] == {"options": {"seq_len": 32, "layers": 2}, "seeds": [0, 1], "trained": False, "steps": 0}


def test_routings_by_content_and_mixed_layers_have_no_theory():
    made = field("--arm", "rope+moba(block=4)", "--arm", "rope/rope+swa(w=4)", "--arm", "rope")
    moba, mixed, full = made["arms"]
    for row in (moba, mixed):
        assert {layer[name] for layer in row["layers"] for name in ("simulated", "recursion")} == {None}
    assert [layer[name] for layer in full["layers"] for name in ("measured", "simulated", "recursion")] == [pytest.approx(1.0)] * 6
    assert mixed["layers"][0]["measured"] == 1.0
    assert expected(parse("rope/rope").layers, 32) == expected(parse("rope").of_layers(2), 32)


def test_training_leaves_a_content_free_field_as_it_is_and_moves_a_content_s():
    trained = ["field", "latch", "--seq-len", "32", "--layers", "2", "--seeds", "2", "--steps", "60", "--quiet", "--json"]
    arms = ["--arm", "rope+sa(w=8)", "--arm", "rope+moba(block=4)"]
    after, before = json.loads(invoke(*trained, *arms).stdout), field(*arms)
    assert (after["config"]["trained"], after["config"]["steps"]) == (True, 60)
    for same, (a, b) in zip((True, False), zip(after["arms"], before["arms"], strict=True), strict=True):
        assert (a["layers"] == b["layers"]) == same


def test_a_field_s_table_fits_and_says_what_its_columns_are():
    done = invoke("field", "topic", *FIELD, "--arm", "rope+sa(w=8)", "--arm", "rope+moba(block=4)", width=120)
    assert done.exit_code == 0, done.output
    for text in ("initial weights; seeds 0, 1", "measured", "simulated", "recursion", "by T18", "rope+moba(block=4)"):
        assert text in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120


@pytest.mark.parametrize(
    ("arguments", "message"),
    [("recall", "unknown task 'recall'"), ("latc", "did you mean 'latch'?"), ("latch --arm fpa+swa", "fpa reads tokens"),
     ("latch --arm rope+swa(w=200)", "w must be at most 128"), ("latch --seeds 0", "--seeds must name at least one seed")],
)  # fmt: skip
def test_a_field_that_cannot_be_measured_is_one_line_and_exit_2(arguments, message):
    done = invoke("field", *arguments.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_of_fields_opens_with_an_example_and_lists_the_family_alone():
    assert "probe field latch" in invoke("field", "-h").stdout
    listed = invoke("field").stdout
    assert "latch" in listed
    assert "topic" in listed
    assert "ladder" not in listed


def test_filtered_keys_sparse_weights_and_a_threshold_have_no_theory():
    for text in ("fir+rope+swa(w=4)", "rope+sparsemax", "rope+power-tau", "rope+entmax15+sa"):
        simulated, recursion = expected(parse(text).of_layers(3), 32)
        assert simulated == recursion == [None] * 3
    assert None not in expected(parse("rope+softmax1+swa(w=4)").of_layers(3), 32)[0]


def test_a_swap_of_a_task_whose_seeds_leave_is_told_to_be_judged_once_and_is_not_warned_of(store):
    command = ["run", "copy", "--seeds", "1", "--steps", "100", "--batch", "8", "--workers", "1", *store, "--arm", "rope", "--swap", "swa"]
    done = CliRunner().invoke(app, command, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "judged under routing b, without training where a seed of a leaves, or at the last step, on fresh sequences" in done.stdout
    assert "passed at an evaluation" not in done.stdout
    report = json.loads(CliRunner().invoke(app, [*command, "--window", "4", "--json", "--quiet"]).stdout)
    curves = {row["mixer"]: [seed["curve"] for seed in row["seeds"]] for row in report["arms"]}
    assert len(curves["rope"][0]) == 2
    assert curves["rope>swa(w=4)"] == [[]]


@pytest.mark.parametrize(
    ("task", "seeds", "said"),
    [
        ("copy", "30:31", "recipes were chosen on 0:75"),
        ("count", "30:31", "no recipe was chosen on them"),
        ("name-search", "3:4", "--seeds 200:215"),
    ],
)
def test_the_footer_names_the_seeds_that_a_task_s_own_recipe_was_chosen_on(task, seeds, said, store):
    command = ["run", task, "--seeds", seeds, "--steps", "2", "--batch", "2", "--workers", "1", *store, "--arm", "fpa", "--no-control"]
    assert said in CliRunner().invoke(app, command, env={"COLUMNS": "200"}).stdout


def test_the_time_left_counts_trainings_and_not_the_routings_that_share_one(store):
    command = ["run", "copy", "--seeds", "1", "--steps", "2", "--batch", "2", "--workers", "1", *store, "--arm", "rope", "--arm", "fpa"]
    told = CliRunner().invoke(app, [*command, "--swap", "swa,union"]).stderr
    lines = [line for line in told.splitlines() if ": done" in line]
    assert [line.partition(":")[0] for line in lines] == ["rope@32", "rope>swa@32", "rope>union@32", "fpa@32", "fpa>swa@32", "fpa>union@32"]
    assert [line.partition("training ")[2][:6] for line in lines] == ["", "", "1 of 2", "", "", "2 of 2"]

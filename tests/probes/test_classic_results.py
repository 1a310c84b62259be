"""What the tasks of earlier work show on seeds that no recipe was chosen on: who solves them, and what suppresses MQAR in FPA's layer 1."""

import pytest

from attnprobe.cli.inputs import arms
from attnprobe.cli.report import build
from attnprobe.probes.run import Arm, run_probe
from attnprobe.probes.spec import parse
from attnprobe.probes.stats import median
from attnprobe.probes.store import Store
from attnprobe.probes.tasks import TASKS

pytestmark = pytest.mark.slow
FRESH = range(100, 115)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("results"))


def rows(name, store, specs):
    """Rows of a report by arm, those of `specs`."""
    task = TASKS[name]()
    reference = Arm(task.reference, parse(task.reference), task.head_dim)
    compared = arms(task, specs, task.head_dim, reference.spec, True)
    results = run_probe(task, compared, tuple(FRESH), task.recipe, store, workers=1)
    report = build("test", task, task.recipe, tuple(FRESH), task.head_dim, "cpu", reference, results)
    return {row["mixer"]: row for row in report["arms"]}


def at(row, name, step):
    """The median over seeds of a trace at a step."""
    return median([dict(seed["traces"][name])[step] for seed in row["seeds"] if step in dict(seed["traces"][name])])


def test_mqar_is_learned_unless_layer_1_has_fpa_s_bias(store):
    found = rows("mqar", store, None)
    assert found["softmax"]["solved"] >= 13
    assert found["softmax/fpa"]["solved"] >= 13
    assert found["fpa"]["solved"] == 0
    assert found["fpa"]["p"] < 0.001
    assert max(seed["metric"] for seed in found["fpa"]["seeds"]) < 0.6


def test_the_bias_from_a_value_to_its_own_key_falls_early_and_takes_the_attention_with_it(store):
    found = rows("mqar", store, None)
    bias = [at(found["fpa"], "own key bias", step) for step in (0, 50, 100, 400)]
    assert bias[0] > -0.3
    assert bias[0] > bias[1] > bias[2] > bias[3]
    assert bias[2] < -2
    assert at(found["fpa"], "own key attention", 0) > 0.15
    assert at(found["fpa"], "own key attention", 400) < 0.05
    last = [seed["traces"]["own key attention"][-1][1] for seed in found["softmax/fpa"]["seeds"]]
    assert median(last) > 0.5
    assert "own key bias" not in found["softmax/fpa"]["seeds"][0]["traces"]


def test_a_floor_under_the_bias_or_a_late_start_cures_it_and_what_harms_stands_between_a_value_and_its_key(store):
    found = rows("mqar", store, [f"fpa:{change}/fpa" for change in ("clamp=0.3", "off-until=500", "zero-own", "only-own")])
    assert found["fpa:clamp=0.3/fpa"]["solved"] >= 12
    assert found["fpa:off-until=500/fpa"]["solved"] >= 13
    assert found["fpa:zero-own/fpa"]["solved"] >= 13
    assert found["fpa:only-own/fpa"]["solved"] <= 3


@pytest.mark.parametrize("name", ["flip-flop", "copy", "count"])
def test_fpa_learns_the_other_tasks_of_earlier_work(name, store):
    row = rows(name, store, ["fpa"])["fpa"]
    assert row["solved"] >= 14
    assert row["source"]["value"] == 15


def test_forgetting_cannot_copy_and_position_cannot_tell_the_latest_assignment(store):
    assert rows("copy", store, ["fox"])["fox"]["solved"] <= 1
    assert rows("assignment", store, ["rope"])["rope"]["solved"] == 0

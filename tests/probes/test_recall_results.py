"""What family A is for, on fresh seeds: one layer recalls with a key filter alone, and is silent with a learned threshold alone."""

import pytest

from attnprobe.cli.inputs import arm
from attnprobe.cli.report import build
from attnprobe.probes.run import Arm, run_probe
from attnprobe.probes.spec import parse
from attnprobe.probes.store import Store
from attnprobe.probes.tasks import TASKS
from attnprobe.theory.recall import majority_ceiling

pytestmark = pytest.mark.slow
FRESH = tuple(range(100, 115))  # no recipe was chosen on these


def rows(name, tmp_path, specs, **options):
    """The report's rows by arm, and each arm's scores by seed."""
    task = TASKS[name](**options)
    reference = Arm(task.reference, parse(task.reference), task.head_dim)
    arms = [arm(spec, task.head_dim) for spec in (task.reference, *specs)]
    results = run_probe(task, arms, FRESH, task.recipe, Store(tmp_path), workers=1)
    report = build("test", task, task.recipe, FRESH, task.head_dim, "cpu", reference, results)
    return {row["arm"].rpartition("@")[0]: row for row in report["arms"]}


def scores(row, name):
    """A score of every seed."""
    return [seed["score"][name] for seed in row["seeds"]]


def mean(values):
    return sum(values) / len(values)


def test_recall_needs_the_filter_and_stays_at_the_exact_ceiling_without_it(tmp_path):
    found = rows("recall", tmp_path, ("fir+softmax", "softmax", "power-tau"))
    for spec in ("pn_fir_tau", "fir+softmax"):
        assert found[spec]["solved"] == 15
    for spec in ("softmax", "power-tau"):
        assert found[spec]["solved"] == 0
        assert found[spec]["p_holm"] < 0.001
        assert abs(mean(scores(found[spec], "present")) - majority_ceiling(8, 4)) <= 0.02


def test_the_learned_threshold_is_silent_at_absent_keys_and_softmax_hallucinates(tmp_path):
    found = rows("unanswerable", tmp_path, ("fir+softmax",))
    ours, softmax = found["pn_fir_tau"], found["fir+softmax"]
    assert ours["solved"] == 15
    assert min(scores(ours, "present")) >= 0.99
    assert mean(scores(ours, "hallucination")) < 0.0005  # 0.0 %
    assert mean(scores(ours, "mass")) <= 0.01
    assert mean(scores(softmax, "hallucination")) >= 0.15
    assert softmax["p_holm"] < 0.001


def test_decoys_need_a_threshold_that_learns_and_starts_low(tmp_path):
    """tau = 0 leaves rows dead, tau = -3 lets absent keys through; the learned one passes at every eps on every seed."""
    found = rows("decoys", tmp_path, ("fir+power", "fir+power(tau=-3)"))
    ours, fixed, low = found.values()
    assert ours["solved"] >= 14
    for eps in TASKS["decoys"].amounts:
        assert mean(scores(ours, f"present@{eps:g}")) >= 0.99
        assert mean(scores(ours, f"hallucination@{eps:g}")) <= 0.005
    assert mean(scores(fixed, "present")) < 0.97
    assert mean(scores(fixed, "dead")) > 0.01
    assert mean(scores(fixed, "hallucination")) <= 0.005
    assert mean(scores(low, "present")) >= 0.99
    assert mean(scores(low, "hallucination")) > 0.05
    assert max(fixed["p_holm"], low["p_holm"]) < 0.05


def test_a_shift_of_2_kills_the_fixed_threshold_and_not_the_learned_one(tmp_path):
    found = rows("score-shift", tmp_path, ("fir+power", "fir+softmax"))
    assert found["pn_fir_tau"]["solved"] == found["fir+softmax"]["solved"] == 15
    dead = found["fir+power"]
    assert set(scores(dead, "dead")) == {1.0}
    assert set(scores(dead, "gradient")) == {0.0}
    assert all(abs(present - 0.25) < 0.03 for present in scores(dead, "present"))


@pytest.mark.parametrize("bos", ["zero", "value"])
def test_softpick_leaves_the_sink_and_the_power_norm_keeps_it_where_its_value_is_zero(bos, tmp_path):
    """Where BOS is a way to be silent, softmax and the power norm both take it: our sink does not vanish, unlike the source's."""
    found = rows("sink", tmp_path, ("fir+softmax", "fir+softpick"), bos=bos)
    sink = {spec: mean(scores(row, "sink")) for spec, row in found.items()}
    assert sink["fir+softmax"] > (0.9 if bos == "zero" else 0.15)
    assert sink["fir+softpick"] < 0.1
    assert sink["pn_fir_tau"] > 0.5 if bos == "zero" else sink["pn_fir_tau"] < 0.05
    assert found["pn_fir_tau"]["solved"] >= 14

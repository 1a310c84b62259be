"""What the ladder is for: the reference solves it, its rivals cannot below the rank bound, and width shows that they can train."""

import pytest

from attnprobe.cli.inputs import arms
from attnprobe.cli.report import build, contradictions
from attnprobe.probes.run import Arm, run_probe
from attnprobe.probes.spec import parse
from attnprobe.probes.store import Store
from attnprobe.probes.tasks.ladder import Ladder

pytestmark = pytest.mark.slow
FRESH = tuple(range(100, 115))  # no recipe was chosen on these


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("results"))


def rows(r, store):
    task = Ladder(r=r)
    reference = Arm("fpa", parse("fpa"), 4)
    results = run_probe(task, arms(task, None, 4, reference.spec, True), FRESH, task.recipe, store, workers=1)
    report = build("test", task, task.recipe, FRESH, 4, "cpu", reference, results)
    assert contradictions(report) == []
    for row in report["arms"]:
        if row["realisable"] is not None:
            assert row["realised"] <= row["realisable"] <= row["ceiling"]
    return {row["arm"]: row for row in report["arms"]}


@pytest.mark.parametrize(("r", "fpa"), [(10, 14), (14, 13), (18, 13)])
def test_fpa_solves_what_no_rival_solves_at_head_dim_4_and_all_solve_at_a_head_dim_that_suffices(r, fpa, store):
    found = rows(r, store)
    assert found["fpa@4"]["solved"] >= fpa
    for name in ("rope", "nope", "alibi", "fox"):
        assert found[f"{name}@4"]["solved"] == 0
        assert found[f"{name}@4"]["p_holm"] < 0.001
        assert found[f"{name}@{r + 2}"]["solved"] >= 14


def test_at_r_6_all_solve_and_the_rotary_head_s_best_seed_realises_its_ceiling_of_31(store):
    found = rows(6, store)
    assert all(row["solved"] >= 14 for row in found.values())
    assert (found["rope@4"]["realised"], found["rope@4"]["realisable"], found["rope@4"]["ceiling"]) == (31, 31, 31)
    assert found["fpa@4"]["realised"] == 32

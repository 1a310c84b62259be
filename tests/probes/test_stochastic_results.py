"""What latch and topic are for, on seeds that no recipe was chosen on: stochastic attention carries far, a sliding window does not."""

import pytest

from attnprobe.cli.inputs import arm, arms, with_swaps
from attnprobe.cli.report import build
from attnprobe.probes.run import run_probe
from attnprobe.probes.store import Store
from attnprobe.probes.tasks import TASKS

pytestmark = pytest.mark.slow
FRESH = tuple(range(100, 115))
CHANCE = 1 / 8
ARMS = ["rope", "rope+swa", "rope+sa", "rope+swa(w=8)"]


@pytest.fixture(scope="module", params=["latch", "topic"])
def found(request, tmp_path_factory):
    """The task's name and its rows by arm, with the full arm's swaps at w = 16."""
    task = TASKS[request.param]()
    reference = arm(task.reference, task.head_dim)
    compared = with_swaps(arms(task, ARMS, task.head_dim, reference.spec, True), "swa,sa,union,moba", 16)
    store = Store(tmp_path_factory.mktemp("results"))
    results = run_probe(task, compared, FRESH, task.recipe, store, workers=1)
    report = build("test", task, task.recipe, FRESH, task.head_dim, "cpu", reference, results)
    return task.name, {row["mixer"]: row for row in report["arms"]}


def accuracies(row):
    return {seed["seed"]: seed["metric"] for seed in row["seeds"]}


def averages(row):
    return {seed["seed"]: seed["score"]["accuracy8"] for seed in row["seeds"]}


def test_stochastic_attention_carries_what_a_sliding_window_of_the_same_size_does_not(found):
    _, rows = found
    assert max(accuracies(rows["rope+swa"]).values()) < 2 * CHANCE
    assert max(accuracies(rows["rope+swa(w=8)"]).values()) < 2 * CHANCE
    sa = accuracies(rows["rope+sa"])
    assert min(sa.values()) >= 3 * CHANCE
    assert sum(value >= 0.9 for value in sa.values()) >= 8
    assert rows["rope+swa"]["p_holm"] < 0.05
    assert rows["rope"]["solved"] == 15


def test_the_mean_over_eight_draws_is_no_worse_than_one_draw_in_most_seeds(found):
    _, rows = found
    one, eight = accuracies(rows["rope+sa"]), averages(rows["rope+sa"])
    assert sum(eight[seed] >= one[seed] for seed in FRESH) >= 12


def test_swapped_in_without_training_stochastic_attention_beats_the_window_and_moba_finds_the_needle(found):
    name, rows = found
    swapped = {routing: accuracies(rows[f"rope>{routing}"]) for routing in ("swa", "sa", "moba")}
    assert sum(swapped["sa"][seed] > swapped["swa"][seed] for seed in FRESH) >= 13
    if name == "latch":
        assert sum(swapped["moba"][seed] > swapped["sa"][seed] for seed in FRESH) >= 13
    else:
        assert sorted(swapped["sa"].values())[7] > 3 * CHANCE

"""The sources' figures as data: each can be run, is named once, and names a winner that its task knows."""

from collections import Counter

import pytest

from attnprobe.cli.computed import QUANTITIES
from attnprobe.probes.papers import FIGURES, SOURCES
from attnprobe.probes.papers.figure import COMPUTED, Figure
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks import TASKS

TRAINED = [f for f in FIGURES if f.task != COMPUTED]


def test_there_are_figures_of_every_source_and_each_is_named_once():
    assert len(FIGURES) >= 40
    assert set(Counter(f.source for f in FIGURES)) == set(SOURCES)
    assert max(Counter(f.identity for f in FIGURES).values()) == 1


@pytest.mark.parametrize("figure", TRAINED, ids=lambda f: f"{f.task}-{f.arm}-{f.case}")
def test_a_figure_s_arm_and_its_winner_are_canonical_and_fit_the_task(figure):
    task = TASKS[figure.task](**figure.options)
    for spec in filter(None, (figure.arm, figure.winner)):
        assert str(parse(spec)) == spec
        task.check(parse(spec), figure.head_dim)
    assert figure.winner != figure.arm
    assert figure.counts != bool(figure.metric)


def test_a_computed_figure_names_a_quantity_and_each_quantity_is_of_a_figure():
    assert {f.arm for f in FIGURES if f.task == COMPUTED} == set(QUANTITIES)


def test_bounds_are_rates_of_counts_and_ranges_of_shares():
    def of(value, n=None):
        return Figure("s", "t", "ladder", "fpa", 4, value, n, "w").bounds

    assert of(11, 15) == (11 / 15, 11 / 15)
    assert of("14-15", 15) == (14 / 15, 1.0)
    assert of(".272-.344") == (0.272, 0.344)
    assert of("fails") == (0.0, 0.0)
    assert of(0.445) == (0.445, 0.445)


def test_quick_is_a_part_of_every_source():
    assert {f.source for f in FIGURES if f.quick} == set(SOURCES)
    assert sum(f.quick for f in FIGURES) < len(FIGURES)

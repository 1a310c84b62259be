"""Walks: the keys that a walk leaves alive are those of the task's own target, found by another rule."""

import pytest

from attnprobe.probes.streams import stream
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.duration import Duration
from attnprobe.probes.tasks.ladder import Ladder
from attnprobe.probes.tasks.name_search import LEVELS, QUERY, NameSearch
from attnprobe.probes.tasks.push_pop import LETTERS, PushPop
from attnprobe.probes.tasks.two_walks import TwoWalks
from attnprobe.probes.walk import Key, Walk

EXAMPLES = 200


def examples(task):
    """Batches of one."""
    for seed in range(EXAMPLES):
        yield task.sample(stream(seed, "walk"), 1)


def alive(walk):
    """Whether each key is alive."""
    return [walk.end(key) is None for key in walk.keys]


def test_a_key_dies_where_the_field_first_falls_below_its_level_and_not_at_it():
    """Field 1 2 1 0 3: the key of level 1 at 0 survives the 1 at position 2 and dies of the 0 at 3; that of level 2 dies at 2."""
    walk = Walk((1, 2, 1, 0, 3), (Key(0, 1, "a"), Key(1, 2, "b"), Key(4, 3, "c")))
    assert [walk.end(key) for key in walk.keys] == [3, 2, None]
    assert [key.name for key in walk.alive] == ["c"]
    assert walk.levels == (0, 3)


def test_a_position_without_a_field_kills_nothing():
    walk = Walk((None, 2, None, 1), (Key(0, 2, "a"),))
    assert walk.end(walk.keys[0]) == 3


@pytest.mark.parametrize("task", [Ladder(r=7), Ladder(r=7, slot="plain")], ids=str)
def test_the_ladder_s_walk_leaves_the_target_s_rungs_alive(task):
    for batch in examples(task):
        (walk,) = task.walks(batch)
        assert alive(walk) == (batch.target[0] > 0).tolist()
        assert all(walk.field[key.at] == key.level for key in walk.keys)


def test_each_of_two_walks_leaves_its_head_s_rungs_alive():
    task = TwoWalks(r=6)
    for batch in examples(task):
        assert [alive(walk) for walk in task.walks(batch)] == (batch.target[0] > 0).tolist()


def test_what_is_alive_on_the_stack_s_height_are_the_answer_s_items():
    for batch in examples(PushPop()):
        (walk,) = PushPop().walks(batch)
        assert {key.name for key in walk.alive} == {LETTERS[item] for item in batch.target[0].nonzero()[0]}


def test_a_name_is_alive_where_the_answer_is_yes():
    for batch in examples(NameSearch()):
        (walk,) = NameSearch().walks(batch)
        asked = "abcdefgh"[int(batch.tokens[0, -1]) - QUERY]
        assert (asked in {key.name for key in walk.alive}) == bool(batch.target[0])
        assert {key.level for key in walk.keys} <= set(range(1, LEVELS + 1))


@pytest.mark.parametrize("durations", ["variable", "fixed"])
def test_the_keys_that_a_dip_hits_are_those_with_a_depth(durations):
    task = Duration(durations=durations)
    for batch in examples(task):
        (walk,) = task.walks(batch)
        assert alive(walk) == (batch.target[0] == 0).tolist()


@pytest.mark.parametrize("name", TASKS)
def test_a_walk_has_a_field_at_each_position_of_the_picture(name):
    task = TASKS[name]()
    batch = task.sample(stream(0, "train", 0), 1)
    cells = next(iter(task.picture(batch)))[1]
    for walk in task.walks(batch):
        assert len(walk.field) == len(cells)
        assert [key.at for key in walk.keys] == sorted(key.at for key in walk.keys)

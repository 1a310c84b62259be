"""The alive-set tasks: what they draw, no leak, examples by hand, and what they refuse."""

import numpy as np
import pytest

from attnprobe.probes.spec import parse
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.duration import Duration
from attnprobe.probes.tasks.name_search import NameSearch
from attnprobe.probes.tasks.two_walks import TwoWalks

CASES = ("duration", "duration, fixed", "two-walks", "push-pop", "push-pop, top", "name-search")


@pytest.mark.parametrize("case", [case for case in CASES if case != "two-walks"])
def test_no_evaluated_sequence_is_seen_in_training(alive, alive_data, case):
    task = alive[case]
    recipe, (_, test) = task.recipe, alive_data(case)
    seen = set()
    for block in range(-(-recipe.steps // 50)):
        seen |= set(map(bytes, task.sample(stream(0, "train", block), 50 * recipe.batch).tokens))
    assert not seen & set(map(bytes, test.tokens))


def test_two_walks_evaluates_every_word_once_up_to_r_11_and_held_out_words_above():
    (words,) = TwoWalks(r=11).evaluation(stream(0, "test"), 1024)
    assert len(np.unique(words.side["bits"], axis=0)) == len(words.side["bits"]) == 1024
    assert TwoWalks(r=11).exhaustive
    task = TwoWalks(r=30)
    assert not task.exhaustive
    (test,) = task.evaluation(stream(0, "test"), 1024)
    assert not set(map(bytes, test.tokens)) & set(map(bytes, task.sample(stream(0, "train", 0), 3200).tokens))


@pytest.mark.parametrize("case", CASES)
def test_sampling_is_a_function_of_its_arguments(alive, check_data, case):
    task = alive[case]
    check_data(task)


def test_duration_keeps_hits_by_one_dip_and_draws_what_it_says(alive_data):
    """P(dip) = 0.4 before rejection; kept sequences have a hit and no key under two dips; dips that hit nothing stay."""
    train, _ = alive_data("duration")
    tokens = train.tokens
    dips = np.where((tokens >= 3) & (tokens < 6), tokens - 3, 9)[:, 1:-1:3]
    levels = tokens[:, 0:-1:3] + 1
    hits = ((dips[:, None, :] < levels[:, :, None]) & np.triu(np.ones((6, 6), dtype=bool))).sum(-1)
    assert (hits.max(1) == 1).all()
    null = (dips < 9) & ~((dips[:, None, :] < levels[:, :, None]) & np.triu(np.ones((6, 6), dtype=bool))).any(1)
    assert 0.1 < null.sum() / (dips < 9).sum() < 0.9
    held = (tokens[:, 2:-1:3] != 6).sum() / (tokens[:, 1:-1:3] != 6).sum()
    assert held == pytest.approx(0.5, abs=0.02)
    assert np.array_equal(alive_data("duration, fixed")[0].tokens[:, 2:-1:3] != 6, np.zeros((20000, 6), dtype=bool))


def test_duration_by_hand():
    """Levels 2 1 2 1 3 1; d1 after key 3 hits keys 1 and 3 by 1, d2 after key 4 none, d2 d2 after key 5 that key by 1."""
    none = 3
    batch = Duration().encode(
        *(np.array(row, dtype=np.uint8)[:, None] for row in ([2, 1, 2, 1, 3, 1], [none, none, 1, 2, 2, none], [0, 0, 1, 1, 2, 0]))
    )
    assert " ".join(dict(Duration().picture(batch))["token"]) == "2 . . 1 . . 2 d1 . 1 d2 . 3 d2 d2 1 . . ?"
    assert batch.target.tolist() == [[1, 0, 1, 0, 1, 0]]
    assert batch.side["hits"].tolist() == [3]
    assert batch.keys.tolist() == [True, False, False] * 6 + [False]


def test_two_walks_by_hand():
    """r = 3, walk 1 dips after rung 1 and walk 2 after rung 2: head 1 keeps rungs 2, 3; head 2 rungs 1, 3."""
    task = TwoWalks(r=3)
    batch = task.encode(np.array([[1, 0]], dtype=np.uint8))
    assert batch.target.tolist() == [[[0, 1, 1], [1, 0, 1]]]
    rows = dict(task.picture(batch))
    assert rows["token"] == ["1", "dip1", "-", "2", "-", "dip2", "3", "?"]
    assert rows["head 1"] == ["0", "", "", "1/2", "", "", "1/2", ""]
    features = task.features()[batch.tokens[0]]
    assert [row.nonzero()[0].tolist() for row in features] == [[0, 3], [0, 4], [0, 7], [1, 3], [1, 5], [1, 6], [2, 3], [8]]


def test_push_pop_pushes_where_the_stack_is_empty_and_else_with_chance_one_half(alive_data):
    train, _ = alive_data("push-pop")
    operations = train.tokens[:, 1:-1]
    height = np.where(operations == 8, -1, 1).cumsum(1)
    assert (height >= 0).all()
    open_ = height[:, :-1] > 0
    assert (operations[:, 1:][open_] != 8).mean() == pytest.approx(0.5, abs=0.01)
    assert (operations[:, 1:][~open_] != 8).all()
    assert np.bincount(operations[operations != 8]).min() / (operations != 8).sum() == pytest.approx(1 / 8, abs=0.005)
    assert np.array_equal(train.side["size"], height[:, -1])


def test_name_search_draws_events_with_the_chances_it_states_and_balances_the_answers():
    task = NameSearch()
    tokens, case = task.draw(stream(0, "x"), 40000)
    dips = tokens[:, 1:-1] >= 32
    assert dips.mean() == pytest.approx(0.3, abs=0.005)
    assert np.bincount(tokens[:, 1:-1][dips] - 32) / dips.sum() == pytest.approx([0.0625, 0.3125, 0.3125, 0.3125], abs=0.005)
    assert np.bincount(tokens[:, 1:-1][~dips]) / (~dips).sum() == pytest.approx(np.full(32, 1 / 32), abs=0.005)
    assert set(case) == {0, 1, 2}
    for n in (8, 9):
        assert abs(2 * int(task.sample(stream(0, "y"), n).target.sum()) - n) <= n % 2


@pytest.mark.parametrize("case", ["two-walks"])
@pytest.mark.parametrize(("spec", "message"), [("selective", "use selective"), ("rope/fpa", "names 2 layers")])
def test_what_makes_no_sense_with_an_oracle_query_is_refused_with_the_reason(alive, case, spec, message):
    for task in (alive[case], TASKS["ladder"]()):
        with pytest.raises(ValueError, match=message):
            task.check(parse(spec), 4)
        task.check(parse("selective(maps=own)"), 4)


@pytest.mark.parametrize("case", [*CASES, "ladder", "recall", "decoys"])
@pytest.mark.parametrize("spec", ["swa(w=3)", "sa", "gated", "union", "moba", "rope>sa"])
def test_a_routing_that_hides_keys_is_refused_where_queries_are_no_keys(alive, case, spec):
    task = alive[case] if case in CASES else TASKS[case]()
    with pytest.raises(ValueError, match=f"{parse(spec).judged.layers[0].routing.name} hides keys, and {task.name} asks"):
        task.check(parse(spec), 4)


def test_no_map_but_the_bias_s_sees_a_key_s_level_in_name_search():
    task = NameSearch()
    seen = task.features()[:, task.model.content]
    a1, a4, b1 = 0, 3, 4
    assert np.array_equal(seen[a1], seen[a4])
    assert not np.array_equal(seen[a1], seen[b1])
    assert not np.array_equal(task.features()[a1], task.features()[a4])


def test_a_bad_r_is_refused():
    for r in (2, 65):
        with pytest.raises(ValueError, match="r must be from 3"):
            TwoWalks(r=r)


@pytest.mark.parametrize("case", CASES)
def test_a_picture_has_a_cell_a_position(alive, check_picture, case):
    task = alive[case]
    check_picture(task)

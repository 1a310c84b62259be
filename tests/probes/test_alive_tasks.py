"""The alive-set tasks: targets by their definitions, an exact solver at 100 %, shortcuts at what the docstrings say, and no leak."""

import functools
from collections import Counter

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import stack
from attnprobe.probes.spec import parse
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.duration import Duration
from attnprobe.probes.tasks.name_search import NameSearch
from attnprobe.probes.tasks.push_pop import PushPop
from attnprobe.probes.tasks.two_walks import TwoWalks

CASES = {
    "duration": Duration(),
    "duration, fixed": Duration(durations="fixed"),
    "two-walks": TwoWalks(),
    "push-pop": PushPop(),
    "push-pop, top": PushPop(ask="top"),
    "name-search": NameSearch(),
}
ITEM = "abcdefgh"


@functools.cache
def train_and_test(case):
    task = CASES[case]
    (test,) = task.evaluation(stream(0, "test"), task.test_size)
    return task.sample(stream(0, "train", 0), 20000), test


def words(task, tokens):
    """Tokens by the names that the docstrings use."""
    names = {
        "duration": ["key1", "key2", "key3", "dip0", "dip1", "dip2", "nop", "?"],
        "push-pop": [*ITEM, "pop", "bos", "?"],
        "name-search": [f"{c}{level}" for c in ITEM for level in (1, 2, 3, 4)]
        + ["dip0", "dip1", "dip2", "dip3", "bos"]
        + [f"?{c}" for c in ITEM],
        "two-walks": [f"{kind}{i}" for kind in ("rung", "one", "no-one", "two", "no-two") for i in range(10 - (kind != "rung"))] + ["?"],
    }[task.name]
    return [names[token] for token in tokens]


def read_duration(sequence):
    """Each key's depth: its level less the lowest later dip under it."""
    depths = []
    for s in range(0, len(sequence) - 1, 3):
        level = int(sequence[s][-1])
        dips = [int(word[-1]) for word in sequence[s + 1 :] if word.startswith("dip")]
        depths.append(max(0, level - min(dips, default=level)))
    return depths


def read_two_walks(sequence):
    """Alive rungs of walk 1 and of walk 2."""
    dead = [{int(word.removeprefix(kind)) for word in sequence if word.startswith(kind)} for kind in ("one", "two")]
    return [[int(i not in killed) for i in range(10)] for killed in dead]


def read_push_pop(sequence, ask):
    """Run the stack."""
    items = []
    for word in sequence[1:-1]:
        if word == "pop":
            items.pop()
        else:
            items.append(word)
    return [int(c in items) for c in ITEM] if ask == "members" else ITEM.index(items[-1]) if items else len(ITEM)


def read_name_search(sequence):
    """Whether the asked name is among the keys that are left when every dip has removed those above it."""
    alive = []
    for word in sequence[1:-1]:
        if word.startswith("dip"):
            alive = [key for key in alive if int(key[1]) <= int(word[3])]
        else:
            alive.append(word)
    return int(any(key[0] == sequence[-1][1] for key in alive))


def solve(task, tokens):
    """The exact answer, read from the tokens alone."""
    sequence = words(task, tokens)
    return {
        "duration": lambda: read_duration(sequence),
        "two-walks": lambda: read_two_walks(sequence),
        "push-pop": lambda: read_push_pop(sequence, task.ask),
        "name-search": lambda: read_name_search(sequence),
    }[task.name]()


def output(task, answers):
    """Answers as a model's output for a stack of one seed: weights at the keys (n, 6) or (n, 2, 10), or classes as logits."""
    answers = torch.tensor(np.asarray(answers), dtype=torch.float64)
    if task.name in ("duration", "two-walks"):
        weights = answers if answers.dim() == 3 else answers[:, None]  # (n, H, keys)
        full = torch.zeros(1, len(answers), weights.shape[1], 1, task.seq_len, dtype=torch.float64)
        full[0, :, :, 0, 0 : 3 * weights.shape[-1] - 2 : 3] = weights
        return full.clamp(min=1e-30).log()
    if task.name == "push-pop" and task.ask == "top":
        answers = torch.nn.functional.one_hot(answers.long(), len(ITEM) + 1).double()
    return (answers.reshape(len(answers), -1) - 0.5)[None, :, None]


def score(task, answers, batch):
    stacked = stack([batch], "cpu", torch.float64)
    return {name: value.item() for name, value in task.score(output(task, answers), stacked).items()}


def weights(task, answers):
    """Exact answers as the weights that the target asks for."""
    answers = np.asarray(answers, dtype=float)
    if task.name == "duration":
        answers = np.exp(-answers)
    return answers / answers.sum(-1, keepdims=True) if task.name in ("duration", "two-walks") else answers


@pytest.mark.parametrize("case", CASES)
def test_targets_follow_the_definition_and_an_exact_solver_has_a_perfect_score(case):
    task = CASES[case]
    _, test = train_and_test(case)
    answers = [solve(task, tokens) for tokens in test.tokens]
    assert np.array_equal(np.asarray(answers), test.target)
    got = score(task, weights(task, answers), test)
    perfect = 0 if task.better == "low" else 1
    for name, value in got.items():
        assert value == pytest.approx(perfect, abs=1e-12), name


def softmax_of(depth):
    return np.exp(-depth) / np.exp(-depth).sum(-1, keepdims=True)


def duration_shortcuts(task, train, test):
    target = softmax_of(train.target.astype(float))
    yield "position", np.broadcast_to(target.mean(0), test.target.shape)
    level, asked = train.tokens[:, 0:-1:3], test.tokens[:, 0:-1:3]
    table = np.array([[target[level[:, i] == l, i].mean() for l in range(3)] for i in range(6)])
    given = table[np.arange(6), asked]
    yield "unigram", given / given.sum(1, keepdims=True)
    dips = np.where((test.tokens >= 3) & (test.tokens < 6), test.tokens - 3.0, np.inf)
    levels = asked + 1.0
    under = np.maximum(0, levels[:, :, None] - dips[:, None, :]) * (np.arange(19) > 3 * np.arange(6)[:, None])
    yield "sum of depths", softmax_of(under.sum(-1))
    yield "last write", softmax_of(np.stack([under[:, i, 3 * i + 1 : 3 * i + 3].max(-1) for i in range(6)], 1))


def two_walks_shortcuts(task, train, test):
    target = train.target / train.target.sum(-1, keepdims=True)
    yield "uniform", np.full(test.target.shape, 0.1)
    yield "position", np.broadcast_to(target.mean(0), test.target.shape)
    both = (test.target / test.target.sum(-1, keepdims=True)).mean(1, keepdims=True)
    yield "one set for both", np.broadcast_to(both, test.target.shape)


def push_pop_shortcuts(task, train, test):
    sequences = [words(task, tokens)[1:-1] for tokens in test.tokens]
    pushed = [[word for word in sequence if word != "pop"] for sequence in sequences]
    (most, _), *_ = Counter(map(bytes, np.atleast_2d(train.target.T).T)).most_common(1)
    majority = np.frombuffer(most, train.target.dtype)
    yield "majority", [majority if task.ask == "members" else majority[0]] * len(sequences)
    if task.ask == "top":
        yield "unigram", [ITEM.index(Counter(items).most_common(1)[0][0]) for items in pushed]
        yield "last write", [ITEM.index(items[-1]) for items in pushed]
        return
    yield "unigram", [[int(c in items) for c in ITEM] for items in pushed]
    yield "last write", [[int(c == items[-1]) for c in ITEM] for items in pushed]
    yield "position", [[int(c in sequence[-3:]) for c in ITEM] for sequence in sequences]


def name_search_shortcuts(task, train, test):
    sequences = [words(task, tokens) for tokens in test.tokens]
    yield "majority", [1] * len(sequences)
    yield "unigram", [int(any(word[0] == s[-1][1] and word[1].isdigit() for word in s[1:-1])) for s in sequences]
    yield "position", [int(any(word[0] == s[-1][1] and word[1].isdigit() for word in s[-6:-1])) for s in sequences]
    last = [max((i for i, word in enumerate(s) if word.startswith("dip")), default=0) for s in sequences]
    yield "last write", [int(any(word[0] == s[-1][1] for word in s[i + 1 : -1])) for s, i in zip(sequences, last, strict=True)]


SHORTCUTS = {
    "duration": duration_shortcuts,
    "two-walks": two_walks_shortcuts,
    "push-pop": push_pop_shortcuts,
    "name-search": name_search_shortcuts,
}


STATED = {
    ("duration", "position"): 0.14,
    ("duration", "unigram"): 0.10,
    ("duration", "last write"): 0.14,
    ("duration", "sum of depths"): 0.04,
    ("duration, fixed", "sum of depths"): 0.0,
    ("two-walks", "uniform"): 0.64,
    ("two-walks", "position"): 0.60,
    ("two-walks", "one set for both"): 0.56,
    ("push-pop", "majority"): 0.20,
    ("push-pop", "unigram"): 0.03,
    ("push-pop", "last write"): 0.02,
    ("push-pop", "position"): 0.19,
    ("push-pop, top", "majority"): 0.20,
    ("push-pop, top", "unigram"): 0.21,
    ("push-pop, top", "last write"): 0.53,
    ("name-search", "majority"): 0.50,
    ("name-search", "unigram"): 0.63,
    ("name-search", "position"): 0.75,
    ("name-search", "last write"): 0.78,
}


@pytest.mark.parametrize("case", CASES)
def test_shortcuts_score_what_the_docstring_says_and_solve_nothing(case):
    task = CASES[case]
    for name, answers in SHORTCUTS[task.name](task, *train_and_test(case)):
        got = score(task, answers, train_and_test(case)[1])
        assert all(np.isfinite(value) for value in got.values())
        stated = STATED.get((case, name))
        if stated is not None:
            assert got[task.metric] == pytest.approx(stated, abs=0.01)
            assert stated == 0 or f"{stated:.2f}" in type(task).__doc__
        assert bool(task.solved({task.metric: torch.tensor(got[task.metric])})) == ((case, name) == ("duration, fixed", "sum of depths"))


@pytest.mark.parametrize("case", [case for case in CASES if case != "two-walks"])
def test_no_evaluated_sequence_is_seen_in_training(case):
    task = CASES[case]
    recipe, (_, test) = task.recipe, train_and_test(case)
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
def test_sampling_is_a_function_of_its_arguments(case):
    task = CASES[case]
    for n in (1, 2, 7):
        one, two, other = (task.sample(stream(seed, "train", 0), n) for seed in (3, 3, 4))
        assert all(len(array) == n for array in one.arrays())
        assert all(np.array_equal(a, b) for a, b in zip(one.arrays(), two.arrays(), strict=True))
        assert n == 1 or not np.array_equal(one.tokens, other.tokens)


def test_duration_keeps_hits_by_one_dip_and_draws_what_it_says():
    """P(dip) = 0.4 before rejection; kept sequences have a hit and no key under two dips; dips that hit nothing stay."""
    train, _ = train_and_test("duration")
    tokens = train.tokens
    dips = np.where((tokens >= 3) & (tokens < 6), tokens - 3, 9)[:, 1:-1:3]
    levels = tokens[:, 0:-1:3] + 1
    hits = ((dips[:, None, :] < levels[:, :, None]) & np.triu(np.ones((6, 6), dtype=bool))).sum(-1)
    assert (hits.max(1) == 1).all()
    null = (dips < 9) & ~((dips[:, None, :] < levels[:, :, None]) & np.triu(np.ones((6, 6), dtype=bool))).any(1)
    assert 0.1 < null.sum() / (dips < 9).sum() < 0.9
    held = (tokens[:, 2:-1:3] != 6).sum() / (tokens[:, 1:-1:3] != 6).sum()
    assert held == pytest.approx(0.5, abs=0.02)
    assert np.array_equal(train_and_test("duration, fixed")[0].tokens[:, 2:-1:3] != 6, np.zeros((20000, 6), dtype=bool))


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


def test_push_pop_pushes_where_the_stack_is_empty_and_else_with_chance_one_half():
    train, _ = train_and_test("push-pop")
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
def test_what_makes_no_sense_with_an_oracle_query_is_refused_with_the_reason(case, spec, message):
    for task in (CASES[case], TASKS["ladder"]()):
        with pytest.raises(ValueError, match=message):
            task.check(parse(spec), 4)
        task.check(parse("selective(maps=own)"), 4)


@pytest.mark.parametrize("case", [*CASES, "ladder", "recall", "decoys"])
@pytest.mark.parametrize("spec", ["swa(w=3)", "sa", "gated", "union", "moba", "rope>sa"])
def test_a_routing_that_hides_keys_is_refused_where_queries_are_no_keys(case, spec):
    task = CASES[case] if case in CASES else TASKS[case]()
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
def test_a_picture_has_a_cell_a_position(case):
    task = CASES[case]
    rows = list(task.picture(task.sample(stream(0, "train", 0), 1)))
    assert rows[0][0] == "token"
    assert {len(cells) for _, cells in rows} == {task.seq_len}

"""The alive-set tasks, read token by token: an exact solver at 100 %, shortcuts at what the docstrings say."""

from collections import Counter

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import stack

CASES = ("duration", "duration, fixed", "two-walks", "push-pop", "push-pop, top", "name-search")
ITEM = "abcdefgh"


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
def test_targets_follow_the_definition_and_an_exact_solver_has_a_perfect_score(alive, alive_data, case):
    task = alive[case]
    _, test = alive_data(case)
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
def test_shortcuts_score_what_the_docstring_says_and_solve_nothing(alive, alive_data, case):
    task = alive[case]
    for name, answers in SHORTCUTS[task.name](task, *alive_data(case)):
        got = score(task, answers, alive_data(case)[1])
        assert all(np.isfinite(value) for value in got.values())
        stated = STATED.get((case, name))
        if stated is not None:
            assert got[task.metric] == pytest.approx(stated, abs=0.01)
            assert stated == 0 or f"{stated:.2f}" in type(task).__doc__
        assert bool(task.solved({task.metric: torch.tensor(got[task.metric])})) == ((case, name) == ("duration, fixed", "sum of depths"))

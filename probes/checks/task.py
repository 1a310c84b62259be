"""Whether a task is sound: its data are a function of their seed and leak nothing, its answers of what is read, its scores what it says."""

from __future__ import annotations

import functools
import random
import sys
from itertools import islice

import numpy as np
import torch

from attnprobe.probes.batch import stack
from attnprobe.probes.checks.findings import Failed, Note, run
from attnprobe.probes.checks.readers import readers
from attnprobe.probes.checks.shortcut import one_position
from attnprobe.probes.mixers.parts import Draw
from attnprobe.probes.model import Model
from attnprobe.probes.spec import parse
from attnprobe.probes.stack import Stack
from attnprobe.probes.streams import stream
from attnprobe.probes.train import BLOCK, fresh

READ = ("beside", "mix", "amount", "bits")  # what a model reads of a batch's side, besides its tokens
TRAINED = 20000  # training sequences that are looked at, at least; fewer blocks than that where they are long
MOST_BLOCKS = 64
FEW, MANY = 16, 256  # examples, for which as many lines of Python are to run
MORE_LINES = 1.5  # times, since a draw may be rejected
BY_CHANCE = 0.005  # the share of evaluated sequences that may be seen in training beyond what another seed's training sees
SIZE = 1024  # sequences evaluated
STREAMS = 8  # seeds, and blocks of each, of which no two are to have the same data
HALF = 0.5  # of the sequences: fewer distinct ones in training, or more of the evaluated ones in another seed's, are few to learn


def check_task(task):
    """The Findings on a Task."""
    return run(CHECKS, task)


def batches(task):
    """A batch has n examples of seq_len tokens of the vocabulary, scored at positions that there are."""
    shape = task.model
    for n in (1, 2, 7):
        batch = task.sample(stream(0, "train", 0), n)
        for what, array in {"tokens": batch.tokens, "target": batch.target, **batch.side}.items():
            if len(array) != n:
                raise Failed(f"sample(rng, {n}): {what} holds {len(array)} examples")
        if batch.tokens.shape != (n, shape.seq_len):
            raise Failed(f"sample(rng, {n}): tokens are {batch.tokens.shape}, not ({n}, {shape.seq_len}), by the model's seq_len")
        if batch.tokens.dtype.kind not in "iu":
            raise Failed(f"tokens are integers, not {batch.tokens.dtype}")
        if not (batch.tokens.min() >= 0 and batch.tokens.max() < shape.vocab_size):
            at = np.argwhere((batch.tokens < 0) | (batch.tokens >= shape.vocab_size))[0].tolist()
            raise Failed(
                f"token {batch.tokens[tuple(at)]} in example {at[0]}, position {at[1]}: the vocabulary is 0..{shape.vocab_size - 1}"
            )
        if batch.keys.shape != (shape.seq_len,) or batch.keys.dtype != bool:
            raise Failed(f"keys say of each of {shape.seq_len} positions whether it may be attended to, and are {batch.keys.shape}")
        if not (batch.scored.min() >= 0 and batch.scored.max() < shape.seq_len):
            raise Failed(f"position {batch.scored.max()} is scored, and the last is {shape.seq_len - 1}")
    return f"{shape.seq_len} positions, {shape.vocab_size} tokens; batches of 1, 2 and 7 have their shape"


def function_of_its_stream(task):
    """Equal streams give equal data, whatever global state, widths or threads there are; other seeds give others."""
    first = same(task)
    states = [torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()]
    threads = torch.get_num_threads()
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            torch.set_num_threads(threads + 1)
            Model(task.model, parse(task.arms[0]), task.head_dim + 1, "cpu")
            again = same(task)
    finally:
        torch.set_num_threads(threads)
    if name := different(first, again):
        raise Failed(f"{name} differs between two draws of one stream: sample(rng, n) is to draw from rng alone")
    now = [torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()]
    for whose, before, after in zip(("torch's", "numpy's", "Python's"), states, now, strict=True):
        if not (torch.equal(before, after) if whose == "torch's" else before == after):
            raise Failed(f"sample draws from {whose} global generator: it is to draw from rng alone")
    if not different(first, same(task, seed=1)):
        raise Failed("seeds 0 and 1 have the same data: sample(rng, n) ignores rng")
    if not different(first, same(task, block=1)):
        raise Failed("blocks 0 and 1 of training have the same data: sample(rng, n) ignores rng")
    all_differ(task)
    return "equal streams give equal data, at any width and thread count; other seeds and blocks give others"


def all_differ(task):
    """Raise Failed where two of many training blocks, each of a stream of its own, have the same data."""
    held = {
        (seed, block): tuple(words(task.sample(stream(seed, "train", block), 64))) for seed in range(STREAMS) for block in range(STREAMS)
    }
    firsts = {}
    for path, read in held.items():
        firsts.setdefault(read, path)
    for (seed, block), read in held.items():
        if firsts[read] != (seed, block):
            what = f"block {block} of seed {seed} has the data of block {firsts[read][1]} of seed {firsts[read][0]}"
            raise Failed(f"{what}: {len(held)} streams give {len(firsts)} different blocks; sample(rng, n) is to draw from rng itself")


def same(task, seed=0, block=0):
    """The arrays of a training block by name."""
    batch = task.sample(stream(seed, "train", block), 64)
    return {"tokens": batch.tokens, "target": batch.target, **batch.side}


def different(a, b):
    """The name of the first array that differs, or None."""
    return next((name for name in a if not np.array_equal(a[name], b[name])), None)


def vectorised(task):
    """As many lines of Python run for few examples as for many."""
    few, many = (lines_run(lambda n=n: task.sample(stream(0, "train", 0), n)) for n in (FEW, MANY))
    if many > MORE_LINES * few:
        raise Failed(f"sample runs {few} lines of Python for {FEW} examples and {many} for {MANY}: it loops over them")
    return f"sample runs {few} lines of Python for {FEW} examples, {many} for {MANY}"


def lines_run(function):
    """How many lines of Python a call runs, at any depth."""
    count, before = 0, sys.gettrace()

    def traced(frame, event, argument):
        nonlocal count
        count += event == "line"
        return traced

    function()  # what is computed once and kept is no loop
    sys.settrace(traced)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


def leakage(task):
    """Sequences that are evaluated are not those that were trained on, beyond what chance gives."""
    if task.exhaustive:
        return Note("every example there is is evaluated, those of training among them")
    drawn, others = list(words_trained(task, 0)), set(words_trained(task, 1))
    trained = set(drawn)
    paths = [("test",), *([fresh(BLOCK)[0]] if task.leave else [])]
    found = [word for path in paths for batch in task.evaluation(stream(0, *path), SIZE) for word in words(batch)]
    seen, chance = (float(np.mean([word in known for word in found])) for known in (trained, others))
    most = min(1, chance + BY_CHANCE + 4 * (chance * (1 - chance) / len(found)) ** 0.5)
    counted = f"{len(drawn)} training sequences of the same seed ({len(trained)} distinct)"
    if seen > most:
        at = next(i for i, word in enumerate(found) if word in trained)
        which = f"the first is number {at}; of another seed's {chance:.1%} do, so that up to {most:.1%} is chance"
        raise Failed(f"{seen:.1%} of the evaluated sequences stand among {counted}: {which}")
    chances = f"{chance:.1%} among another seed's: chance up to {most:.1%}"
    said = f"of {len(found)} evaluated sequences, {seen:.1%} stand among {counted}, and {chances}"
    if len(trained) < HALF * len(drawn) or chance > HALF:
        return Note(f"few sequences, which a model may learn by heart: {said}")
    return said


def words_trained(task, seed):
    """The words of a seed's first training blocks."""
    rows = BLOCK * task.recipe.batch
    for block in range(min(MOST_BLOCKS, -(-TRAINED // rows))):
        yield from words(task.sample(stream(seed, "train", block), rows))


def words(batch):
    """What a model reads of each example, as bytes."""
    read = [batch.tokens, *(batch.side[name] for name in READ if name in batch.side)]
    return [b"".join(array[i].tobytes() for array in read) for i in range(len(batch.tokens))]


def contradictions(task):
    """What is read determines the answer: no two equal sequences have other targets."""
    answers, twice = {}, 0
    batch = task.sample(stream(0, "check"), TRAINED // 4)
    for i, word in enumerate(words(batch)):
        scored = batch.scored if batch.scored.ndim == 1 else batch.scored[i]
        answer = batch.target[i].tobytes(), np.asarray(scored).tobytes()
        first, known = answers.setdefault(word, (i, answer))
        twice += first != i
        if known != answer:
            raise Failed(f"examples {first} and {i} read the same and have other targets: {batch.target[first]} and {batch.target[i]}")
    if not twice:
        return Note(f"no two of {len(batch.tokens)} sequences are equal: that the answer depends on more than them would not show")
    return f"{twice} of {len(batch.tokens)} sequences repeat another, with the same answer"


def collisions(task):
    """Where the answer stands after an earlier occurrence of the scored token, all such occurrences agree."""
    if not task.lookup:
        return Note("not asked: the task does not declare `lookup`, that an answer follows an earlier occurrence of the scored token")
    batch = task.sample(stream(0, "check"), MANY)
    for i, tokens in enumerate(batch.tokens):
        for t in np.atleast_1d(batch.scored if batch.scored.ndim == 1 else batch.scored[i]):
            after = {int(tokens[s + 1]) for s in np.flatnonzero(tokens[:t] == tokens[t])}
            if len(after) != 1:
                what = f"stands before {len(after)} other tokens" if after else "stood nowhere before"
                raise Failed(f"example {i}, position {t}: the scored token {tokens[t]} {what}")
    return f"in {MANY} sequences each scored token stood before one token alone"


def evaluations(task):
    """An evaluation holds the examples asked for, and is the same each time."""
    first, second = ([words(batch) for batch in task.evaluation(stream(0, "test"), 100)] for _ in "ab")
    if first != second:
        raise Failed("two evaluations of one stream differ: evaluation(rng, size) is to draw from rng alone")
    count = sum(map(len, first))
    if count < 100 and not task.exhaustive:
        raise Failed(f"evaluation(rng, 100) holds {count} examples")
    return f"{count} examples for 100 asked for{', every one there is' if task.exhaustive else ''}; the same each time"


def scores(task):
    """Loss and scores of an untrained model are finite, one a seed, and those each seed has alone."""
    names, alone = None, []
    for seeds in ((0, 1), (0,), (1,)):
        loss, score = judged(task, seeds)
        for what, value in {"loss": loss, **score}.items():
            nothing = value.isnan() & (what not in ("loss", task.metric))  # these 64 examples may lack what a slice is of
            if tuple(value.shape) != (len(seeds),) or not (value.isfinite() | nothing).all():
                raise Failed(f"{what} of {len(seeds)} seeds is {value.tolist()}: one finite number a seed")
        passed = torch.as_tensor(task.solved(score))
        if tuple(passed.shape) != (len(seeds),) or passed.dtype != torch.bool:
            raise Failed(f"solved(score) of {len(seeds)} seeds is {passed}: one boolean a seed")
        names = names or list(score)
        alone.append(torch.stack([loss, *(score[name] for name in names)]))
    later = ("gradient", f"{task.metric}{task.draws}")  # which training adds
    if missing := [name for name in (task.metric, *task.shown) if name not in (*names, *later)]:
        raise Failed(f"score() has no {missing[0]!r}, which the task decides by or shows; it has {', '.join(names)}")
    if not torch.allclose(alone[0], torch.cat(alone[1:], 1), atol=1e-9, equal_nan=True):
        raise Failed("the loss or a score of two seeds is not what each has alone: seeds are mixed")
    return f"{', '.join(['loss', *names])}: finite, one a seed, the same in a stack as alone"


def judged(task, seeds):
    """Loss (N,) and scores of an untrained model of the task's first arm."""
    model = Model(task.model, parse(task.arms[0]).judged, task.head_dim, "cpu")
    chunk = zip(*(islice(task.evaluation(stream(seed, "test"), 64), 1) for seed in seeds), strict=True)
    batch = stack(next(chunk), "cpu", torch.float64)
    batch = batch.examples(0, min(64, batch.tokens.shape[1]))
    with torch.no_grad():
        output = model(Stack(model.parameters(), seeds, "cpu", torch.float64).copy(torch.float64), batch, functools.partial(drawn, seeds))
        return task.loss(output, batch), task.score(output, batch)


def drawn(seeds, layer):
    """A layer's Draw at test time."""
    return Draw(seeds, layer, 0, "test")


def pictures(task):
    """A drawn example has a cell a position."""
    rows = list(task.picture(task.sample(stream(0, "train", 0), 1)))
    for label, cells in rows:
        if len(cells) != task.model.seq_len:
            raise Failed(f"the row {label!r} has {len(cells)} cells for {task.model.seq_len} positions")
    return f"{', '.join(dict.fromkeys(label.partition(' ')[0] for label, _ in rows))}: a cell a position"


CHECKS = {
    "batch": batches,
    "stream": function_of_its_stream,
    "vectorised": vectorised,
    "evaluation": evaluations,
    "leakage": leakage,
    "contradictions": contradictions,
    "collisions": collisions,
    "one position": one_position,
    "scores": scores,
    "readers": readers,
    "picture": pictures,
}

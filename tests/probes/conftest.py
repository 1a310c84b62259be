"""What several tests of tasks and of training share."""

import functools

import pytest

TOKENS = 7  # of a sequence


@pytest.fixture(scope="session")
def step_operators():
    """step_operators(training, batch): how many torch operators a step on `batch` examples runs, the second, which sets nothing up."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Count(TorchDispatchMode):
        """Counts torch operators."""

        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += 1
            return func(*args, **(kwargs or {}))

    def counted(training, batch):
        examples = training.data(0).examples(0, batch)
        training.step(examples, 0)
        with Count() as counter:
            training.step(examples, 1)
        return counter.count

    return counted


@pytest.fixture(scope="session")
def token_model():
    """token_model(spec): a model of two seeds, width 6 and 7 tokens of 11 kinds, every initial weight large, and its parameters."""
    import torch

    from attnprobe.probes.model import Model
    from attnprobe.probes.model_spec import ModelSpec
    from attnprobe.probes.spec import parse
    from attnprobe.probes.stack import draw

    def made(spec, layers=1, embedding="learned", positions="none", mlp=0, heads=2):
        shape = ModelSpec(
            11, TOKENS, embedding, "learned", "token", rows=TOKENS, model_dim=6, classes=11, num_heads=heads, layers=layers, mlp=mlp,
            positions=positions, init_std=1.0, output_std=1.0, key_std=1.0, field_std=1.0,
        )  # fmt: skip
        model = Model(shape, parse(spec), 4, "cpu")
        inits = model.parameters().items()
        return model, {name: torch.stack([torch.from_numpy(draw(init, seed, name)) for seed in (0, 1)]).double() for name, init in inits}

    return made


@pytest.fixture(scope="session")
def tokens():
    """tokens(): a stacked Batch of two seeds, n examples each, for such a model."""
    import numpy as np
    import torch

    from attnprobe.probes.batch import Batch, stack

    def drawn(seed=0, n=3):
        rng = np.random.default_rng(seed)
        batches = [Batch(rng.integers(0, 11, (n, TOKENS)), np.zeros((n, 1)), np.arange(TOKENS), np.ones(TOKENS, bool)) for _ in range(2)]
        return stack(batches, "cpu", torch.float64)

    return drawn


@pytest.fixture(scope="session")
def outputs():
    """outputs(model, parameters, batch): of a model of two seeds, at the first training step."""
    from attnprobe.probes.mixers.parts import Draw

    return lambda model, p, batch: model(p, batch, lambda layer: Draw((0, 1), layer, 0, "train"))


@pytest.fixture(scope="session")
def classic():
    """case -> one of the tasks of earlier work, by name and, where that is not its default, by form."""
    from attnprobe.probes.tasks import TASKS

    return {name: TASKS[name]() for name in ("flip-flop", "copy", "count", "assignment", "mqar")} | {
        "assignment, equations": TASKS["assignment"](statements="equations"),
        "mqar, stacked": TASKS["mqar"](stacked=True, seq_len=16),
        "mqar, large": TASKS["mqar"](seq_len=256, vocabulary=1024, pairs=16),
    }


@pytest.fixture(scope="session")
def classic_data(classic):
    """classic_data(case): 20000 training sequences, and the chunks of an evaluation of 1024."""
    from attnprobe.probes.streams import stream

    @functools.cache
    def drawn(case):
        task = classic[case]
        chunks = list(task.evaluation(stream(0, "test"), 1024))
        assert sum(len(chunk.tokens) for chunk in chunks) == 1024 * (1 + (task.name == "flip-flop"))
        return task.sample(stream(0, "train", 0), 20000), chunks

    return drawn


@pytest.fixture(scope="session")
def alive():
    """case -> one of the alive-set tasks, by name and, where that is not its default, by form."""
    from attnprobe.probes.tasks import TASKS

    return {name: TASKS[name]() for name in ("duration", "two-walks", "push-pop", "name-search")} | {
        "duration, fixed": TASKS["duration"](durations="fixed"),
        "push-pop, top": TASKS["push-pop"](ask="top"),
    }


@pytest.fixture(scope="session")
def alive_data(alive):
    """alive_data(case): 20000 training sequences, and the one chunk of its evaluation."""
    from attnprobe.probes.streams import stream

    @functools.cache
    def drawn(case):
        task = alive[case]
        (test,) = task.evaluation(stream(0, "test"), task.test_size)
        return task.sample(stream(0, "train", 0), 20000), test

    return drawn


@pytest.fixture(scope="session")
def check_data():
    """check_data(task): raises where a sample is no function of its arguments, has another size or ignores its stream."""
    import numpy as np

    from attnprobe.probes.streams import stream

    def check(task):
        for n in (1, 2, 7):
            one, two, other = (task.sample(stream(seed, "train", 0), n) for seed in (3, 3, 4))
            assert all(len(array) == n for array in one.arrays())
            assert all(np.array_equal(a, b) for a, b in zip(one.arrays(), two.arrays(), strict=True))
            assert n == 1 or not np.array_equal(one.tokens, other.tokens)

    return check


@pytest.fixture(scope="session")
def check_picture():
    """check_picture(task): raises where a drawn example has no row of tokens, or other than a cell a position."""
    from attnprobe.probes.streams import stream

    def check(task):
        rows = list(task.picture(task.sample(stream(0, "train", 0), 1)))
        assert rows[0][0] == "token"
        assert {len(cells) for _, cells in rows} == {task.seq_len}

    return check


@pytest.fixture(scope="session")
def refused():
    """refused(text, message): fails where the text is no spec that is refused in one line with the message in it."""
    from attnprobe.probes.spec import parse

    def check(text, message):
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is checked below
            parse(text)
        assert message in str(error.value)
        assert "\n" not in str(error.value)

    return check

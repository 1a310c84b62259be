"""Training of stacked seeds: what is the same whatever runs beside, what leaves, what is stored, and that no loop hides in a step."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from attnprobe.probes.batch import stack
from attnprobe.probes.recipe import Recipe
from attnprobe.probes.run import Arm
from attnprobe.probes.spec import parse
from attnprobe.probes.stack import Stack
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.ladder import Ladder
from attnprobe.probes.train import Training, train_seeds

SHORT = Recipe(steps=60, batch=8, warm_up=10)
ARMS = ("fpa", "rope", "softmax", "alibi", "fox", "fpa-sum", "fir", "fpa-nopsi", "fpa-qlevel", "expiry", "bottleneck", "zero-keys+fpa",
        "selective(maps=own)", "dcp")  # fmt: skip


def training(spec="fpa", seeds=(0, 1, 2), task=None, recipe=SHORT, d=4, dtype=None):
    return Training(task or Ladder(r=5), parse(spec), d, seeds, recipe, "cpu", dtype)


def row(t, seed):
    """Initial values of one seed, by parameter name."""
    n = t.stack.seeds.index(seed)
    return {name: p[n].detach().clone() for name, p in t.stack.parameters.items()}


def test_initial_weights_of_a_seed_do_not_depend_on_what_runs_beside_it():
    alone, beside = row(training(seeds=(7,)), 7), row(training(seeds=(3, 7, 1)), 7)
    assert all(torch.equal(alone[name], beside[name]) for name in alone)


def test_data_of_a_seed_do_not_depend_on_arm_width_company_threads_or_order():
    """SHORT trains on two blocks."""
    (whole,) = train_seeds(Ladder(r=5), parse("fpa"), 4, (7,), SHORT)
    hashes, others = {whole["data_hash"]}, set()
    for spec, d, seeds, threads in [("fpa", 4, (7,), 2), ("rope", 8, (7, 1), 1), ("fox", 2, (1, 7, 3), 2)]:
        torch.set_num_threads(threads)
        t = training(spec, seeds, d=d)
        for block in (0, 1):
            t.data(block)
        hashes.add(t.journal.hashes[7].hexdigest())
        others |= {t.journal.hashes[seed].hexdigest() for seed in seeds if seed != 7}
    torch.set_num_threads(1)
    assert len(hashes) == 1
    assert len(others) == 2
    assert not hashes & others


@dataclass(frozen=True)
class Counted(Ladder):
    """A ladder that counts in COUNT how many examples each sample() draws."""

    def sample(self, rng, n):
        COUNT.append(n)
        return Ladder.sample(self, rng, n)


COUNT = []


def test_a_seed_s_data_is_drawn_once_for_all_arms_of_a_process_unless_it_is_large():
    task, recipe = Counted(r=4), replace(SHORT, steps=100)
    drawn = []
    for seeds, spec, batch in (((21, 22), "fpa", 8), ((22, 21), "rope", 8), ((21,), "fpa", 4), ((21,), "fpa", 512), ((21,), "rope", 512)):
        COUNT.clear()
        for index in (0, 1):
            training(spec, seeds, task, replace(recipe, batch=batch)).data(index)
        drawn.append(list(COUNT))
    # two seeds, two blocks; the same again in another arm; another batch size; T = 11: 50 512 11 > 2^17 tokens, not kept
    assert drawn == [[400] * 4, [], [200] * 2, [25600] * 2, [25600] * 2]


def test_training_and_evaluation_use_different_streams():
    """The sampled evaluation is of a fixed stream; a seed's training words are others, in another order."""
    task = Ladder(r=30)
    train = task.sample(stream(0, "train", 0), 4096).side["bits"]
    test = next(task.evaluation(stream(0, "test"), None)).side["bits"]
    assert not set(map(bytes, train)) & set(map(bytes, test))


@pytest.mark.parametrize("spec", ARMS)
def test_a_seed_trains_the_same_alone_as_in_a_stack_up_to_rounding(spec):
    """In float64: a direction that softmax ignores has a gradient of rounding noise, which Adam in float32 makes a step of."""
    together = training(spec, dtype=torch.float64)
    alone = training(spec, seeds=(1,), dtype=torch.float64)
    for t in (together, alone):
        t.block(0, 20)
    for name, value in row(alone, 1).items():
        torch.testing.assert_close(value, row(together, 1)[name], rtol=1e-7, atol=1e-7)


@pytest.fixture
def operators(step_operators):
    def counted(spec, seeds=3, batch=8, r=11, task=None):
        recipe = replace(SHORT, batch=batch)
        return step_operators(training(spec, seeds=tuple(range(seeds)), task=task or Ladder(r=r), recipe=recipe), batch)

    return counted


@pytest.mark.parametrize("spec", ARMS)
def test_the_number_of_operators_does_not_grow_with_seeds_or_batch_and_grows_logarithmically_with_length(operators, spec):
    base = operators(spec)
    assert operators(spec, seeds=15) == operators(spec, seeds=1) == base
    assert operators(spec, batch=64) == base
    # T = 3 r - 1: 32, 64 (nearly), 128: a constant number a doubling
    lengths = [operators(spec, r=r) for r in (11, 21, 43)]
    assert lengths[2] - lengths[1] <= lengths[1] - lengths[0] + 1
    assert lengths[2] - lengths[0] <= 2 * 40


@pytest.mark.parametrize("name", [name for name in TASKS if name != "ladder"])
def test_no_task_s_step_has_more_operators_for_more_seeds_or_examples(operators, name):
    """From two seeds on: a stack of one takes views where two heads' scores of more seeds are copied."""
    task = TASKS[name](**({"seq_len": 64} if name in ("latch", "topic") else {}))
    for spec in task.arms:
        assert operators(spec, 2, 8, task=task) == operators(spec, 6, 8, task=task) == operators(spec, 3, 32, task=task)


def test_the_gradient_is_clipped_seed_by_seed():
    t = training(seeds=(0, 1))
    t.stack.values.grad.copy_(torch.ones_like(t.stack.values))
    t.stack.values.grad[1] *= 1e-3
    before = t.stack.values.grad.clone()
    norms = t.stack.clip(1.0)
    torch.testing.assert_close(norms, before.norm(dim=1))
    assert t.stack.values.grad[0].norm().item() == pytest.approx(1.0, rel=1e-5)
    assert torch.equal(t.stack.values.grad[1], before[1])


def test_the_learning_rate_warms_up_then_follows_a_cosine_to_the_floor():
    recipe = Recipe(steps=150, lr=0.5, warm_up=50, floor=0.02)
    assert recipe.lr_at(0) == pytest.approx(0.01)
    assert recipe.lr_at(49) == recipe.lr_at(50) == pytest.approx(0.5)
    assert recipe.lr_at(100) == pytest.approx(0.5 * (0.02 + 0.98 / 2))
    assert recipe.lr_at(149) == pytest.approx(0.5 * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * 0.99))))


@pytest.mark.parametrize("bad", [{"steps": 0}, {"batch": 0}, {"lr": float("nan")}, {"lr": -1.0}, {"clip": 0.0}, {"warm_up": -1}])
def test_a_bad_recipe_is_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Recipe(**bad)


def test_dropping_a_seed_leaves_the_others_on_their_way():
    whole, dropped = training(seeds=(0, 1, 2)), training(seeds=(0, 1, 2))
    whole.block(0, 50)
    dropped.block(0, 50)
    dropped.stack.keep(torch.tensor([True, False, True]), dropped.optimiser)
    assert dropped.stack.seeds == (0, 2)
    whole.block(50, 60)
    dropped.block(50, 60)
    for seed in (0, 2):
        for name, value in row(whole, seed).items():
            torch.testing.assert_close(row(dropped, seed)[name], value, rtol=0, atol=1e-6)


def test_keeping_carries_the_optimiser_s_state_along():
    t = training(seeds=(0, 1, 2))
    t.block(0, 10)
    state = {name: value.clone() for name, value in t.optimiser.state[t.stack.values].items()}
    t.stack.keep(torch.tensor([False, True, True]), t.optimiser)
    kept = t.optimiser.state[t.stack.values]
    assert kept["step"] == state["step"]
    assert torch.equal(kept["exp_avg"], state["exp_avg"][1:])
    assert torch.equal(kept["exp_avg_sq"], state["exp_avg_sq"][1:])
    assert t.optimiser.param_groups[0]["params"][0] is t.stack.values


@dataclass(frozen=True)
class Poisoned(Ladder):
    """The ladder, whose loss is infinite for the second seed of the stack from the fourth batch on."""

    def loss(self, output, batch):
        loss = super().loss(output, batch)
        CALLS.append(1)
        return loss * torch.where(torch.arange(len(loss)) == 1, torch.inf, 1.0) if len(CALLS) > 3 and len(loss) == 3 else loss


CALLS = []


def test_a_seed_whose_loss_is_not_finite_fails_with_its_step_and_the_others_go_on():
    CALLS.clear()
    results = train_seeds(Poisoned(r=5), parse("fpa"), 4, (4, 5, 6), SHORT)
    assert [r["seed"] for r in results] == [4, 5, 6]
    assert results[1]["status"] == "failed"
    assert results[1]["failure"] == {"step": 3, "quantity": "loss"}
    assert results[1]["losses"] == [[50, None]]
    clean = train_seeds(Ladder(r=5), parse("fpa"), 4, (4, 5, 6), SHORT)
    for got, expected in zip((results[0], results[2]), (clean[0], clean[2]), strict=True):
        assert got["status"] == expected["status"]
        assert got["score"]["kl"] == pytest.approx(expected["score"]["kl"], rel=1e-3)


def test_results_hold_the_losses_the_score_and_the_steps():
    (result,) = train_seeds(Ladder(r=4), parse("fpa"), 4, (0,), SHORT)
    assert [step for step, _ in result["losses"]] == [50, 60]
    assert result["curve"] == []
    assert result["steps"] == 60
    assert set(result["score"]) == {"kl", "realised"}
    assert result["failure"] is None


@dataclass(frozen=True)
class Leaving(Ladder):
    """The ladder as a task that a seed leaves when it passes: r = 2 is passed at once, and on fresh data from its `confirms`-th time on."""

    leave = True
    heads = False
    confirms: int = 1

    def evaluation(self, rng, size):
        LOOKS.append((size, rng.integers(1 << 62)))
        yield self.sample(rng, size)

    def solved(self, score):
        fresh = [size for size, _ in LOOKS if size == 1024]
        passed = score["kl"] <= 0.5
        return passed if LOOKS[-1][0] == 256 else passed & (len(fresh) >= self.confirms)


LOOKS = []  # (size, a number from its stream) of every evaluation's data


@pytest.mark.parametrize(("confirms", "steps", "status"), [(1, 50, "solved"), (3, 150, "solved"), (99, 200, "unsolved")])
def test_a_seed_that_passes_leaves_once_the_same_weights_pass_on_fresh_data_too(confirms, steps, status):
    LOOKS.clear()
    (result,) = train_seeds(Leaving(r=2, confirms=confirms), parse("fpa"), 4, (0,), replace(SHORT, steps=200))
    assert (result["steps"], result["status"]) == (steps, status)
    fixed, fresh = ([number for size, number in LOOKS if size == wanted] for wanted in (256, 1024))
    assert len(set(fixed)) == 1
    assert len(set(fresh)) == steps // 50  # sequences of its own at each step
    assert not {*fixed} & {*fresh}


def test_a_head_is_stored_where_keys_and_offsets_are_the_same_for_all_words():
    """FPA's offsets depend on the word once its field dips, as seed 2's does after 300 steps."""
    specs, recipe = ("rope", "fox", "alibi", "fpa", "fpa-sum", "fir"), replace(SHORT, steps=300)
    stored = {spec: train_seeds(Ladder(r=5), parse(spec), 3, (2,), recipe)[0]["head"] for spec in specs}
    assert all(stored[spec] is None for spec in ("fpa", "fpa-sum", "fir"))
    for spec in ("rope", "fox", "alibi"):
        assert np.shape(stored[spec]["keys"]) == (5, 3)
        assert np.shape(stored[spec]["offsets"]) == (5,)
    assert set(stored["rope"]["offsets"]) == {0.0}
    assert train_seeds(Ladder(r=5, slot="plain"), parse("fox"), 3, (0,), SHORT)[0]["head"] is None


def test_a_stored_head_and_the_query_give_the_model_s_logits():
    """Log weights at the rungs = log_softmax over rungs of q . k_s + o_s, with the oracle's q for the word."""
    t = training("rope+fox", seeds=(0, 1), task=Ladder(r=4), d=5)
    t.block(0, 10)
    p = t.stack.copy(torch.float64)
    batch = next(t.evaluation.batches(("test",), None))
    heads = t.evaluation.heads(t.model, 10)
    weights = t.task.log_weights(t.model(p, batch, t.draws(10, "test")), batch)
    for n in range(2):
        keys, offsets = (torch.tensor(heads[n][name], dtype=torch.float64) for name in ("keys", "offsets"))
        own = {name: value for name, value in p.items() if name.startswith("layer1.oracle0")}
        from attnprobe.probes.mixers.attention import oracle_query, scoped
        from attnprobe.probes.mixers.position.rope import rotate

        q = oracle_query(scoped(own, "layer1.oracle0"), batch.side["bits"].double() * 2 - 1)[n]
        q = rotate(q[:, None, :], 1 + t.task.seq_len - 1)[:, 0]
        torch.testing.assert_close(weights[n], (q @ keys.T + offsets).log_softmax(-1))


def test_keys_that_do_not_depend_on_the_example_are_computed_once():
    shared = stack([Ladder(r=4).sample(stream(0, "train", 0), 6)], "cpu", torch.float32)
    assert shared.key_tokens.shape == (1, 1, 11)
    varied = Ladder(r=4).sample(stream(0, "train", 0), 6)
    varied = replace(varied, keys=np.ones(11, bool))
    assert stack([varied], "cpu", torch.float32).key_tokens.shape == (1, 6, 11)


def test_an_arm_prints_as_its_name_and_dimension():
    assert str(Arm("nope", parse("nope"), 4)) == "nope@4"


def test_a_stack_draws_constants_and_normals_as_declared():
    t = training("fpa", seeds=(0,))
    p = row(t, 0)
    assert p["layer1.bias.level"].item() == 1
    assert math.log1p(math.exp(p["layer1.bias.beta"].item())) == pytest.approx(1.0)
    assert torch.count_nonzero(p["layer1.oracle0.c1"]) == 0
    values = np.concatenate([row(training("fpa", seeds=(s,), task=Ladder(r=20)), s)["layer1.key"].ravel() for s in range(8)])
    assert abs(values.std() - 1) < 0.05
    assert isinstance(t.stack, Stack)

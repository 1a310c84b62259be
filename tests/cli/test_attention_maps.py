"""The attention maps of a walk's figure: kept beside the seeds that they are of, and the model's own."""

import numpy as np
import pytest

from attnprobe.cli.plots import maps
from attnprobe.probes.attention_map import asked
from attnprobe.probes.run import Arm
from attnprobe.probes.spec import parse
from attnprobe.probes.streams import stream
from attnprobe.probes.tasks.ladder import Ladder
from attnprobe.probes.train import Training


def test_a_damaged_map_is_computed_again(tmp_path):
    task, arm = Ladder(r=4), Arm("fpa", parse("fpa"), 4)
    maps.save(tmp_path, task, arm, 0, task.recipe, "101", [[1.0]])
    assert maps.load(tmp_path, task, arm, 0, task.recipe, "101") == [[1.0]]
    assert maps.load(tmp_path, task, arm, 0, task.recipe, "100") is None
    assert maps.load(tmp_path, task, arm, 1, task.recipe, "101") is None
    (path,) = tmp_path.glob("ladder/*/*.map")
    path.write_text(path.read_text()[:30])
    assert maps.load(tmp_path, task, arm, 0, task.recipe, "101") is None
    assert maps.drawable(tmp_path) == []


@pytest.mark.parametrize("spec", ["fpa", "rope", "fox"])
def test_the_map_s_last_row_is_the_model_s_own_and_no_row_sees_later_keys(spec):
    import torch

    task, mixer = Ladder(r=5), parse(spec)
    training = Training(task, mixer, 4, (3,), task.recipe, "cpu", None)
    training.block(0, 50)
    batch = task.sample(stream(3, "train", 0), 1)
    found = torch.tensor(asked(training, mixer, batch), dtype=torch.float64)
    from attnprobe.probes.batch import stack

    given = stack([batch], "cpu", torch.float64)
    p = training.stack.copy(torch.float64)
    own = training.model(p, given, training.draws(50, "test"))[0, 0, 0, 0].exp()
    assert torch.allclose(found[-1], own, atol=1e-12)
    assert torch.equal(found, found.tril())
    assert torch.allclose(found.sum(1), torch.ones(task.seq_len, dtype=torch.float64))
    assert found[:, ~torch.from_numpy(batch.keys)].abs().max() == 0


def test_fpa_s_map_closes_a_key_s_row_at_its_dip():
    """With keys of no content the map is the bias alone: rung 2 has its share before its dip, and less than half of it from there on."""
    import torch

    task = Ladder(r=4)
    mixer = parse("zero-keys+fpa")
    training = Training(task, mixer, 4, (0,), task.recipe, "cpu", None)
    for first in range(0, 300, 50):
        training.block(first, first + 50)
    batch = task.encode(np.array([[0, 1, 0]], dtype=np.uint8))
    found = torch.tensor(asked(training, mixer, batch))
    live, dead = found[:, 0], found[:, 3]
    assert (dead[4:] < 0.5 * live[4:]).all()  # rung 2, at position 3, dips at 4
    assert dead[3] > 0.8 * live[3]

"""`probe bench training` and `probe bench bias`."""

import json

import pytest


def test_the_benchmark_prints_a_ratio_an_arm(probe):
    done = probe("bench", "training", "--r", "4", "--seeds", "2", "--steps", "2", "--rounds", "1", "--arm", "nope", "--json")
    found = json.loads(done.stdout)
    assert found["yardstick"] > 0
    assert [row["mixer"] for row in found["arms"]] == ["softmax"]
    assert found["arms"][0]["ratio"] > 0


def test_a_step_in_zoology_s_shape_reads_out_every_position_over_all_tokens_and_is_scaled_by_the_yardstick(probe):
    from attnprobe.probes.spec import parse
    from attnprobe.probes.streams import stream
    from attnprobe.probes.train import Training
    from attnprobe.probes.zoology import ZoologyBasic

    task = ZoologyBasic()
    t = Training(task, parse("softmax"), task.head_dim, (0,), task.recipe, "cpu", None)
    shapes = {name: tuple(p.shape[1:]) for name, p in t.stack.parameters.items()}
    assert shapes["embedding"] == (256, 128)
    assert shapes["positions"] == (64, 128)
    assert shapes["layer2.mlp.w1"] == (128, 512)
    assert shapes["readout"] == (128, 256)
    assert not any(name.startswith("layer3") for name in shapes)
    batch = t.data(0).examples(0, 32)
    assert t.model(t.stack.parameters, batch, t.draws(0, "train")).shape == (1, 32, 64, 256)
    drawn = task.sample(stream(0, "train", 0), 5)
    asked = drawn.target >= 0
    assert (asked.sum(1) == 4).all()
    rows, at = asked.nonzero()  # each asks for the value after the key that stands there
    where = (drawn.tokens[rows, :8:2] == drawn.tokens[rows, at][:, None]).argmax(1)
    assert (drawn.target[rows, at] == drawn.tokens[rows, 2 * where + 1]).all()
    found = json.loads(
        probe("bench", "training", "--like", "zoology", "--steps", "1", "--rounds", "1", "--arm", "softmax", "--json").stdout
    )
    (row,) = found["steps"]
    assert row["scaled"] == pytest.approx(row["seconds"] * row["yardstick"] / 79)
    assert row["ratio"] == pytest.approx(row["scaled"] / 0.142)
    for bad in (["--like", "mad-lab"], ["--like", "zoology", "--r", "6"], ["--like", "zoology", "--arm", "fpa>sa"]):
        assert probe("bench", "training", *bad).exit_code == 2
    assert "w must be at most 64" in probe("bench", "training", "--like", "zoology", "--arm", "fpa+swa(w=99)").stderr


def test_the_benchmark_of_the_bias_prints_its_two_ratios(probe):
    found = json.loads(probe("bench", "bias", "--length", "9", "--rows", "4", "--rounds", "2", "--json").stdout)
    assert [row["T"] for row in found["bias"]] == [9]
    assert found["bias"][0]["forward"] > 0 < found["bias"][0]["both"]
    assert "forward and backward" in probe("bench", "bias", "--length", "9", "--rows", "4", "--rounds", "1").stdout
    assert probe("bench", "bias", "--rows", "0").exit_code == 2

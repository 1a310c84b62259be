"""`theory simulate`: its figures against loops, its streams, exit codes and one-line errors."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from attnprobe.cli.theory import app
from attnprobe.theory import recursion, routing, small_world


def run(*args, **env):
    return CliRunner().invoke(app, ["simulate", *map(str, args)], env={"COLUMNS": "120", "NO_COLOR": "1", **env})


def field(*args):
    result = run("receptive-field", *args, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_a_receptive_field_counts_the_pairs_of_the_layers_that_it_draws():
    """Its draw, redone with the same generator; pairs by masks and matrix products."""
    found = field("--n", 50, "--window", 6, "--layers", 3, "--causal", "--seed", 4)
    seen, pairs = np.eye(50, dtype=bool), []
    for layer in routing.draw(routing.windows("sa", 6, causal=True), 50, 3, np.random.default_rng(4)):
        seen = layer[0][0].mask(layer[0][1]) @ seen
        pairs.append(int(seen.sum()))
    assert [row["pairs"] for row in found["rows"]] == pairs
    assert found["pairs"] == 1275
    assert [row["missing"] for row in found["rows"]] == [1275 - p for p in pairs]
    assert [row["share"] for row in found["rows"]] == [p / 1275 for p in pairs]
    assert [row["recursion"] for row in found["rows"]] == recursion.shares("sa", 50, 6, 3, True)


def test_every_option_reaches_the_simulation():
    usual = field("--n", 64, "--window", 8)
    assert usual == field("--n", 64, "--window", 8, "--routing", "sa", "--seed", 0, "--layers", 6)
    others = [field(*args) for args in (
        ("--n", 65, "--window", 8), ("--n", 64, "--window", 9), ("--n", 64, "--window", 8, "--seed", 1),
        ("--n", 64, "--window", 8, "--causal"), *(("--n", 64, "--window", 8, "--routing", kind) for kind in ("swa", "sa+swa")),
        ("--n", 64, "--window", 8, "--layers", 5),
    )]  # fmt: skip
    assert len({json.dumps(other["rows"]) for other in [usual, *others]}) == 8


def test_a_sliding_window_is_as_computed_and_the_two_together_have_no_recursion():
    rows = field("--n", 100, "--window", 7, "--routing", "swa", "--layers", 4)["rows"]
    assert [row["share"] for row in rows] == pytest.approx([row["recursion"] for row in rows])
    assert [row["share"] for row in rows] == pytest.approx([0.07, 0.13, 0.19, 0.25])
    assert {row["recursion"] for row in field("--n", 100, "--window", 8, "--routing", "sa+swa")["rows"]} == {None}


def test_the_recursion_is_near_the_simulation():
    for more in ((), ("--causal",)):
        for row in field("--n", 2048, "--window", 32, "--layers", 5, *more)["rows"]:
            assert row["share"] == pytest.approx(row["recursion"], abs=0.03)


def test_many_tokens_are_sampled_as_sources():
    found = field("--n", 16385, "--window", 8, "--layers", 1)
    assert (found["sources"], found["pairs"], found["rows"][0]["pairs"]) == (128, 128 * 16385, 128 * 8)
    causal = field("--n", 16385, "--window", 8, "--layers", 1, "--causal")
    sources = causal["pairs"] / 16385
    assert 60 < sources < 68


def test_the_table_says_where_it_is_full():
    text = run("receptive-field", "--n", 256, "--window", 32, "--layers", 4).stdout
    assert "sa, n = 256, window 32, 256 sources, seed 0" in text
    assert text.splitlines()[1].split() == ["layer", "pairs", "seen", "share", "recursion", "missing", "pairs"]
    assert text.splitlines()[2].split() == ["1", "8192", "0.125000", "0.125000", "57344"]
    assert "full at layer 3" in text
    causal = run("receptive-field", "--n", 256, "--window", 32, "--layers", 2, "--causal", "--routing", "sa+swa").stdout
    assert "causal sa+swa" in causal
    assert "not full after 2 layers" in causal
    assert len(causal.splitlines()[2].split()) == 4


def test_small_world_rows_are_the_graphs_that_they_name():
    found = json.loads(run("small-world", "--n", 512, "--degree", 16, "--seed", 3, "--json").stdout)
    rows = {row["graph"]: row for row in found["rows"]}
    assert list(rows) == ["swa", "sa", "sa+swa", "random regular"]
    measured = small_world.measure(512, 16, 256, np.random.default_rng(3))
    assert rows["sa+swa"]["clustering"] == measured["clustering"]
    assert rows["sa+swa"]["mean path"] == measured["mean path"]
    assert rows["sa+swa"]["sigma"] == measured["sigma, random regular"]
    assert rows["random regular"]["sigma"] == pytest.approx(1)
    lattice = small_world.ring_lattice(512, 16)
    assert rows["swa"]["clustering"] == pytest.approx(small_world.clustering(lattice))
    assert rows["swa"]["mean path"] == pytest.approx(small_world.mean_path(lattice))
    assert rows["sa"] == rows["swa"] | {"graph": "sa"}
    assert found["sigma of sa+swa"] == {name: measured[f"sigma, {name}"] for name in ("random regular", "G(n, m)", "ln n / ln k")}
    assert found["connectome"]["mean path"] == 4.4


def test_the_small_world_table_names_its_references():
    text = run("small-world", "--n", 512, "--degree", 16).stdout
    for words in ("sa+swa", "random regular", "G(n, m)", "ln n / ln k", "fly connectome", "Lin et al. 2024", "n = 512, degree 16, seed 0"):
        assert words in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["receptive-field", "--n", "1"], "--n must be in 2..1048576, got 1"),
        (["receptive-field", "--window", "0"], "--window must be in 1..1024, got 0"),
        (["receptive-field", "--n", "8", "--window", "9"], "--window must be at most --n, 8, got 9"),
        (["receptive-field", "--layers", "0"], "--layers must be in 1..4096, got 0"),
        (["receptive-field", "--seed", "-1"], "--seed must be in 0.."),
        (["receptive-field", "--routing", "sa+swa", "--window", "1"], "window must be at least 2 for sa+swa"),
        (["small-world", "--n", "63"], "--n must be in 64..131072, got 63"),
        (["small-world", "--degree", "260"], "--degree must be in 4..256, got 260"),
        (["small-world", "--degree", "30"], "--degree must be a multiple of 4 and at most a quarter of --n, 10240, got 30"),
        (["small-world", "--n", "64", "--degree", "20"], "--degree must be a multiple of 4 and at most a quarter of --n, 64, got 20"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(args, message):
    result = run(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_an_unknown_routing_is_one_line_and_exit_2():
    result = run("receptive-field", "--routing", "full")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert "'sa', 'swa', 'sa+swa'" in result.stderr


@pytest.mark.parametrize("command", [[], ["receptive-field"], ["small-world"]])
def test_help_opens_with_examples(command):
    short, long = run(*command, "-h"), run(*command, "--help")
    assert short.exit_code == long.exit_code == 0
    assert short.stdout == long.stdout
    assert f"theory simulate {' '.join(command or ['receptive-field'])}" in short.stdout


def test_tables_fit_80_columns():
    for args in (["receptive-field", "--n", 4096], ["small-world", "--n", 512, "--degree", 16]):
        lines = run(*args, COLUMNS="80").stdout.splitlines()
        assert max(map(len, lines)) <= 80


def test_help_imports_no_numerical_package():
    code = (
        "import sys\nfrom attnprobe.cli.theory import app\n"
        "try:\n    app(['simulate', 'receptive-field', '-h'])\nexcept SystemExit as end:\n    assert not end.code\n"
        "print([m for m in ('numpy', 'scipy', 'sympy', 'networkx', 'torch') if m in sys.modules])"
    )
    last = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    assert last == "[]"

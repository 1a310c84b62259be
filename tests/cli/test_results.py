"""`probe results`: what is stored, never mixed."""

import io
import json
import sys
from dataclasses import replace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from attnprobe.cli import listing_tables
from attnprobe.cli.probe import app
from attnprobe.probes.tasks.ladder import Ladder
from attnprobe.probes.tasks.recall import Recall

TASK = Ladder(r=5)


def invoke(*arguments, **environment):
    return CliRunner().invoke(app, ["results", *arguments], env={"COLUMNS": "120", **environment})


@pytest.fixture
def store(tmp_path, fill, fill_older):
    """Three seeds of today, two of other code, one arm at a width, and another task."""
    root = tmp_path / "results"
    fill_older(root, TASK, "fpa@4", {0: 0.01, 7: 0.5})
    fill(root, TASK, "fpa@4", {0: 0.01, 1: 0.5, 3: None}, date="2026-12-01T00:00:00+00:00")
    fill(root, TASK, "rope@7", {0: 0.2})
    fill(root, Recall(), "softmax@64", {0: 0.4})
    return root


def test_results_of_other_code_have_a_row_of_their_own(store):
    done = invoke("ladder", "--store", str(store))
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(" fpa")]
    assert ["fpa", "4", "0:2,", "3:4", "1/3", "(1", "failed)", "current", "2026-12-01"] in lines
    assert ["fpa", "4", "0:1,", "7:8", "1/2", "older;", "other", "code", "2026-11-30"] in lines
    assert "recall" not in done.stdout
    assert "4 current, 2 older" in " ".join(done.stdout.split())  # a long path folds the line
    assert "never mixed" in done.stdout


def test_json_says_what_the_table_says(store):
    made = json.loads(invoke("--store", str(store), "--json").stdout)
    assert made["schema"] == 1
    assert made["counts"] == {"current": 5, "older": 2, "newer": 0, "unknown": 0, "damaged": 0}
    ladder = next(group for group in made["groups"] if group["task"] == "ladder")
    rows = {(row["arm"], row["state"]): row for row in ladder["arms"]}
    assert rows["fpa", "current"]["seeds"] == [0, 1, 3]
    assert rows["fpa", "current"]["failed"] == [3]
    assert rows["fpa", "older"]["why"] == ["other code"]
    assert rows["rope", "current"]["head_dim"] == 7
    assert made["bytes"] == sum(path.stat().st_size for path in store.rglob("*.json"))


def test_other_recipes_and_options_stand_apart(store, fill):
    fill(store, TASK, "fpa@4", {0: 0.01}, recipe=replace(TASK.recipe, steps=9))
    fill(store, Ladder(r=6), "fpa@4", {0: 0.01})
    made = json.loads(invoke("ladder", "--store", str(store), "--json").stdout)
    assert [(group["options"]["r"], group["recipe"]["steps"]) for group in made["groups"]].count((5, 9)) == 1
    assert len(made["groups"]) == 3


def test_what_is_no_result_is_named(store):
    path = next(store.glob("ladder/fpa@4/*.json"))
    path.write_text("{}")
    path.with_suffix(".corrupt1").write_text("x")
    done = invoke("--store", str(store))
    assert f"{path}: damaged" in done.stdout.replace("\n", "")
    assert "probe gc" in done.stdout


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_fits_its_width(store, width):
    from attnprobe.cli import listing
    from attnprobe.probes.holdings import holdings, leftovers

    out = Console(width=width, file=io.StringIO(), color_system=None)
    for item in listing_tables.pages(listing.build(store, holdings(store), leftovers(store))):
        out.print(item)
    assert max(map(len, out.file.getvalue().splitlines())) <= width


@pytest.mark.parametrize(
    ("asked", "says"),
    [(["laddr"], "did you mean 'ladder'?"), (["--store", "/nowhere/at/all"], "there is no store at /nowhere/at/all")],
)
def test_bad_input_is_one_line_and_exit_2(store, asked, says):
    done = invoke(*asked) if "--store" in asked else invoke(*asked, "--store", str(store))
    assert done.exit_code == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_empty_store_says_so(tmp_path):
    done = invoke("--store", str(tmp_path))
    assert done.exit_code == 0
    assert f"{tmp_path} holds no result" in done.stdout.replace("\n", "")


def test_listing_a_store_loads_no_torch(store):
    import subprocess

    script = (
        "import sys; from attnprobe.cli.probe import app\ntry: app(sys.argv[1:])\nexcept SystemExit: pass\nprint('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, "results", "--store", str(store)], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")

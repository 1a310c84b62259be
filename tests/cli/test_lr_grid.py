"""`--lr-grid` on the command line: its bounds, its table, and every point in what is exported."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from attnprobe.cli import lr_grid
from attnprobe.cli.probe import app

TINY = ["--steps", "2", "--batch", "2", "--seeds", "100:102", "--workers", "1", "--quiet", "--no-control"]
GRID = ["--lr-grid", "0.03,0.003", "--select-seeds", "1000:1003"]


def invoke(*arguments, columns=200):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(columns)})


@pytest.fixture(scope="module")
def ladder(tmp_path_factory):
    store = str(tmp_path_factory.mktemp("results"))
    return ["run", "ladder", "--r", "4", "--arm", "fpa", "--arm", "rope", *TINY, *GRID, "--store", store]


def test_the_rates_are_read_in_order_and_the_seeds_have_a_default():
    assert lr_grid.read("0.03,.003", None, range(15)) == ((0.003, 0.03), tuple(range(1000, 1005)))
    assert lr_grid.read(None, None, range(15)) is None


@pytest.mark.parametrize(
    ("rates", "selection", "says"),
    [
        ("0.01", None, "2 to 12 different"),
        ("0.01,0.01", None, "2 to 12 different"),
        ("0.01,-1", None, "positive"),
        ("0.01,nan", None, "positive"),
        ("0.01,x", None, "takes float"),
        ("0.01,0.02", "14:16", "share no seed"),
        ("0.01,0.02", "x", "--select-seeds takes"),
        (None, "1000:1005", "there is none"),
    ],
)
def test_bad_grids_are_refused(rates, selection, says):
    with pytest.raises(ValueError, match=says):
        lr_grid.read(rates, selection, range(15))


def test_an_overlap_a_rate_beside_the_grid_and_a_dry_run_are_exit_2(ladder):
    bad = (
        (["--seeds", "1002:1004"], "share no seed"),
        (["--lr", "0.5"], "leave out --lr\n"),
        (["--dry-run"], "leave out --dry-run\n"),
        (["--lr", "0.5", "--dry-run"], "leave out --lr and --dry-run\n"),
        (["--lr-grid", "0.1,x", "--dry-run"], "--lr-grid takes float"),
    )
    for extra, says in bad:
        done = invoke(*ladder, *extra)
        assert done.exit_code == 2
        assert says in done.stderr
    matrix = invoke("matrix", "--tasks", "ladder", "--lr-grid", "0.1,x", "--dry-run")
    assert (matrix.exit_code, "--lr-grid takes float" in matrix.stderr) == (2, True)


def test_the_table_shows_the_chosen_rate_and_json_every_point(ladder):
    text = invoke(*ladder).stdout
    assert "selection seeds 1000:1003 alone" in text
    made = json.loads(invoke(*ladder, "--json").stdout)
    assert made["config"]["recipe"]["lr"] is None
    assert made["lr_grid"]["rates"] == [0.003, 0.03]
    points = made["lr_grid"]["points"]
    assert [(point["arm"], point["lr"]) for point in points] == [(a, lr) for a in ("fpa@4", "rope@4") for lr in (0.003, 0.03)]
    assert all([seed["seed"] for seed in point["seeds"]] == [1000, 1001, 1002] for point in points)
    for row in made["arms"]:
        own = [point for point in points if point["arm"] == row["arm"]]
        (chosen,) = (point for point in own if point["chosen"])
        assert row["lr"] == chosen["lr"]
        assert chosen["median"] == min(point["median"] for point in own)  # none is solved in two steps
        assert [seed["seed"] for seed in row["seeds"]] == [100, 101]
        assert f"{row['lr']:g}" in text


def test_csv_holds_the_reported_arms_and_every_point(ladder):
    rows = list(csv.DictReader(io.StringIO(invoke(*ladder, "--csv").stdout)))
    assert [row["stage"] for row in rows[:2]] == ["reported", "reported"]
    assert sorted(row["stage"] for row in rows[2:]) == ["selection", "selection", "selection, chosen", "selection, chosen"]
    chosen = {row["arm"]: row["lr"] for row in rows if row["stage"] == "selection, chosen"}
    assert {row["arm"]: row["lr"] for row in rows[:2]} == chosen
    assert all(row["median"] and row["metric"] == "kl" for row in rows)


def test_without_a_grid_nothing_is_said_of_rates(ladder):
    plain = ["run", "ladder", "--r", "4", "--arm", "fpa", *TINY, "--store", ladder[-1]]
    assert "lr" not in json.loads(invoke(*plain, "--json").stdout)["arms"][0]
    assert "lr" not in invoke(*plain, "--csv").stdout.splitlines()[0].split(",")

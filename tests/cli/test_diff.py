"""`probe diff`: what changed between two sides, paired by seed."""

import io
import json
import re
import sys

import pytest
from rich.console import Console
from typer.testing import CliRunner

from attnprobe.cli import difference_tables
from attnprobe.cli.differences import compare, two_sided
from attnprobe.cli.probe import app
from attnprobe.cli.sides import read
from attnprobe.probes import store as store_module
from attnprobe.probes.tasks.ladder import Ladder

TASK = Ladder(r=6)
SOLVED, NOT = 0.01, 0.5


def invoke(*arguments, **environment):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120", **environment})


@pytest.fixture
def stores(tmp_path, fill):
    """Two stores: fpa loses five seeds, rope gains one and fails one, fox stays, alibi stands in the first alone."""
    a, b = tmp_path / "a", tmp_path / "b"
    fill(a, TASK, "fpa@4", dict.fromkeys(range(8), SOLVED))
    fill(b, TASK, "fpa@4", dict.fromkeys(range(5), NOT) | dict.fromkeys(range(5, 9), SOLVED))
    fill(a, TASK, "rope@4", {0: NOT, 1: NOT, 2: SOLVED})
    fill(b, TASK, "rope@4", {0: SOLVED, 1: NOT, 2: None})
    fill(a, TASK, "fox@4", {0: NOT, 1: SOLVED})
    fill(b, TASK, "fox@4", {0: NOT, 1: SOLVED})
    fill(a, TASK, "alibi@4", {0: NOT})
    return str(a), str(b)


def difference(*asked):
    made = json.loads(invoke("diff", *asked, "--json").stdout)
    return made, {row["arm"]: row for row in made["arms"]}


def test_the_seeds_that_one_side_alone_solves_are_named_with_an_exact_p(stores):
    """fpa: five lost, none gained: two-sided 2 / 2^5 = 1/16; rope: one gained, 2 / 2 = 1; Holm over three arms: 3/16."""
    made, rows = difference(*stores)
    assert (rows["fpa"]["lost"], rows["fpa"]["gained"], rows["fpa"]["n"], rows["fpa"]["solved"]) == ([0, 1, 2, 3, 4], [], 8, [8, 3])
    assert (rows["fpa"]["p"], rows["fpa"]["p_holm"]) == (1 / 16, 3 / 16)
    assert (rows["rope"]["lost"], rows["rope"]["gained"], rows["rope"]["p"]) == ([], [0], 1.0)
    assert rows["rope"]["failed"] == [[], [2]]
    assert [rows[name]["changed"] for name in ("fpa", "rope", "fox")] == [True, True, False]
    assert made["changed"] == 2


def test_what_is_on_one_side_alone_is_named(stores):
    made, _ = difference(*stores)
    assert [(one["arm"], one["seeds"]) for one in made["only"][0]] == [("alibi", [0])]
    assert [(one["arm"], one["seeds"]) for one in made["only"][1]] == [("fpa", [8])]
    text = invoke("diff", *stores).stdout
    assert "only in A: ladder --r 6, alibi@4, seeds 0:1" in text
    assert "only in B: ladder --r 6, fpa@4, seeds 8:9" in text


def test_exit_codes_say_whether_a_verdict_changed(stores):
    assert invoke("diff", *stores).exit_code == 1
    done = invoke("diff", stores[0], stores[0])
    assert done.exit_code == 0
    assert "4 arms on both sides, 0 changed" in done.stdout


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_an_export_stands_for_its_store(stores, tmp_path, form):
    out = tmp_path / f"a.{form}"
    assert invoke("export", f"--{form}", "--out", str(out), "--store", stores[0]).exit_code == 0
    assert read(out) == sorted(read(stores[0]), key=lambda row: (row["arm"], row["head_dim"], row["seed"]))
    assert difference(str(out), stores[1])[0]["arms"] == difference(*stores)[0]["arms"]
    assert invoke("diff", str(out), stores[0]).exit_code == 0


def test_one_store_s_older_results_are_held_against_today_s(tmp_path, fill, monkeypatch):
    root = tmp_path / "results"
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "digest", lambda *modules: "1" * 64)
        patch.setattr(Ladder, "version", 0)
        fill(root, TASK, "fpa@4", {0: SOLVED, 1: SOLVED})
    fill(root, TASK, "fpa@4", {0: SOLVED, 1: NOT})
    rows = difference(str(root))[1]
    assert (rows["fpa"]["lost"], rows["fpa"]["task_version"]) == ([1], [[0], [1]])
    assert rows["fpa"]["code"][0] == ["1" * 64]
    text = invoke("diff", str(root)).stdout
    assert "ladder: task version 0 in A, 1 in B" in text
    assert "other code in 1 of 1 arms" in text
    assert invoke("diff", str(root), str(root)).exit_code == 0
    assert "A has 2 more results" in invoke("diff", str(root), str(root)).stdout


def test_today_s_result_counts_before_a_later_one_of_other_code(tmp_path, fill, monkeypatch):
    root, other = tmp_path / "results", tmp_path / "other"
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "digest", lambda *modules: "1" * 64)
        fill(root, TASK, "fpa@4", {0: NOT}, date="2027-01-01T00:00:00+00:00")
    for place in (root, other):
        fill(place, TASK, "fpa@4", {0: SOLVED})
    assert invoke("diff", str(root), str(other)).exit_code == 0


def test_a_seed_that_fails_on_one_side_alone_is_a_change_and_no_pair(tmp_path, fill):
    a, b = (str(tmp_path / name) for name in "ab")
    fill(a, TASK, "fpa@4", {0: SOLVED, 1: NOT})
    fill(b, TASK, "fpa@4", {0: None, 1: NOT})
    made, rows = difference(a, b)
    assert (rows["fpa"]["failed"], rows["fpa"]["lost"], rows["fpa"]["p"], made["changed"]) == ([[], [0]], [], 1.0, 1)
    assert invoke("diff", a, b).exit_code == 1


def test_a_change_in_what_theory_says_is_a_change(stores, tmp_path):
    out = tmp_path / "then.json"
    invoke("export", "--json", "--out", str(out), "--store", stores[0])
    out.write_text(out.read_text().replace("can (T1)", "no theorem"))
    done = invoke("diff", str(out), stores[0])
    assert done.exit_code == 1
    assert "ladder --r 6, fpa@4: theory said no theorem, says can (T1)" in done.stdout


def test_sizes_stand_by_their_value_and_options_in_the_task_s_order(tmp_path, fill):
    """r = 10 before r = 6 is the order of their text; an export keeps its options in the order of their names."""
    store, out = str(tmp_path / "store"), tmp_path / "a.csv"
    for r in (10, 6):
        fill(store, Ladder(r=r), "fpa@4", {0: SOLVED})
    assert invoke("export", "--csv", "--out", str(out), "--store", store).exit_code == 0
    for asked in (["diff", str(out), store], ["export", "--latex", "--store", store], ["results", "--store", store]):
        text = invoke(*asked).stdout.replace("{-}", "-").replace("-{}", "-")
        assert re.findall(r"ladder -+r (\d+) -+slot balanced", text) == ["6", "10"], asked


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_their_width(stores, width):
    out = Console(width=width, file=io.StringIO(), color_system=None)
    for item in difference_tables.pages(compare(*map(read, stores)), stores):
        out.print(item)
    assert max(map(len, out.file.getvalue().splitlines())) <= width
    assert "0:5" in out.file.getvalue()


def test_two_sided_p_is_the_count_over_all_outcomes():
    """Of 2^n coin tosses, those at least as lopsided as the one seen, whichever way."""
    from itertools import product

    for n in range(1, 9):
        for lost in range(n + 1):
            gap = abs(n - 2 * lost)
            tosses = [abs(n - 2 * sum(toss)) >= gap for toss in product((0, 1), repeat=n)]
            assert two_sided(lost, n - lost) == sum(tosses) / len(tosses)


BAD = {
    "nothing there": (["/nowhere/x"], "there is no /nowhere/x"),
    "another kind of file": (["{tmp}/x.txt"], "a .csv, .json or .parquet file"),
    "not JSON": (["{tmp}/x.json"], "is no export of seeds"),
    "rows of arms": (["{tmp}/arms.json"], "export --rows seeds"),
    "a CSV of something else": (["{tmp}/x.csv"], "it has no column `seed`"),
    "a number where a text is wanted": (["{tmp}/typed.json"], "a row's arm is 3"),
    "another schema": (["{tmp}/schema.json"], "schema 99, not 1"),
    "not Parquet": (["{tmp}/x.parquet"], "is no export of seeds"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_line_and_exit_2(stores, tmp_path, what):
    for name in ("x.txt", "x.json", "x.parquet"):
        (tmp_path / name).write_text("nonsense")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    invoke("export", "--json", "--rows", "arms", "--out", str(tmp_path / "arms.json"), "--store", stores[0])
    seeds = json.loads(invoke("export", "--json", "--store", stores[0]).stdout)
    for name, change in {"typed": {"arm": 3}, "schema": {"schema": 99}}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(seeds | {"data": [seeds["data"][0] | change]}))
    asked, says = BAD[what]
    done = invoke("diff", *(text.replace("{tmp}", str(tmp_path)) for text in asked), stores[1])
    assert done.exit_code == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_nothing_in_common_says_what_keeps_the_sides_apart(tmp_path, fill):
    from dataclasses import replace

    a, b, c = (str(tmp_path / name) for name in "abc")
    fill(a, TASK, "fpa@4", {0: SOLVED})
    fill(b, TASK, "fpa@4", {0: SOLVED}, recipe=replace(TASK.recipe, steps=9))
    fill(c, TASK, "fpa@4", {1: SOLVED})
    assert "ladder, fpa@4 is on both, with another recipe" in invoke("diff", a, b).stderr
    assert "ladder, fpa@4 is on both, on other seeds" in invoke("diff", a, c).stderr
    assert invoke("diff", a, c).exit_code == 2
    assert "holds no older results" in invoke("diff", a).stderr


def test_without_pyarrow_parquet_is_refused_in_one_line(stores, tmp_path, monkeypatch):
    (tmp_path / "x.parquet").write_text("x")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = invoke("diff", str(tmp_path / "x.parquet"), stores[0])
    assert done.exit_code == 2
    assert "needs pyarrow" in done.stderr


def test_at_80_columns_no_heading_folds_and_each_is_explained(stores):
    text = invoke("diff", *stores, COLUMNS="80").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert re.search(r"^ arm +d +A +B +only A +only B +p +Holm p", text, re.M)
    assert "only A, only B: the seeds that one side alone" in " ".join(text.split())

"""`probe export`: every format gives back what is stored, and old results stay apart."""

import csv
import io
import json
import re
import shlex
import sys

import pytest
from typer.testing import CliRunner

from attnprobe.cli import row_formats
from attnprobe.cli.probe import app
from attnprobe.cli.row_schema import ARMS, SEEDS
from attnprobe.probes.tasks.ladder import Ladder
from attnprobe.probes.tasks.mqar import Mqar
from attnprobe.probes.tasks.recall import Recall

TASK = Ladder(r=6)


def invoke(*arguments, **environment):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", **environment})


@pytest.fixture
def store(tmp_path, fill, fill_older):
    root = tmp_path / "results"
    fill_older(root, TASK, "fpa@4", {7: 0.5})
    fill(root, TASK, "fpa@4", {0: 0.01, 1: 0.02, 2: None}, entropy=0.125)
    fill(root, TASK, "rope@4", {0: 0.5, 1: 0.02, 2: 0.3})
    fill(root, TASK, "rope@8", {0: 0.001})
    fill(root, TASK, "fir(taps=3,sigma=1.5)+fox@4", {0: 0.3})
    fill(root, Recall(), "softmax@64", {100: 0.4, 101: 0.41})
    return root


def export(store, *asked):
    done = invoke("export", *asked, "--store", str(store))
    assert done.exit_code == 0, done.output
    return done


def test_csv_and_json_hold_the_same_rows(store):
    table = list(csv.DictReader(io.StringIO(export(store, "--csv").stdout)))
    made = json.loads(export(store, "--json").stdout)
    assert len(table) == len(made["data"]) == 10
    assert list(table[0]) == list(made["data"][0]) == list(made["columns"])
    assert list(table[0])[: len(SEEDS)] == list(SEEDS)
    assert {name for name in table[0] if name not in SEEDS} == {"score:kl", "score:realised", "score:entropy", "score:present"}
    for text, row in zip(table, made["data"], strict=True):
        for name, value in row.items():
            if value is None:
                assert text[name] == ""
            elif isinstance(value, dict):
                assert json.loads(text[name]) == value
            else:
                assert type(value)(text[name]) == value


def test_a_row_says_what_was_stored_and_what_theory_says(store):
    rows = {(row["arm"], row["head_dim"], row["seed"]): row for row in json.loads(export(store, "--json", "ladder").stdout)["data"]}
    fpa = rows["fpa", 4, 0]
    assert (fpa["status"], fpa["value"], fpa["threshold"], fpa["better"], fpa["score:entropy"]) == ("solved", 0.01, 0.1, "low", 0.125)
    assert (fpa["realised"], fpa["ceiling"], fpa["theory"], fpa["claim"]) == (16, 32, "can (T1)", "T1")
    assert fpa["options"] == {"r": 6, "slot": "balanced", "evaluate": "auto"}
    failed = rows["fpa", 4, 2]
    assert (failed["status"], failed["value"], failed["failure"]) == ("failed", None, "loss at step 7")
    assert rows["rope", 4, 0]["theory"] == "all sets need d >= 5 (T5)"
    assert rows["fir(taps=3,sigma=1.5)+fox", 4, 0]["ceiling"] is None


def test_results_of_other_code_are_left_out_unless_asked_for_and_then_marked(store):
    done = export(store, "--csv")
    assert "note: 1 of 11 results are not of today's code" in done.stderr
    assert "older" not in done.stdout
    rows = list(csv.DictReader(io.StringIO(export(store, "--csv", "--older").stdout)))
    (old,) = [row for row in rows if row["state"] != "current"]
    assert (old["state"], old["why"], old["seed"], old["theory"], old["threshold"]) == ("older", "other code", "7", "", "")


def test_parquet_gives_back_the_rows_with_their_types(store, tmp_path):
    import pyarrow.parquet as pq

    out = tmp_path / "rows.parquet"
    assert export(store, "--parquet", "--out", str(out)).stdout == ""
    table = pq.read_table(out)
    rows = json.loads(export(store, "--json").stdout)["data"]
    assert table.schema.metadata[b"attnprobe.schema"] == b"1"
    assert str(table.schema.field("score:kl").type) == "double"
    assert str(table.schema.field("seed").type) == "int64"
    back = [row | {name: json.loads(row[name]) for name in ("options", "recipe", "versions")} for row in table.to_pylist()]
    assert back == rows


def test_without_pyarrow_a_line_says_how_to_get_it(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = invoke("export", "--parquet", "--out", str(tmp_path / "x.parquet"), "--store", str(store))
    assert done.exit_code == 2
    assert (
        done.stderr.splitlines()[-1]
        == "error: --parquet needs pyarrow: pip install 'attnprobe[parquet]'; --csv and --json need nothing more"
    )
    assert not (tmp_path / "x.parquet").exists()


def test_rows_of_arms_are_those_of_a_run(store):
    rows = {row["arm"]: row for row in json.loads(export(store, "--json", "--rows", "arms", "ladder").stdout)["data"]}
    assert list(rows["fpa@4"]) == list(ARMS)
    assert (rows["fpa@4"]["solved"], rows["fpa@4"]["n"], rows["fpa@4"]["failed"], rows["fpa@4"]["p"]) == (2, 3, 1, None)
    assert (rows["rope@4"]["p"], rows["rope@4"]["p_holm"], rows["rope@4"]["reference"]) == (0.5, 1.0, "fpa@4")
    assert (rows["rope@8"]["control"], rows["rope@8"]["p"]) == (True, None)


@pytest.mark.parametrize("name", ["ladder", "recall", "mqar"])
def test_a_row_s_command_is_that_of_the_stored_seeds(store, fill, name):
    from dataclasses import replace

    task = Mqar(stacked=True) if name == "mqar" else {"ladder": Ladder(r=7, slot="plain"), "recall": Recall()}[name]
    fill(store, task, f"{task.arms[0]}@5", {3: 0.01, 4: 0.01}, recipe=replace(task.recipe, steps=77, lr=0.0125))
    rows = json.loads(export(store, "--json", "--rows", "arms", name).stdout)["data"]
    assert any("--steps 77" in row["command"] for row in rows)
    for row in rows:
        program, *words = shlex.split(row["command"])
        done = invoke(*words, "--dry-run", "--store", str(store))
        assert program == "probe"
        assert done.exit_code == 0, done.output
        assert f"{row['n']} of {row['n']}" in done.stdout


def test_latex_prints_hostile_text_as_it_is():
    hostile = r"a_b & 50% $x$ #1 {~^} \end <p> --x |"
    made = row_formats.latex_text([(hostile, [hostile], ["arm"], ["left"], [[hostile]])])
    assert made.count(r"a\_b \& 50\% \$x\$ \#1 \{\textasciitilde{}\textasciicircum{}\} \textbackslash{}end") == 3
    assert made.count(r"\textless{}p\textgreater{} -{}-x \textbar{}") == 3
    body = made[made.index(r"\midrule") : made.index(r"\bottomrule")]
    assert len(re.findall(r"(?<!\\)&", body)) == 0


def test_latex_is_a_booktabs_table_with_as_many_cells_as_columns(store):
    made = export(store, "--latex", "ladder").stdout
    (columns,) = re.findall(r"\\begin\{tabular\}\{@\{\}([lr]+)@\{\}\}", made)
    body = made[made.index(r"\toprule") : made.index(r"\bottomrule")].replace("\\midrule", "")
    rows = [line for line in body.splitlines()[1:] if line]
    assert len(rows) == 5
    assert all(len(re.findall(r"(?<!\\)&", row)) == len(columns) - 1 for row in rows)
    assert "rope (control) & 8" in made
    assert row_formats.cell("3.1e-05") == r"$3.1\times 10^{-5}$"
    assert row_formats.cell("78-100%") == r"78\textendash{}100\%"


def test_markdown_escapes_what_would_be_markup():
    made = row_formats.markdown_text([("t|t", ["*no*"], ["a"], ["right"], [["x|y <b>"]])])
    assert made == "**t\\|t**\n\n| a |\n|---:|\n| x\\|y \\<b> |\n\n- \\*no\\*\n"


def test_a_seed_table_on_paper_has_a_row_a_seed(store):
    made = export(store, "--markdown", "--rows", "seeds", "recall").stdout
    assert "| recall | pairs=8 keys=32 values=4 | softmax | 64 | 100 | unsolved | present | 0.4 | 800 | current |" in made


BAD = {
    "no format": ([], "give one of --csv, --parquet, --json, --markdown, --latex, not none"),
    "two formats": (["--csv", "--json"], "not --csv and --json"),
    "parquet on a terminal": (["--parquet"], "add --out FILE"),
    "no such task": (["--csv", "recal"], "did you mean 'recall'?"),
    "older arms": (["--csv", "--rows", "arms", "--older"], "--rows seeds"),
    "no directory": (["--csv", "--out", "/nowhere/x.csv"], "there is no directory /nowhere"),
    "a directory": (["--csv", "--out", "/tmp"], "it is a directory"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_line_and_exit_2(store, what):
    asked, says = BAD[what]
    done = invoke("export", *asked, "--store", str(store))
    assert done.exit_code == 2
    assert says in done.stderr.splitlines()[-1]
    assert done.stdout == ""


def test_a_store_of_old_results_alone_has_nothing_to_export(tmp_path, fill_older):
    fill_older(tmp_path, TASK, "fpa@4", {7: 0.5})
    done = invoke("export", "--csv", "--store", str(tmp_path))
    assert done.exit_code == 2
    assert "holds nothing to export" in done.stderr


def test_the_schema_names_every_column():
    done = invoke("export", "--schema")
    assert done.exit_code == 0
    for name in (*SEEDS, *ARMS, "score:NAME"):
        assert re.search(rf"^ {re.escape(name)} ", done.stdout, re.M)


def test_a_written_file_is_readable_by_whom_the_umask_lets_read_and_leaves_nothing_beside_it(store, tmp_path):
    out = tmp_path / "out" / "rows.csv"
    out.parent.mkdir()
    export(store, "--csv", "--out", str(out))
    ordinary = tmp_path / "ordinary"
    ordinary.write_text("")
    assert out.stat().st_mode == ordinary.stat().st_mode
    assert list(out.parent.iterdir()) == [out]
    assert out.read_text() == export(store, "--csv").stdout


MINE = '''
from dataclasses import dataclass
from attnprobe.probes.mixers.parts import Bias
from attnprobe.probes.registry import register


@register("mine-here")
@dataclass(frozen=True)
class Mine(Bias):
    """None at all."""

    def parameters(self, dims):
        return {}

    def __call__(self, p, x, scores, draw):
        return scores * 0
'''


def test_a_mechanism_of_a_user_s_file_is_current_where_it_is_loaded_and_its_command_loads_it(tmp_path, fill):
    from attnprobe.probes.loading import forget, load

    file, root = tmp_path / "mine.py", str(tmp_path / "results")
    file.write_text(MINE)
    try:
        load(str(file))
        fill(root, TASK, "mine-here@4", {0: 0.5})
        (row,) = json.loads(export(root, "--json", "--rows", "arms", "--load", str(file)).stdout)["data"]
    finally:
        forget()
    assert row["command"] == f"probe run ladder --r 6 --load {file} --arm mine-here@4 --no-control --seeds 0:1"
    done = invoke("results", "--store", root)
    assert done.exit_code == 0
    assert "unknown" in done.stdout
    assert invoke("gc", "--older", "--remove", "--store", root).exit_code == 0
    assert len(list((tmp_path / "results").rglob("*.json"))) == 1

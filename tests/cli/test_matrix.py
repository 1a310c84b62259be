"""`probe matrix`: forms of a mechanism, cells, the heat table at every width, resumption and exit codes."""

import csv
import io
import json
import re

import pytest
from rich.console import Console
from typer.testing import CliRunner

from attnprobe.cli import matrix, matrix_tables
from attnprobe.cli.matrix_command import split
from attnprobe.cli.probe import app
from attnprobe.probes.model_spec import ModelSpec
from attnprobe.probes.named_mixers import NAMED, Named, form, named
from attnprobe.probes.run import ArmResult
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks import TASKS

TINY = ["--steps", "2", "--seeds", "100:102", "--workers", "1"]
ASKED = ["--tasks", "ladder,recall", "--mixers", "softmax,fpa,selective,pn_fir_tau"]


def invoke(*arguments, columns=200, **environment):
    return CliRunner().invoke(app, ["matrix", *arguments], env={"COLUMNS": str(columns), **environment})


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return ["--store", str(tmp_path_factory.mktemp("results"))]


def result(arm, solved, n=5, failed=0, realised=0.5):
    def record(seed):
        status = "failed" if seed < failed else "solved" if seed < failed + solved else "unsolved"
        score = {} if status == "failed" else {TASKS[task].metric: 0.4 for task in TASKS} | {"realised": realised}
        return {"result": {"status": status, "score": score}, "recorded": {"seconds": 0.5, "versions": {"attnprobe": "0"}}}

    return ArmResult(arm, {seed: record(seed) for seed in range(n)}, 0)


def made(tasks, names, solved, n=5, **more):
    """A matrix in which every cell solves `solved` of n."""
    mixers = tuple(named(name) for name in names)
    rows = [matrix.plan(TASKS[task](), mixers) for task in tasks]
    built = matrix.build(rows, [[result(arm, solved, n, **more) for arm in row.distinct] for row in rows], mixers, range(100, 100 + n))
    return matrix.with_rates(built, None, [])


def printed(built, width):
    out = Console(width=width, file=io.StringIO(), color_system=None)
    table, numbered = matrix_tables.heat_table(built, out)
    out.print(table)
    for line in matrix_tables.legend(built, numbered):
        out.print(line, markup=False)
    return out.file.getvalue()


def test_a_name_is_one_of_the_table_or_a_spec():
    assert named("pn_fir_tau").forms[0] == "pn_fir_tau"
    assert named("fir+rope").forms == ("fir+rope",)
    with pytest.raises(ValueError, match="unknown part 'fpaa'; did you mean 'fpa'"):
        named("fpaa")
    assert len({mixer.name for mixer in NAMED}) == len(NAMED) == 12
    assert split("sa(w=8,draw=fixed), rope") == ["sa(w=8,draw=fixed)", "rope"]


@pytest.mark.parametrize("text", [text for mixer in NAMED for text in mixer.forms])
def test_every_form_is_a_spec(text):
    assert parse(text).layers


@pytest.mark.parametrize(
    ("name", "task", "spec"),
    [
        ("selective", "ladder", "selective(maps=own)"),  # the published form is refused: an oracle's query
        ("selective", "two-walks", "selective(maps=own)"),
        ("selective", "duration", "selective(maps=own)"),  # among the task's own arms
        ("pn_fir_tau", "recall", "fir+power-tau"),
        ("pn_fir_tau", "decoys", "fir+power-tau(tau0=-3.0)"),
        ("softmax", "recall", "softmax"),
        ("fir+fpa+power-tau", "push-pop", "fir+fpa+power-tau"),
    ],
)
def test_a_mechanism_takes_the_form_of_the_task_s_own_arms_or_the_first_that_is_not_refused(name, task, spec):
    assert str(form(named(name), TASKS[task]())) == spec


@pytest.mark.parametrize("task", ["recall", "decoys"])
def test_a_mechanism_that_a_task_refuses_in_every_form_is_refused_with_the_reason(task):
    with pytest.raises(ValueError, match="selective makes no sense"):
        form(named("selective"), TASKS[task]())


class Deep:
    """A task of two layers, as `form` sees one."""

    layers, head_dim, arms = 2, 8, ("fpa",)

    def __init__(self, positions):
        self.model = ModelSpec(8, 8, "learned", "learned", "token", rows=8, layers=2, positions=positions)

    def check(self, spec, head_dim):
        spec.of_layers(self.layers)


@pytest.mark.parametrize(
    ("positions", "text", "spec"),
    [
        ("none", "softmax", "rope"),
        ("none", "pn_fir_tau", "fir+rope+power-tau"),
        ("none", "softmax/fpa", "rope/fpa"),
        ("none", "fpa", "fpa"),
        ("none", "alibi", "alibi"),
        ("none", "rope", "rope"),
        ("learned", "softmax", "softmax"),
        ("learned", "softmax/fpa", "softmax/fpa"),
    ],
)
def test_in_several_layers_without_positions_scores_alone_get_rotary_ones(positions, text, spec):
    assert str(form(named(text), Deep(positions))) == spec


def test_a_form_of_another_number_of_layers_gives_way_to_one_that_fits():
    assert str(form(Named("x", ("fpa/fpa/fpa", "rope/fpa"), ""), Deep("learned"))) == "rope/fpa"


def test_cells_count_solved_seeds_and_bear_theory_s_word():
    built = made(["ladder", "recall"], ["softmax", "fpa", "fir+fpa", "selective"], 3)
    cells = {(c["task"], c["mixer"]): c for c in built["cells"]}
    assert [(c["solved"], c["n"]) for c in built["cells"] if not c["refused"]] == [(3, 5)] * 7
    assert {place: c["theory"] for place, c in cells.items() if c["theory"]} == {
        ("ladder", "softmax"): "cannot",  # all sets need d >= r - 1
        ("ladder", "fpa"): "can",
        ("ladder", "selective"): "cannot",
        ("recall", "softmax"): "cannot",  # a ceiling of .442
    }
    assert "makes no sense" in cells["recall", "selective"]["refused"]
    assert cells["ladder", "fpa"]["interval"] == pytest.approx([0.1466, 0.9473], abs=1e-4)  # Clopper-Pearson of 3 of 5
    assert cells["ladder", "fpa"]["seconds"] == 2.5


@pytest.mark.parametrize("n", [5, 15])
@pytest.mark.parametrize("width", [80, 120, 200])
def test_twelve_mechanisms_and_every_task_fit_the_width(width, n):
    text = printed(made(list(TASKS), [mixer.name for mixer in NAMED], n, n), width)
    assert max(map(len, text.splitlines())) <= width
    row = next(line for line in text.splitlines() if line.startswith("ladder"))
    assert len(re.findall(r"\d+(?:/\d+)?[+-]?|·", row)) == 12
    if width >= 120:
        assert f"{n}/{n}" in row
        assert "softmax" in " ".join(text.splitlines()[:4])
    else:
        assert f"{n}+" in row
        assert "5 fpa, 6 fpa-sum" in text.replace("\n", " ")


def test_the_legend_explains_marks_dots_and_forms():
    text = printed(made(["ladder", "recall"], ["softmax", "fpa", "selective"], 3), 200)
    assert re.search(r"ladder +3/5- +3/5\+ +3/5-", text)
    assert re.search(r"recall +3/5- +3/5 +·", text)
    assert "+ theory: some head" in text
    assert "- theory: no head" in text
    assert "· selective on recall: selective makes no sense on the task" in text
    assert "selective: as selective(maps=own) on ladder" in text
    plain = printed(made(["push-pop"], ["softmax"], 3), 200)
    assert "theory" not in plain
    assert "·" not in plain


def test_colour_follows_the_share_and_is_not_needed():
    styles = [
        str(matrix_tables.shown({"refused": None, "solved": k, "n": 15, "failed": [], "theory": None}, False).style) for k in (0, 7, 14, 15)
    ]
    assert len(set(styles)) == 4
    out = Console(width=200, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    out.print(matrix_tables.heat_table(made(["push-pop"], ["softmax"], 3), out)[0])
    assert "\x1b[" in out.file.getvalue()
    assert "3/5" in re.sub(r"\x1b\[[0-9;]*m", "", out.file.getvalue())


def test_failed_seeds_are_marked_and_named():
    text = printed(made(["push-pop"], ["softmax"], 3, failed=1), 200)
    assert "3/5!" in text
    assert "! seeds failed: push-pop, softmax: 0" in text


def test_a_head_above_its_ceiling_contradicts_a_theorem():
    assert made(["ladder"], ["rope"], 0, realised=256 / 512)["contradictions"] == []
    (line,) = made(["ladder"], ["rope"], 0, realised=257 / 512)["contradictions"]
    assert "ladder, rope@4: seed 0 realises 257 sets" in line
    assert "at most 256" in line


def test_mechanisms_of_one_form_are_trained_once():
    row = matrix.plan(TASKS["recall"](), (named("softmax"), named("pn_fir_tau"), named("fir+power-tau")))
    assert len(row.arms) == 3
    assert len(row.distinct) == 2


def test_the_command_trains_prints_and_reuses_what_is_stored(store):
    first = invoke(*ASKED, *TINY, *store)
    assert first.exit_code == 0, first.output
    assert re.search(r"ladder +0/2- +0/2\+ +0/2- +0/2", first.stdout)
    assert re.search(r"recall +0/2- +0/2 +· +0/2", first.stdout)
    assert "ladder: 4 arms, 0 of 8 seeds stored" in first.stderr
    second = invoke(*ASKED, *TINY, *store)
    assert second.stdout == first.stdout
    assert "ladder: 4 arms, 8 of 8 seeds stored" in second.stderr
    assert "\x1b" not in first.stdout  # piped: no colours


def test_json_csv_and_markdown_hold_every_cell(store):
    asked = [*ASKED, *TINY, *store, "--quiet"]
    made = json.loads(invoke(*asked, "--json").stdout)
    assert len(made["cells"]) == 8
    assert (made["tasks"], made["seeds"], made["lr_grid"]) == (["ladder", "recall"], [100, 101], None)
    rows = list(csv.DictReader(io.StringIO(invoke(*asked, "--csv").stdout)))
    assert [row["solved"] for row in rows] == ["" if c["refused"] else str(c["solved"]) for c in made["cells"]]
    lines = invoke(*asked, "--markdown").stdout.splitlines()
    assert lines[0] == "| task | softmax | fpa | selective | pn_fir_tau |"
    assert lines[2] == "| ladder | 0/2- | 0/2+ | 0/2- | 0/2 |"


def test_a_grid_of_rates_is_searched_a_task_and_every_point_exported(store):
    asked = ["--tasks", "recall", "--mixers", "fir,softmax", *TINY, *store, "--quiet", "--lr-grid", "0.003,0.01", "--select-seeds", "7:9"]
    made = json.loads(invoke(*asked, "--json").stdout)
    assert len(made["lr_grid"]["points"]) == 4
    for cell in made["cells"]:
        (chosen,) = (p for p in made["lr_grid"]["points"] if p["mixer"] == cell["spec"] and p["chosen"])
        assert cell["lr"] == chosen["lr"]
    rows = list(csv.DictReader(io.StringIO(invoke(*asked, "--csv").stdout)))
    assert [row["stage"].split(",")[0] for row in rows] == ["reported"] * 2 + ["selection"] * 4
    assert "selection seeds 7:9 alone" in invoke(*asked).stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tasks", "laddr"], "did you mean 'ladder'"),
        (["--mixers", "fpaa"], "did you mean 'fpa'"),
        (["--seeds", "x"], "--seeds"),
        (["--workers", "0"], "--workers must be at least 1"),
        (["--json", "--csv"], "give one of them"),
        (["--tasks", "recall", "--mixers", "fir", "--steps", "2", "--lr-grid", "0.01,0.02", "--select-seeds", "0:2"], "share no seed"),
        (["--lr-grid", "0.01,0.02", "--dry-run"], "leave out --dry-run"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments, says, tmp_path):
    done = invoke(*arguments, "--store", str(tmp_path))
    assert done.exit_code == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_contradiction_ends_with_exit_1_and_a_failed_seed_with_exit_3(store, monkeypatch):
    from attnprobe.probes import run

    real = run.run_probe

    def changed(**result):
        def failing(*arguments, **named):
            results = real(*arguments, **named)
            results[0].records[100]["result"] |= result
            return results

        return failing

    asked = ["--tasks", "ladder", "--mixers", "softmax,fpa", *TINY, *store, "--quiet"]
    monkeypatch.setattr(run, "run_probe", changed(status="failed", score={}))
    failed = invoke(*asked)
    assert failed.exit_code == 3
    assert "0/2!" in failed.stdout
    monkeypatch.setattr(run, "run_probe", changed(score={"kl": 0.3, "realised": 1.0}))
    done = invoke(*asked)
    assert done.exit_code == 1
    assert "CONTRADICTION with a theorem: ladder, softmax@4: seed 100 realises 512 sets" in done.stderr


def test_a_dry_run_trains_nothing(tmp_path):
    done = invoke("--tasks", "recall", "--mixers", "fir,selective", *TINY, "--store", str(tmp_path), "--dry-run")
    assert done.exit_code == 0
    assert "recall: 1 arm, 0 of 2 seeds stored" in done.stdout
    assert not list(tmp_path.rglob("*.json"))

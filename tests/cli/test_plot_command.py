"""probe plot: what it reads, what it refuses and which command it names, and that it trains nothing but where it says so."""

import json
import re
import shlex
import sys

import pytest
from typer.testing import CliRunner

from attnprobe.cli.plots import maps, matrix, stored, style
from attnprobe.cli.probe import app
from attnprobe.probes.store import key
from attnprobe.probes.tasks.ladder import Ladder
from attnprobe.probes.train import Training

STEPS = ["--steps", "50"]
RUN = [*STEPS, "--seeds", "2", "--workers", "1", "--quiet", "--no-control"]


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A store of the ladder at r = 4 and 5."""
    root = tmp_path_factory.mktemp("store")
    for r in (4, 5):
        done = invoke("run", "ladder", "--r", r, *RUN, "--store", root)
        assert done.exit_code == 0, done.output
    return root


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A store of the ladder at r = 4: two arms on seeds 3:5, one of them of no name of the suite's, and one at another head dimension."""
    root = tmp_path_factory.mktemp("mixed")
    for arms in (["--arm", "nope", "--arm", "fir+fpa"], ["--arm", "fpa@6"]):
        done = invoke("run", "ladder", "--r", 4, *STEPS, "--seeds", "3:5", "--workers", 1, "-q", "--no-control", *arms, "--store", root)
        assert done.exit_code == 0, done.output
    return root


def found(root):
    """What a store holds of the ladder at any r, as FULL makes it."""
    return stored.find(root, stored.Asked(Ladder(), 4, {"steps": 50}, free="r"))


@pytest.fixture
def no_training(monkeypatch):
    """Fail where anything is trained."""

    def refuse(*arguments, **options):
        raise AssertionError("a figure must not train")

    monkeypatch.setattr(Training, "__init__", refuse)


KINDS = {
    "curves": ["curves", "ladder", "--r", "4", "--seeds", "2"],
    "ladder": ["ladder", "--seeds", "2"],
    "size": ["size", "ladder", "--seeds", "2"],
    "matrix": ["matrix", "--tasks", "ladder", "--mixers", "fpa,rope+swa", "--seeds", "2"],
}


@pytest.mark.parametrize("kind", ["curves", "ladder", "size"])
@pytest.mark.parametrize("form", ["png", "svg"])
def test_a_figure_of_what_is_stored_is_written_and_trains_nothing(kind, form, full, tmp_path, no_training):
    out = tmp_path / f"figure.{form}"
    done = invoke("plot", *KINDS[kind], *STEPS, "--store", full, "--out", out)
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == f"wrote {out}"
    assert out.read_bytes().startswith(b"\x89PNG" if form == "png" else b"<?xml")
    if form == "svg":
        text = " ".join(re.sub(r"<[^>]*>", " ", out.read_text()).split())  # a title may be folded
        assert "50 steps" in text, "training was cut, and the title does not say so"


@pytest.mark.parametrize("kind", ["curves", "ladder", "matrix"])
def test_where_nothing_is_stored_the_command_that_is_named_makes_it(kind, tmp_path):
    store, out = tmp_path / "results", tmp_path / "figure.svg"
    arguments = ["plot", *KINDS[kind], *STEPS, "--store", store, "--out", out]
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1
    assert not out.exists()
    assert not store.exists()
    named = re.search(r"probe ((?:run|matrix) .*?)(?: makes (?:it|them))?$", done.stderr.strip())[1]
    quick = [*shlex.split(named), "--quiet", "--workers", "1"]
    assert invoke(*quick).exit_code == 0
    assert invoke(*arguments).exit_code == 0
    assert out.exists()


def test_an_arm_that_is_not_stored_is_named_and_the_others_are_drawn(full, tmp_path):
    out = tmp_path / "curves.svg"
    done = invoke("plot", *KINDS["curves"], *STEPS, "--arm", "fpa", "--arm", "fir+fpa", "--store", full, "--out", out)
    assert done.exit_code == 0
    assert re.search(r"not drawn: fir\+fpa@4; probe run ladder .*--arm fpa --arm fir\+fpa .*--steps 50", done.stderr)
    assert ">fpa<" in out.read_text()
    assert ">fir+fpa<" not in out.read_text()


def test_without_arms_and_seeds_what_is_stored_is_drawn_and_the_rest_is_said(mixed, tmp_path, no_training):
    out = tmp_path / "figure.svg"
    done = invoke("plot", "curves", "ladder", "--r", 4, *STEPS, "--store", mixed, "--out", out)
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines() == [
        "drawn: nope, fir+fpa; seeds 3:5",
        "note: stored, and not drawn: 2 seeds with --head-dim 6",
    ]
    assert {">nope<", ">fir+fpa<"} <= set(re.findall(r">[\w+]+<", out.read_text()))
    done = invoke("plot", "ladder", *STEPS, "--head-dim", 6, "--store", mixed, "--out", out)
    assert done.stderr.splitlines() == [
        "drawn: fpa; seeds 3:5; r 4",
        "note: stored, and not drawn: 4 seeds with --head-dim 4",
    ]


def test_seeds_beside_those_asked_for_are_counted_with_the_other_sizes(full, tmp_path, no_training):
    """Of five arms on two seeds at r = 4 and 5, seed 0 at r = 4 is drawn: left out are 5 results of seed 1 and 10 of r = 5."""
    done = invoke("plot", "curves", "ladder", "--r", 4, *STEPS, "--seeds", "0:1", "--store", full, "--out", tmp_path / "a.svg")
    assert done.exit_code == 0, done.output
    (note,) = [line for line in done.stderr.splitlines() if line.startswith("note")]
    assert note == "note: stored, and not drawn: 10 seeds with --r 5, 5 seeds with --seeds 1:2"


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_that_is_not_there_is_said_to_be_none(kind, tmp_path, no_training):
    done = invoke("plot", *KINDS[kind], "--store", tmp_path / "absent", "--out", tmp_path / "a.svg")
    assert done.exit_code == 2
    assert f"there is no store at {tmp_path / 'absent'}; " in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_arms_and_seeds_that_are_named_are_drawn_without_a_word(full, tmp_path, no_training):
    done = invoke("plot", *KINDS["curves"], *STEPS, "--arm", "rope", "--store", full, "--out", tmp_path / "a.svg")
    assert (done.exit_code, done.stderr) == (0, "")


def test_where_another_size_is_stored_the_error_says_so(mixed, tmp_path, no_training):
    for figure in (["curves", "ladder", "--r", 5], ["size", "ladder"]):
        done = invoke("plot", *figure, "--steps", 60, "--store", mixed, "--out", tmp_path / "a.svg")
        assert done.exit_code == 2
        assert len(done.stderr.splitlines()) == 1
        assert re.search(r"4 seeds with (--r 4 )?--steps 50, 2 seeds with (--r 4 )?--steps 50 --head-dim 6", done.stderr)


def test_a_matrix_of_what_is_stored_has_its_mechanisms_named_or_not(tmp_path, fill, fill_older, no_training, monkeypatch):
    """Of the results at the ladder's own options, fpa is a mechanism with a name, nope is softmax by name, and fir+fpa has none."""
    rows, root = {}, tmp_path / "store"
    for arm, seeds in (("fpa", (0, 7)), ("nope", (0,)), ("fir+fpa", (0,))):
        fill(root, Ladder(), arm, dict.fromkeys(seeds, 0.01))
    fill_older(root, Ladder(), "fpa", {3: 0.01})
    monkeypatch.setattr(matrix, "draw", lambda data: rows.update(data=data) or style.figure(1, "x"))
    done = invoke("plot", "matrix", "--store", root, "--out", tmp_path / "a.svg")
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines() == [
        "drawn: softmax, fpa, fir+fpa on ladder; seeds 0:1, 7:8",
        f"note: 1 file is not of today's code (1 older), and passed over; probe results --store {root} shows it",
    ]
    assert (rows["data"].tasks, rows["data"].mixers, rows["data"].seeds) == (("ladder",), ("softmax", "fpa", "fir+fpa"), 2)
    assert [cell.text for cell in rows["data"].cells[0]] == ["1/1", "2", "1/1"]


def test_runs_of_another_recipe_are_not_mixed_in(full, tmp_path):
    done = invoke("plot", *KINDS["curves"], "--steps", "100", "--store", full, "--out", tmp_path / "a.svg")
    assert done.exit_code == 2
    assert "--steps 100" in done.stderr


def test_what_other_code_stored_or_is_damaged_is_passed_over(full, tmp_path):
    import shutil

    copy = tmp_path / "store"
    shutil.copytree(full, copy)
    whole = found(copy)
    assert (len(whole.held), whole.passed) == (20, {})
    first, second, third, *_ = sorted(copy.glob("ladder/*/*.json"))
    first.write_text(first.read_text()[:-40])
    second.write_text(second.read_text().replace('"status": "', '"status": "un', 1))
    held = json.loads(third.read_text())
    held["identity"]["code"] = "of old"
    held["key"] = key(held["identity"])
    older = third.rename(third.with_name(f"{held['key'][:16]}.json"))
    older.write_text(json.dumps(held))
    left = found(copy)
    assert (len(left.held), left.passed) == (17, {"damaged": 2, "older": 1})
    assert {held.path for held in left.held} == {held.path for held in whole.held} - {first, second, third}
    done = invoke("plot", *KINDS["ladder"], *STEPS, "--store", copy, "--out", tmp_path / "a.svg")
    assert done.exit_code == 0
    assert re.search(r"3 files are not of today's code \(.*2 damaged.*\), and passed over; probe results --store", done.stderr)
    assert all(path.exists() for path in (first, second, older))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ladder", "--out", "a.pdf"], "a .png or a .svg"),
        (["ladder", "--out", "nowhere/a.png"], "no directory nowhere"),
        (["ladder", "--slot", "odd"], "balanced or plain"),
        (["ladder", "--arm", "fpa@8"], "give it by --head-dim"),
        (["ladder", "--arm", "ropee"], "did you mean 'rope'"),
        (["curves", "laddr"], "did you mean 'ladder'"),
        (["size", "ladder", "--by", "rr"], "did you mean 'r'"),
        (["matrix", "--tasks", "lader"], "did you mean 'ladder'"),
        (["field", "latch", "--from", "absent.json"], "absent.json"),
        (["walk", "--word", "012"], "takes 7 digits"),
        (["walk", "--seed", "-1"], "--seed must be 0 or more"),
        (["walk", "duration"], "probe plot walk draws the walk of ladder alone, not of duration; probe show duration draws an example"),
        (["walk", "laddr"], "unknown task 'laddr'; did you mean 'ladder'"),
        (["walk", "--arm", "swa"], "hides keys"),
    ],
    ids=str,
)
def test_bad_input_is_one_line_and_exit_2_before_anything_is_trained(arguments, said, tmp_path, monkeypatch, no_training):
    monkeypatch.chdir(tmp_path)
    done = invoke("plot", *arguments)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_one_line_says_what_to_install(full, tmp_path, monkeypatch, no_training):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = invoke("plot", "walk", "--store", full, "--out", tmp_path / "a.png")
    assert done.exit_code == 2
    assert "pip install 'attnprobe[plot]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_field_is_drawn_from_what_probe_field_printed(tmp_path, no_training):
    layers = [{"layer": 1, "measured": 0.5, "simulated": None, "recursion": 0.4}]
    arm = {"mixer": "rope", "seeds": [{"seed": 0, "shares": [0.5]}], "layers": layers}
    held = tmp_path / "field.json"
    held.write_text(json.dumps({"task": "latch", "config": {"trained": True, "steps": 5, "seeds": [0]}, "arms": [arm]}))
    out = tmp_path / "field.svg"
    assert invoke("plot", "field", "latch", "--from", held, "--out", out).exit_code == 0
    assert "latch, after 5 steps, 1 seed an arm" in out.read_text()
    wrong = invoke("plot", "field", "topic", "--from", held, "--out", out)
    assert wrong.exit_code == 2
    assert "probe plot field latch" in wrong.stderr


def test_a_walk_trains_a_seed_once_says_so_and_keeps_its_map(tmp_path, monkeypatch):
    store, out = tmp_path / "results", tmp_path / "walk.svg"
    arguments = ["plot", "walk", "--r", "4", *STEPS, "--arm", "fpa", "--store", store, "--out", out]
    first = invoke(*arguments)
    assert first.exit_code == 0, first.output
    assert "fpa@4: no map is stored; training seed 0 for 50 steps" in first.stderr
    drawn = out.read_bytes()

    def refuse(*arguments, **options):
        raise AssertionError("the map is stored")

    monkeypatch.setattr(Training, "__init__", refuse)
    again = invoke(*arguments)
    assert (again.exit_code, again.stderr, out.read_bytes()) == (0, "", drawn)
    (walk,) = maps.drawable(store)
    assert ([one.name for one in walk.maps], walk.r, walk.seed) == (["fpa"], 4, 0)
    assert (found(store).held, found(store).passed) == ((), {})  # a map is no result

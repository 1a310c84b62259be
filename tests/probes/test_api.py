"""The Python API: run_probe on texts, results as tables, frames and comparisons, and names that are imported when asked for."""

import math
import subprocess
import sys

import pytest

import attnprobe.probes
from attnprobe.probes import Arm, ArmResult, Ladder, Recipe, Records, Results, run_probe
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks import TASKS

TINY = Recipe(steps=2, batch=4)


def record(seed, status, kl=0.5):
    score = {} if status == "failed" else {"kl": kl}
    return {"key": "k", "result": {"status": status, "score": score, "steps": 2}, "recorded": {"seconds": 1.5}}


def made(**arms):
    """Results of the ladder from arm -> one letter a seed: s solved, u unsolved, f failed."""
    status = {"s": "solved", "u": "unsolved", "f": "failed"}
    found = [
        ArmResult(Arm(name, parse(name), 4), {seed: record(seed, status[c], 0.01 * (seed + 1)) for seed, c in enumerate(letters)}, 0)
        for name, letters in arms.items()
    ]
    return Results(Ladder(r=4), TINY, tuple(found))


def test_arms_and_seeds_are_texts_and_everything_else_has_a_default(tmp_path):
    found = run_probe("copy", ["fpa", "rope@8"], "5:7", Recipe(steps=1, batch=2), tmp_path)
    assert [str(one.arm) for one in found] == ["fpa@32", "rope@8"]
    assert [list(one.records) for one in found] == [[5, 6], [5, 6]]
    assert len(list(tmp_path.rglob("*.json"))) == 4
    again = run_probe("copy", ["fpa", "rope@8"], [6, 5], Recipe(steps=1, batch=2), tmp_path)
    assert [(one.reused, list(one.records)) for one in again] == [(2, [6, 5])] * 2


def test_without_a_store_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert [str(one.arm) for one in run_probe(Ladder(r=3), seeds=1, recipe=TINY)] == [f"{arm}@4" for arm in Ladder.arms]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"task": "lader"}, "did you mean 'ladder'"),
        ({"arms": "fpa"}, r"arms is a list of arms, such as \['fpa'\]"),
        ({"arms": []}, "at least one arm"),
        ({"arms": ["fpaa"]}, "did you mean 'fpa'"),
        ({"arms": ["rope/fpa"]}, "names 2 layers"),
        ({"seeds": 0}, "at least one seed"),
        ({"seeds": [1, 1]}, "different integers >= 0"),
        ({"seeds": [-1]}, "different integers >= 0"),
        ({"workers": 0}, "workers must be an integer of at least 1, not 0"),
        ({"workers": "2"}, "workers must be an integer of at least 1, not '2'"),
        ({"task": Ladder}, r"task must be a Task, such as Ladder\(r=10\)"),
        ({"task": None}, "task must be a Task"),
        ({"arms": 5}, "arms is a list of texts and Arms"),
        ({"arms": [5]}, r"arms is a list of texts and Arms, .* not \[5\]"),
        ({"seeds": None}, "seeds must be a count, a range"),
        ({"seeds": [True]}, "different integers >= 0"),
        ({"store": ""}, "must name a directory"),
        ({"store": 5}, "store must be a Store, the path of a directory, or None to keep nothing, not 5"),
        ({"device": "zz"}, "device must be cpu or cuda, not 'zz'"),
        ({"device": 0}, "device must be cpu or cuda, not 0"),
        ({"threads": True}, "threads must be an integer of at least 1, not True"),
        ({"recipe": "short"}, "recipe must be a Recipe"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_trained(given, message):
    with pytest.raises(ValueError, match=message):
        run_probe(**{"task": Ladder(r=3), "recipe": TINY, "seeds": 1} | given)


def test_a_comparison_counts_by_hand():
    """fpa solves 0 1 2, rope 3; seed 4 fails on one side: n = 4, 3 wins, 1 loss, p = P(Bin(4, 1/2) >= 3) = 5/16."""
    found = made(fpa="sssuf", rope="uuuss").compare("fpa", "rope@4")
    assert (found.arms, found.n, found.solved, found.wins, found.losses) == (("fpa@4", "rope@4"), 4, (3, 1), (0, 1, 2), (3,))
    assert found.p == 5 / 16
    low, high = found.interval
    assert 4 * (1 - low) * low**3 + low**4 == pytest.approx(0.025)  # Clopper-Pearson: P(X >= 3 | low) = .025
    assert 1 - high**4 == pytest.approx(0.025)  # P(X <= 3 | high) = .025
    assert str(found).startswith("fpa@4 solves 3 and rope@4 1 of 4 seeds; only fpa@4: 3, only rope@4: 1; p = 0.31; fpa@4 ahead in 19-99 %")
    same = made(fpa="ss", rope="ss").compare("fpa", "rope")
    assert (same.p, same.interval) == (1, None)


def test_an_arm_is_found_by_its_name_and_a_wrong_one_is_answered_with_the_nearest():
    found = made(fpa="ss", rope="us")
    assert found["rope"] is found["rope@4"] is found[1]
    assert found[:1] == (found["fpa"],)
    with pytest.raises(ValueError, match="no arm 'rop' in these results; did you mean 'rope'"):
        found["rop"]
    with pytest.raises(ValueError, match="the same arm"):
        found.compare("fpa", "fpa@4")
    twice = Results(Ladder(r=4), TINY, tuple(ArmResult(Arm("fpa", parse("fpa"), d), {0: record(0, "solved")}, 0) for d in (4, 8)))
    with pytest.raises(ValueError, match="'fpa' is several arms: fpa@4, fpa@8; name one"):
        twice["fpa"]
    control = Results(Ladder(r=4), TINY, tuple(ArmResult(Arm("fpa", parse("fpa"), d, d == 8), {0: record(0, "solved")}, 0) for d in (4, 8)))
    assert control["fpa"].arm.head_dim == 4


def test_the_table_has_a_row_an_arm_with_medians_and_the_worst():
    """Three seeds with kl .01, .02, .03; the failed one of rope has none."""
    table = made(fpa="ssu", rope="uuf").table()
    assert table.columns == ["arm", "head_dim", "control", "n", "solved", "failed", "low", "high", "median kl", "worst kl", "seconds"]
    assert [(row["solved"], row["failed"], row["median kl"], row["worst kl"], row["seconds"]) for row in table] == [
        (2, 0, 0.02, 0.03, 4.5),
        (0, 1, pytest.approx(0.015), 0.02, 4.5),
    ]
    assert made(fpa="f").table()[0]["median kl"] is None
    lines = str(made(fpa="ssu", rope="uuf")).splitlines()
    assert lines[0] == "ladder: solved is kl <= 0.1"
    assert lines[2].startswith("fpa") and len({len(line) for line in lines[1:]}) == 1  # noqa: PT018


def test_a_notebook_gets_an_escaped_table():
    text = Records.of([{"arm": "rope>sa", "kl": None}])._repr_html_()
    assert "<td>rope&gt;sa</td><td>-</td>" in text
    assert "<th>arm</th>" in made(fpa="s")._repr_html_()


def test_a_row_that_lacks_a_column_has_none_there():
    rows = made(fpa="sf").seeds()
    assert [row["kl"] for row in rows] == [0.01, None]
    assert [row["status"] for row in rows] == ["solved", "failed"]


def test_a_data_frame_has_a_row_a_seed():
    pytest.importorskip("pandas")
    frame = made(fpa="su", rope="us").to_pandas()
    assert frame.groupby("arm")["kl"].count().to_dict() == {"fpa": 2, "rope": 2}
    assert math.isclose(frame["kl"].sum(), 0.06)


def test_without_pandas_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        made(fpa="s").to_pandas()


@pytest.mark.parametrize("package", ["probes", "theory"])
def test_every_public_name_is_there_and_importing_the_package_loads_nothing(package):
    script = f"""
import sys, attnprobe.{package} as package
heavy = [name for name in ("torch", "numpy", "scipy", "sympy", "networkx") if name in sys.modules]
assert not heavy, heavy
assert all(callable(getattr(package, name)) or name == "TASKS" for name in package.HOMES)
assert set(package.HOMES) <= set(dir(package))
try: package.Nothing
except AttributeError as error: assert "no attribute 'Nothing'" in str(error)
else: raise SystemExit("Nothing is there")
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_registered_task_is_a_public_class():
    assert {getattr(attnprobe.probes, entry.cls) for entry in TASKS.entries.values()} == {TASKS[name] for name in TASKS}


SCRIPT = """
from attnprobe.probes import Ladder, Recipe, run_probe
results = run_probe(Ladder(r=3), ["fpa", "rope"], 1, Recipe(steps=2, batch=2){more})
print(len(results), "arms")
"""


@pytest.mark.parametrize("more", ["", ", workers=2"])
def test_a_script_without_a_main_guard_runs_once(more, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(more=more))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "2 arms\n"), done.stderr
    assert done.stderr == ""


def test_a_task_of_the_script_itself_is_refused_in_one_line(tmp_path):
    path = tmp_path / "script.py"
    own = "from attnprobe.probes import Ladder, run_probe\nclass Mine(Ladder): pass\nrun_probe(Mine(r=3), ['fpa', 'rope'], 1)\n"
    path.write_text(own)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "Mine is defined in __main__" in done.stderr.splitlines()[-1]


REGISTERED = """
from dataclasses import dataclass
from attnprobe.probes import Ladder, run_probe
from attnprobe.probes.mixers.bias.age import Alibi
from attnprobe.probes.registry import register


@register("inscript")
@dataclass(frozen=True)
class Mine(Alibi):
    pass


@register("in-task")
@dataclass(frozen=True)
class Own(Ladder):
    pass


for task, arms in (("ladder", ["fpa", "rope+inscript@8"]), ("in-task", ["fpa"]), ("ladder", ["inscrip"])):
    try:
        run_probe(task, arms, seeds=1, workers=2)
    except ValueError as error:
        print(error)
"""


def test_a_name_that_is_registered_in_the_script_is_sent_to_load(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(REGISTERED)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    mechanism, task, other = done.stdout.splitlines()
    assert mechanism == "'inscript' is registered in the script that runs: put it in a file of its own and give that to load"
    assert task == "'in-task' is registered in the script that runs: put it in a file of its own and give that to load"
    assert other.startswith("spec 'inscrip': unknown part 'inscrip'")

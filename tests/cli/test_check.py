"""`probe check`: a line a check, what was measured, what theory makes of it, and the exit code."""

import json
import re

import pytest
from typer.testing import CliRunner

from attnprobe.cli.probe import app
from attnprobe.cli.verdict import measured_verdict
from attnprobe.probes.loading import forget
from attnprobe.probes.run import Arm
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.ladder import Ladder

BIAS = """
from dataclasses import dataclass
from attnprobe.probes.mixers.parts import Bias
from attnprobe.probes.registry import register


@register("mine", paper="ours")
@dataclass(frozen=True)
class Mine(Bias):
    '''Keys but the query's own lose one.'''

    def parameters(self, dims):
        return {}

    def __call__(self, p, x, scores, draw):
        T, S = scores.shape[-2:]
        return scores.new_ones(T, S).tril(S - T - 1) * -1
"""
POSITIVE = BIAS.replace("* -1", "* 1").replace('"mine"', '"wrong"')


@pytest.fixture(autouse=True)
def nothing_stays_loaded():
    yield
    forget()


@pytest.fixture
def files(tmp_path):
    for name, text in {"mine.py": BIAS, "wrong.py": POSITIVE, "both.py": BIAS + POSITIVE.replace("Mine", "Wrong")}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def invoke(*arguments, columns=200):
    return CliRunner().invoke(app, ["check", *map(str, arguments)], env={"COLUMNS": str(columns)})


def test_a_sound_file_has_a_line_a_check_and_exit_code_0(files):
    done = invoke(files / "mine.py")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("mine: all 14 checks hold\n")
    assert len(re.findall(r"^ok   ", done.stdout, re.M)) == 14
    assert re.search(r"^yes  content-free ", done.stdout, re.M)
    assert re.search(r"ladder, d 4 +all sets need d >= 8 \(T5\), if it is order-blind as measured", done.stdout)
    assert re.search(r"two-walks, d 2 +all sets need d >= 8 \(T5\), if it is content-free as measured", done.stdout)


def test_a_wrong_one_is_named_with_what_and_where_and_has_exit_code_1(files):
    done = invoke(files / "both.py", columns=100)
    assert done.exit_code == 1
    assert "mine: all 14 checks hold" in done.stdout
    wrong = done.stdout[done.stdout.index("wrong: 1 of 14 checks fail") :]
    assert re.search(r"^FAIL bias +1 at query 1, key 0 \(seed 0, example 0, head 0\), at the parameters' start: a", wrong, re.M)
    assert "measured" not in wrong  # nothing is said of what is not sound
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_json_holds_the_same(files):
    done = invoke("rope+mine", "copy", "--load", files / "mine.py", "--json")
    made = json.loads(done.stdout)
    assert made["schema"] == 1
    mixer, task = made["subjects"]
    assert mixer["subject"] == "rope+mine"
    assert {one["status"] for one in mixer["checks"]} == {"ok"}
    assert mixer["theory"][0] == {
        "task": "ladder", "head_dim": 4, "text": "all sets need d >= 8 (T5)", "claim": "T5", "assumption": "order-blind",
    }  # fmt: skip
    assert [one["check"] for one in task["checks"]][:2] == ["batch", "stream"]
    assert task["traits"] == task["theory"] == []


def test_a_mechanism_of_the_suite_has_its_theorem_without_an_assumption():
    done = invoke("fox")
    assert re.search(r"ladder, d 4 +all sets need d >= 8 \(T5\)$", done.stdout.replace(" \n", "\n"), re.M)
    assert "as measured" not in done.stdout


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("foxx", "unknown part 'foxx'; did you mean 'fox'?"),
        ("none.py", "none.py: No such file or directory"),
        ("rope/fpa", "check one layer at a time: rope fpa"),
        ("rope>swa", "without its swap or intervention"),
        ("moba(block=1000)", "block must be below"),
    ],
)
def test_what_there_is_not_is_one_line_and_exit_2(what, message):
    done = invoke(what)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_measured_trait_bounds_and_never_promises_nor_has_a_ceiling():
    def said(traits, d, task=None):
        return measured_verdict(task or Ladder(), Arm("fpa", parse("fpa"), d), set(traits))

    assert said(["separable", "falling"], 4) is None
    found = said(["order-blind"], 4)
    assert (found.text, found.claim, found.ceiling, found.assumption) == ("all sets need d >= 8 (T5)", "T5", None, "order-blind")
    assert said(["order-blind"], 8) is None  # where the dimension suffices, a bias may still be in the way
    assert said(["order-blind"], 4, Ladder(slot="plain")) is None
    shared = said(["shared"], 2, TASKS["two-walks"]())
    assert (shared.claim, shared.assumption) == ("T10", "shared")
    assert measured_verdict(Ladder(), Arm("x", parse("fir+fpa"), 4), {"order-blind"}) is None

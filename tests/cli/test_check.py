"""`probe check`: a line a check, what was measured, what theory makes of it, and the exit code."""

import json
import re

import pytest
from typer.testing import CliRunner

from attnprobe.cli.probe import app
from attnprobe.cli.verdict import Verdict, measured_verdict, verdict
from attnprobe.probes.loading import load
from attnprobe.probes.run import Arm
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.ladder import Ladder

pytestmark = pytest.mark.usefixtures("nothing_stays_loaded")

POSITION = """
from dataclasses import dataclass
from attnprobe.probes.mixers.parts import Position
from attnprobe.probes.registry import register


@register("turn", paper="ours")
@dataclass(frozen=True)
class Turn(Position):
    '''Keys add up.'''

    def parameters(self, dims):
        return {}

    def __call__(self, p, q, k):
        return q, k.cumsum(-2)
"""


TASK = """
from dataclasses import dataclass
from attnprobe.probes.registry import register
from attnprobe.probes.tasks.copy import Copy


@register("wrong-copy", paper="ours")
@dataclass(frozen=True)
class WrongCopy(Copy):
    def sample(self, rng, n):
        return super(WrongCopy, self).sample(rng, n + 1)
"""
BROKEN = """

@register("boom", paper="ours")
@dataclass(frozen=True)
class Boom(Mine):
    def __call__(self, p, x, scores, draw):
        raise RuntimeError("boom")


@register("exits", paper="ours")
@dataclass(frozen=True)
class Exits(Mine):
    def __call__(self, p, x, scores, draw):
        raise SystemExit(0)


@register("unbuilt", paper="ours")
@dataclass(frozen=True)
class Unbuilt(Mine):
    def __post_init__(self):
        raise TypeError("never")


@register("bounded", paper="ours")
@dataclass(frozen=True)
class Bounded(Mine):
    cap: float = 1.0

    def __post_init__(self):
        if self.cap <= 0:
            raise ValueError(f"cap must be above 0, not {self.cap:g}")


@register("late", paper="ours")
@dataclass(frozen=True)
class Late(Mine):
    def __call__(self, p, x, scores, draw):
        if scores.shape[-1] == 14:
            raise RuntimeError("at 14 positions")
        return super(Late, self).__call__(p, x, scores, draw)
"""


@pytest.fixture
def files(tmp_path, mine):
    positive = mine.replace("* -1", "* 1").replace('"mine"', '"wrong"')
    for name, text in {
        "mine.py": mine,
        "wrong.py": positive,
        "both.py": mine + positive.replace("Mine", "Wrong"),
        "broken.py": mine + BROKEN,
    }.items():
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
    assert re.search(r"ladder --r 10, d 4 +all sets need d >= 8 if order-blind \(T5\)", done.stdout)
    assert re.search(r"two-walks --r 10, d 2 +all sets need d >= 8 if content-free \(T5\)", done.stdout)


def test_a_wrong_one_is_named_with_what_and_where_and_has_exit_code_1(files):
    done = invoke(files / "both.py", columns=100)
    assert done.exit_code == 1
    assert "mine: all 14 checks hold" in done.stdout
    wrong = done.stdout[done.stdout.index("wrong: 1 of 14 checks fail") :]
    assert re.search(r"^FAIL bias +1 at query 1, key 0 \(seed 0, example 0, head 0\), at the parameters' start: a", wrong, re.M)
    assert "measured" not in wrong  # nothing is said of what is not sound
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_a_broken_part_fails_and_ends_the_check_of_no_other(files):
    done = invoke(files / "broken.py", "--json")
    assert done.exit_code == 1, done.stderr
    made = {one["subject"]: one for one in json.loads(done.stdout)["subjects"]}
    failed = {name: [check for check in one["checks"] if check["status"] == "FAIL"] for name, one in made.items()}
    first = {name: (found[0]["check"], found[0]["text"]) for name, found in failed.items() if found}
    said = {
        "boom": ("shapes", r"raises RuntimeError: boom \(broken.py, line \d+\)"),
        "exits": ("shapes", r"raises SystemExit: 0 \(broken.py, line \d+\)"),
        "unbuilt": ("construction", r"raises TypeError: never \(broken.py, line \d+\)"),
        "late": ("measured", r"raises RuntimeError: at 14 positions \(broken.py, line \d+\)"),
    }
    assert list(first) == list(said)
    for name, (check, text) in said.items():
        assert first[name][0] == check, first[name]
        assert re.match(text, first[name][1]), first[name]
    for sound in ("mine", "bounded"):
        assert {one["status"] for one in made[sound]["checks"]} == {"ok"}
    assert "boom" not in made["mine"]["alike"]
    assert {one["check"]: one["status"] for one in made["boom"]["checks"]}["weights"] == "note"


@pytest.mark.parametrize("name", ["boom", "exits", "unbuilt"])
def test_a_broken_part_beside_others_is_a_failure_of_the_whole(files, name):
    done = invoke(f"rope+{name}", "rope+mine", "--load", files / "broken.py")
    assert done.exit_code == 1, done.stderr
    assert f"rope+{name}: " in done.stdout
    assert "rope+mine: all 14 checks hold" in done.stdout
    assert "probe check" not in done.output  # which is what was run


def test_a_value_that_a_loaded_part_refuses_is_bad_input(files):
    done = invoke("rope+bounded(cap=0)", "--load", files / "broken.py")
    assert (done.exit_code, done.stderr) == (2, "error: cap must be above 0, not 0\n")


def test_what_a_mechanism_is_is_said_of_no_task(files):
    text = files / "task.py"
    text.write_text(TASK)
    done = invoke(text)
    assert done.exit_code == 1
    assert "wrong-copy: " in done.stdout
    assert "what it is" not in done.stdout
    assert "what it is: not asked, since a check fails" in invoke(files / "wrong.py").stdout


def test_json_holds_the_same(files):
    done = invoke("rope+mine", "copy", "--load", files / "mine.py", "--json")
    made = json.loads(done.stdout)
    assert made["schema"] == 1
    mixer, task = made["subjects"]
    assert mixer["subject"] == "rope+mine"
    assert {one["status"] for one in mixer["checks"]} == {"ok"}
    assert mixer["theory"][0] == {
        "task": "ladder", "options": {"r": 10, "slot": "balanced", "evaluate": "auto"}, "head_dim": 4,
        "text": "all sets need d >= 8 if order-blind (T5)", "claim": "T5", "assumption": "order-blind",
    }  # fmt: skip
    assert [one["check"] for one in task["checks"]][:2] == ["batch", "stream"]
    assert task["traits"] == task["theory"] == []


def test_a_mechanism_of_the_suite_has_its_theorem_without_an_assumption():
    done = invoke("fox")
    assert re.search(r"ladder --r 10, d 4 +all sets need d >= 8 \(T5\)$", done.stdout.replace(" \n", "\n"), re.M)
    assert "theory\n" in done.stdout


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("foxx", "unknown task or mechanism 'foxx'; did you mean 'fox'?"),
        ("copyy", "unknown task or mechanism 'copyy'; did you mean 'copy'?"),
        ("rope+foxx", "unknown part 'foxx'; did you mean 'fox'?"),
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
    def said(traits, d, task=None, spec="fpa", axes=("bias",)):
        return measured_verdict(task or Ladder(), Arm(spec, parse(spec), d), set(axes), set(traits))

    assert said(["separable", "falling"], 4) is None
    found = said(["order-blind"], 4)
    assert found == Verdict("bound", "T5", "all sets need d >= 8 if order-blind (T5)", None, "order-blind")
    assert said(["order-blind"], 8) is None  # where the dimension suffices, a bias may still be in the way
    assert said(["order-blind"], 4, Ladder(slot="plain")) is None
    assert said(["order-blind"], 4, spec="fir+fpa") is None
    shared = said(["shared"], 2, TASKS["two-walks"]())
    assert (shared.claim, shared.text) == ("T10", "both heads need d >= 4 if shared (T10)")
    assert said([], 4, spec="rope", axes=["normaliser"]) is None
    assert said(["monotone"], 4, spec="rope", axes=["normaliser"]).text == "all sets need d >= 9 if monotone (T5)"
    assert said(["monotone"], 4, spec="fpa", axes=["normaliser"]) is None
    both = said(["monotone", "order-blind"], 4, axes=["normaliser", "bias"])
    assert both.assumption == "monotone and order-blind"


def test_of_what_a_user_wrote_a_theorem_holds_only_under_what_was_measured(files):
    """A position of another's may do anything to keys: nothing is said. A bias is measured, alone or beside the suite's parts."""
    (files / "position.py").write_text(POSITION)
    load(files / "mine.py")
    load(files / "position.py")

    def said(spec):
        return verdict(Ladder(), Arm(spec, parse(spec), 4))

    assert said("fox").ceiling == 382
    assert said("mine").text == said("rope+mine").text == "all sets need d >= 8 if order-blind (T5)"
    assert said("fox+turn").text == said("mine+turn").text == said("turn").text == "no theorem"
    assert said("fir+mine").text == said("mine+swa").text == "no theorem"


def test_a_run_s_table_says_what_is_assumed(files):
    quick = ["--r", "10", "--steps", "1", "--batch", "4", "--seeds", "1", "--workers", "1", "--quiet", "--no-control"]
    words = ["run", "ladder", *quick, "--store", str(files / "results"), "--load", str(files / "mine.py"), "--arm", "mine"]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert "all sets need d >= 8 if order-blind (T5)" in done.stdout
    assert "theory, if ...: a trait of the loaded part, measured and not proved" in done.stdout
    made = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert made["arms"][0]["ceiling"] is None
    assert made["arms"][0]["theory"]["assumption"] == "order-blind"

"""A user's file is registered beside the suite's own, is part of a result's name, works in workers, and is refused in one line."""

import importlib
import pickle
import subprocess
import sys
import textwrap

import pytest

from attnprobe.probes import code, loading
from attnprobe.probes.code import digest
from attnprobe.probes.loading import forget, load
from attnprobe.probes.run import Arm, run_probe
from attnprobe.probes.spec import parse
from attnprobe.probes.store import Store
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.ladder import Ladder

pytestmark = pytest.mark.usefixtures("nothing_stays_loaded")

BIAS = """
    '''A bias.'''

    import torch
    from dataclasses import dataclass

    from attnprobe.probes.mixers.parts import Bias, Init
    from attnprobe.probes.registry import register


    @register("mine", paper="ours")
    @dataclass(frozen=True)
    class Mine(Bias):
        '''The query's own position is spared.'''

        size: float = 1.0

        def parameters(self, dims):
            return {"a": Init((dims.num_heads, 1, 1), value=self.size)}

        def __call__(self, p, x, scores, draw):
            T, S = scores.shape[-2:]
            return -p["a"].abs()[:, None] * (1 - torch.eye(S)[S - T :])
"""
TASK = """
    from dataclasses import dataclass

    from attnprobe.probes.registry import register
    from attnprobe.probes.tasks.copy import Copy


    @register("my-copy", paper="ours")
    @dataclass(frozen=True)
    class MyCopy(Copy):
        '''Copy under another name.'''
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="mine.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write


def test_a_loaded_part_is_a_part_of_the_grammar(write):
    with pytest.raises(ValueError, match="unknown part 'mine'"):
        parse("rope+mine")
    assert load(write(BIAS)) == ["mine"]
    assert str(parse("mine(size=2.5)+rope")) == "rope+mine(size=2.5)"
    with pytest.raises(ValueError, match="'mine' and 'fox' are both a bias"):
        parse("mine+fox")
    forget()
    with pytest.raises(ValueError, match="unknown part 'mine'"):
        parse("mine")


def test_a_loaded_task_is_a_task(write):
    load(write(TASK))
    assert TASKS["my-copy"]().seq_len == TASKS["copy"]().seq_len
    assert TASKS.entries["my-copy"].summary == "Copy under another name."


def test_a_file_loaded_again_is_read_again(write):
    path = write(BIAS)
    load(path)
    first = digest([type(parse("mine").layers[0].bias).__module__])
    write(BIAS.replace("1.0", "2.0"))
    load(path)
    assert parse("mine").layers[0].bias.size == 2.0
    assert digest([type(parse("mine").layers[0].bias).__module__]) != first


def test_the_code_digest_is_of_what_a_file_says_not_of_its_name_place_or_docstrings(write):
    def digest_of(text, name):
        load(write(text, name))
        found = digest([type(parse("mine").layers[0].bias).__module__])
        forget()
        return found

    first = digest_of(BIAS, "mine.py")
    assert digest_of(BIAS.replace("is spared", "is left alone"), "elsewhere/other.py") == first
    assert digest_of(BIAS.replace(".abs()", ".square()"), "mine.py") != first


def test_modules_of_the_user_s_own_that_a_file_imports_count_too(write, monkeypatch, tmp_path):
    """lab is a package beside the file, which imports lab.slope, which imports lab.base; numpy and json are none of the user's."""
    monkeypatch.syspath_prepend(tmp_path)

    def digest_of(base):
        for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        for name, text in {"__init__": "", "base": base, "slope": "import json\nimport numpy\nfrom .base import SIZE\n"}.items():
            write(text, f"lab/{name}.py")
        load(write(BIAS.replace("import torch", "import torch\n    from lab.slope import SIZE"), "mine.py"))
        module = type(parse("mine").layers[0].bias).__module__
        assert {"lab.slope", "lab"} <= code.imports(module)
        assert code.imports("lab.slope") == {"lab", "lab.base"}
        return digest([module])

    first = digest_of("SIZE = 1")
    assert digest_of("SIZE = 1  # as before") == first
    assert digest_of("SIZE = 22") != first


def test_a_file_changed_after_loading_still_counts_as_it_was_loaded(write):
    path = write(BIAS)
    load(path)
    module = type(parse("mine").layers[0].bias).__module__
    path.write_text("nonsense(")
    assert len(digest([module])) == 64
    assert loading.loaded() == [(str(path), textwrap.dedent(BIAS).encode())]


def test_two_workers_train_a_loaded_mechanism_on_a_loaded_task(write, tmp_path):
    load(write(BIAS))
    load(write(TASK, "task.py"))
    task, store = TASKS["my-copy"](), Store(tmp_path / "results")
    recipe = type(task.recipe)(steps=2, batch=2)
    arms = [Arm(text, parse(text), 4) for text in ("mine", "rope+mine")]
    results = run_probe(task, arms, (0, 1), recipe, store, workers=2)
    assert [sorted(result.records) for result in results] == [[0, 1], [0, 1]]
    again = run_probe(task, arms, (0, 1), recipe, store)
    assert [result.reused for result in again] == [2, 2]


def test_another_process_that_loads_the_same_files_reads_the_same_pickles(write):
    paths = [write(BIAS, "a/mine.py"), write(BIAS.replace('"mine"', '"mine-too"'), "b/mine.py")]
    for path in paths:
        load(path)
    specs = pickle.dumps([parse("mine"), parse("mine-too")])
    script = "import pickle, sys; from attnprobe.probes.loading import load\nfor path in sys.argv[1:]: load(path)\n"
    script += f"print(*pickle.loads({specs!r}))"
    done = subprocess.run([sys.executable, "-c", script, *map(str, paths)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["mine", "mine-too"]


def test_a_file_that_is_changed_changes_the_name_of_a_result(write, tmp_path):
    task, store = Ladder(r=3), Store(tmp_path / "results")
    recipe = type(task.recipe)(steps=1, batch=2)

    def reused(text):
        load(write(text))
        (result,) = run_probe(task, [Arm("mine", parse("mine"), 2)], (0,), recipe, store)
        return result.reused

    assert [reused(BIAS), reused(BIAS), reused(BIAS.replace(".abs()", ".square()"))] == [0, 1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BIAS.replace('"mine"', '"fox"'), r"mine\.py: the name 'fox' is taken by the suite; choose another"),
        (BIAS.replace('"mine"', '"ladder"'), "'ladder' is taken by the suite"),
        (BIAS.replace('"mine"', '"pn_fir_tau"'), "'pn_fir_tau' is taken by the suite"),
        (BIAS.replace('"mine"', '"fpa-clamped"'), "'fpa-clamped' is taken by the suite"),
        (BIAS.replace('"mine"', '"none"'), "'none' is taken by the suite"),
        (BIAS.replace('"mine"', '"My Bias"'), "a name takes small letters, digits, - and _, not 'My Bias'"),
        (BIAS.replace('"mine"', "NAME"), r"mine\.py, line 11: @register takes one name and facts, written out"),
        (BIAS + BIAS, r"registers 'mine' twice"),
        (BIAS.replace('paper="ours"', "paper=5"), "paper must be a text, not 5"),
        (BIAS.replace('paper="ours"', "paper={[1]: 2}"), "@register takes one name and facts, written out"),
        (BIAS.replace('"mine"', '"mine", aliases=5'), "aliases must be names and the specs they are short for, not 5"),
        (BIAS.replace('"mine"', '"mine", aliases={"zz": 5}'), "aliases must be names"),
        (BIAS + "\n    del Mine\n", "class Mine is registered and is none of"),
        ("x = " + "-" * 100_000 + "1", "nested too deeply"),
        (BIAS.replace("(frozen=True)", ""), r"class Mine must be a frozen dataclass"),
        (BIAS.replace("size: float = 1.0", "size: float"), "the field size needs a default"),
        (BIAS.replace("def parameters", "def parameter"), "class Mine lacks parameters"),
        (BIAS.replace("(Bias)", ""), "class Mine is registered and is none of Task, KeyFilter, Position, Bias, Normaliser, Routing"),
        (BIAS.replace("import torch", "import torsh"), r"mine\.py, line 4: ModuleNotFoundError: No module named 'torsh'"),
        (BIAS + "\n    1 / 0\n", r"mine\.py, line 25: ZeroDivisionError: division by zero"),
        (BIAS + "\n    raise SystemExit('bye')\n", r"mine\.py, line 25: SystemExit: bye"),
        ("x = (\n", r"mine\.py, line 1: '\(' was never closed"),
        ("x = 1\n", r'mine\.py registers nothing: put @register\("name"\) over a class'),
    ],
)
def test_a_file_that_will_not_do_is_refused_with_the_reason(write, text, message):
    with pytest.raises(ValueError, match=message):
        load(write(text))
    with pytest.raises(ValueError, match="unknown part 'mine'"):
        parse("mine")


def test_a_file_that_cannot_be_read_is_refused(write, tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.py")
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    with pytest.raises(ValueError, match="is no Python file"):
        load(tmp_path / "latin.py")


def test_two_files_may_not_take_one_name(write):
    load(write(BIAS, "one.py"))
    with pytest.raises(ValueError, match=r"two\.py: the name 'mine' is taken by .*one\.py"):
        load(write(BIAS, "two.py"))
    assert str(parse("mine")) == "mine"

"""probe show: the walk and its alive set as text, at any width and encoding."""

import inspect
import io

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from attnprobe.cli.probe import app
from attnprobe.cli.show_command import drawn, folded
from attnprobe.cli.walk_text import ASCII, FULL, marks, walk_lines
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.ladder import Ladder
from attnprobe.probes.walk import Key, Walk


def text(walk, first=0, last=None, cell=2, use=ASCII):
    return [str(line) for line in walk_lines(walk, first, last or len(walk.field), cell, use)]


def test_a_live_key_s_line_runs_to_the_query_and_a_dead_one_s_to_where_the_field_falls_below_it():
    """Field 1 2 1 1: the key of level 2, at position 1, ends at position 2; that of level 1 passes the 1s and lives."""
    walk = Walk((1, 2, 1, 1), (Key(0, 1, "a"), Key(1, 2, "b")))
    assert text(walk) == ["level 2   x-X", "level 1 o---.->"]


def test_a_band_shows_the_levels_that_it_has_marks_at():
    walk = Walk((1, 0, 5, 5), (Key(0, 1, "a"), Key(2, 5, "b")))
    assert text(walk, 0, 2) == ["level 1 x-X", "level 0   ."]
    assert text(walk, 2, 4) == ["level 5 o->"]


def test_the_drawing_of_the_ladder_s_walk_by_hand():
    """r = 3, rung 1 dies: its line ends at the dip to 0; rung 2's slot goes up to 3 and back, rung 3 is alive at once."""
    task = Ladder(r=3)
    batch = task.encode(np.array([[1, 0]], dtype=np.uint8))
    lines = [str(line) for line in drawn(list(task.picture(batch)), task.walks(batch), 80, ascii_only=True)]
    assert lines[:6] == [
        "level 3                 .       o--->",
        "level 2             o-------.------->",
        "level 1 x---X   .",
        "level 0     .",
        "token   1   dn  up  2   up  dn  3   ?",
        "target  0           1/2         1/2",
    ]


@pytest.mark.parametrize("name", [name for name in TASKS if TASKS[name].walks is not TASKS["recall"].walks])
@pytest.mark.parametrize("width", [80, 120])
def test_a_drawing_fits_the_width(name, width):
    done = CliRunner().invoke(app, ["show", name], env={"COLUMNS": str(width), "NO_COLOR": "1"})
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= width
    assert "\x1b" not in done.stdout
    assert "level 1" in done.stdout


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("width", [80, 120])
def test_no_line_of_a_task_s_account_or_picture_is_broken_by_the_terminal(name, width):
    task = TASKS[name]()
    batch = task.sample(np.random.default_rng(0), 1)
    lines = [str(line) for line in drawn(list(task.picture(batch)), task.walks(batch), width, ascii_only=True)]
    account = folded(inspect.getdoc(TASKS[name]), width).splitlines()
    captions = [line for line in lines if line.startswith("o a key")]  # prose, which may fold
    assert [line for line in [*lines, *account] if len(line) > width and line not in captions] == []


def test_what_stands_beside_a_drawing_follows_below_it_where_the_terminal_is_narrow():
    drawing = "    a  b      answers: b, then a\n    0  1"
    assert folded(drawing, 40) == drawing
    assert folded(drawing, 30) == "    a  b\n    0  1\n        answers: b, then a"
    assert folded(drawing, 20) == "    a  b\n    0  1\n        answers: b,\n        then a"


def test_bands_are_of_one_width_but_for_rounding():
    """Ten cells of two columns, room for eight: five and five, not eight and two."""
    lines = list(drawn([("token", list("abcdefghij"))], (), 8 + 2 * 8, ascii_only=True))
    assert lines == ["token   a b c d e", "", "token   f g h i j", ""]


def test_marks_are_ascii_where_the_encoding_is():
    def of(encoding):
        return Console(file=io.TextIOWrapper(io.BytesIO(), encoding=encoding)).options.ascii_only

    assert marks(of("utf-8")) is FULL
    assert marks(of("latin-1")) is ASCII
    assert "".join(vars(ASCII).values()).isascii()


def test_a_docstring_s_drawing_keeps_its_lines_and_its_sentences_fold():
    given = "one two three four\nfive six\n\n    a  b\n    c  d\n\nseven"
    assert folded(given, 14) == "one two three\nfour five six\n\n    a  b\n    c  d\n\nseven"

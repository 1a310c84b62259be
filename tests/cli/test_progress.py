"""Progress on a terminal: a bar an arm while anything is trained, and nothing at all where everything is stored."""

import io
import sys

import pytest

from attnprobe.cli.progress import Live, watch
from attnprobe.probes.run import Arm
from attnprobe.probes.spec import parse

ARMS = [Arm(name, parse(name), 4) for name in ("fpa", "rope")]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def ran(monkeypatch):
    """What a terminal is sent in a run of two arms of 2 seeds, of which each lacks so many."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")

    def sent(*missing):
        monkeypatch.setattr(sys, "stderr", Terminal())
        go(missing)
        return sys.stderr.getvalue()

    return sent


def go(missing):
    """The run."""
    with watch(ARMS, 50, quiet=False) as seen:
        assert isinstance(seen, Live)
        for arm, lacks in zip(ARMS, missing, strict=True):
            seen.started(arm, 2 - lacks, lacks)
        for arm, lacks in zip(ARMS, missing, strict=True):
            if lacks:
                seen.stepped(arm, 50)
                seen.finished(arm)


def test_nothing_is_drawn_where_all_is_stored(ran):
    assert ran(0, 0) == ""


def test_bars_are_drawn_for_all_arms_where_one_is_trained(ran):
    text = ran(0, 1)
    assert "fpa@4" in text
    assert "2 of 2 stored" in text
    assert "rope@4" in text

"""Findings: what a check of a user's task or mechanism says, one line each."""

from __future__ import annotations

import sysconfig
import traceback
from dataclasses import dataclass
from pathlib import Path

OK, FAIL, NOTE = "ok", "FAIL", "note"


class Failed(Exception):
    """A check that does not hold; its message says what, and where."""


@dataclass(frozen=True)
class Finding:
    """check: its name; status: "ok" | "FAIL" | "note" (neither: not asked, or not measured); text: what was found, and where."""

    check: str
    status: str
    text: str


@dataclass(frozen=True)
class Note:
    """What a check returns where it finds nothing wrong and could not ask everything."""

    text: str


def run(checks, *subject):
    """The Finding of each check, by name. checks: name -> function of the subject that returns what held, or raises.

    Whatever a check raises is a finding, an exit too, since the code under it is a stranger's; an interrupt goes on. One that repeats
    the error of the check before says so.
    """
    found, last = [], None
    for name, check in checks.items():
        try:
            held = check(*subject)
            found.append(Finding(name, NOTE, held.text) if isinstance(held, Note) else Finding(name, OK, held))
        except Failed as failed:
            found.append(Finding(name, FAIL, str(failed)))
        except (Exception, SystemExit) as error:
            text = described(error)
            found.append(Finding(name, FAIL, "the same error" if text == last else text))
            last = text
    return found


def described(error):
    """An exception with the line that raised it, of the user's own file where it passed through one."""
    package = Path(__file__).parents[2]
    places = [package / "probes", package / "kernels", package / "cli", *map(Path, sysconfig.get_paths().values())]
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not set(places) & set(Path(frame.filename).parents)]
    parts = [frame for frame in frames if package / "probes/mixers" in Path(frame.filename).parents]
    frame = (own or parts or frames)[-1]
    message = " ".join(str(error).split())
    return f"raises {type(error).__name__}: {message} ({Path(frame.filename).name}, line {frame.lineno})"

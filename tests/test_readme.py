"""Every command that the README shows in a console block runs and exits 0, and its example of a new part works."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line[2:] for block in re.findall(r"```console\n(.*?)```", README, re.S) for line in block.splitlines() if line.startswith("$ ")]
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", README, re.S)  # of a part, in a file that its commands call mine.py


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_runs(command, tmp_path):
    (tmp_path / "mine.py").write_text(EXAMPLE)
    program, *arguments = shlex.split(command)
    done = subprocess.run([Path(sys.executable).parent / program, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_readme_shows_commands():
    assert len(COMMANDS) >= 8


@pytest.mark.slow
def test_the_readme_s_new_part_passes_every_check_and_runs_from_one_file(tmp_path):
    (tmp_path / "mine.py").write_text(EXAMPLE)
    quick = "--r 4 --seeds 2 --steps 50 --workers 1 --store results"
    for command in ("check mine.py", f"run ladder --load mine.py --arm mine {quick}"):
        words = [Path(sys.executable).parent / "probe", *command.split()]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "COLUMNS": "160"})
        assert done.returncode == 0, done.stdout + done.stderr
        assert "mine" in done.stdout

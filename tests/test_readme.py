"""Every command that the README shows in a console block runs and exits 0, and its example of a new part works."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line[2:] for block in re.findall(r"```console\n(.*?)```", README, re.S) for line in block.splitlines() if line.startswith("$ ")]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_runs(command, tmp_path):
    program, *arguments = shlex.split(command)
    done = subprocess.run([Path(sys.executable).parent / program, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_readme_shows_commands():
    assert len(COMMANDS) >= 8


@pytest.mark.slow
def test_the_readme_s_new_part_runs_from_one_file(tmp_path):
    package = tmp_path / "attnprobe"
    for top in ("cli", "kernels", "probes", "theory"):
        shutil.copytree(ROOT / top, package / top, ignore=shutil.ignore_patterns("__pycache__"))
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    (package / "probes/mixers/bias/mine.py").write_text(code)
    script = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import attnprobe.probes; assert attnprobe.probes.__file__.startswith({str(tmp_path)!r})
from attnprobe.cli.probe import app; app(prog_name='probe')
"""
    arguments = [
        "run",
        "ladder",
        "--r",
        "4",
        "--seeds",
        "2",
        "--steps",
        "50",
        "--arm",
        "mine",
        "--workers",
        "1",
        "--store",
        str(tmp_path / "r"),
    ]
    environment = {**os.environ, "COLUMNS": "160"}
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout

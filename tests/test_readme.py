"""Every command that README and docs show in a console block runs and exits 0, and the README's examples work."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
README = PAGES[0].read_text(encoding="utf-8")
BLOCKS = [
    [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    for page in PAGES
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
]
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", README, re.S)  # of a part, in a file that its commands call mine.py
(SESSION,) = re.findall(r"```pycon\n(.*?)```", README, re.S)


def run(command, folder):
    """What a shown command prints, in a folder that holds mine.py."""
    program, *arguments = shlex.split(command)
    done = subprocess.run([Path(sys.executable).parent / program, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block[0])
def test_the_commands_of_a_block_run_one_after_the_other(block, tmp_path):
    (tmp_path / "mine.py").write_text(EXAMPLE)
    for command in block:
        before = set(tmp_path.iterdir())
        assert run(command, tmp_path) or set(tmp_path.iterdir()) > before, f"{command} neither printed nor wrote anything"


def test_the_readme_shows_commands():
    assert sum(map(len, BLOCKS)) >= 30


@pytest.mark.slow
def test_the_readme_s_new_part_passes_every_check_and_runs_from_one_file(tmp_path):
    (tmp_path / "mine.py").write_text(EXAMPLE)
    quick = "--r 4 --seeds 2 --steps 50 --workers 1 --store results"
    for command in ("check mine.py", f"run ladder --load mine.py --arm mine {quick}"):
        words = [Path(sys.executable).parent / "probe", *command.split()]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "COLUMNS": "160"})
        assert done.returncode == 0, done.stdout + done.stderr
        assert "mine" in done.stdout


@pytest.mark.slow
def test_the_readme_s_session_gives_what_it_shows(tmp_path):
    (tmp_path / "session.txt").write_text(SESSION)
    done = subprocess.run([sys.executable, "-m", "doctest", "session.txt"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_the_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        file, _, anchor = target.partition("#")
        there = page.parent / file if file else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def anchors(page):
    """What the headings of a page are linked by."""
    headings = (line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("#"))
    return {re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in headings}


def test_the_readme_is_short_enough_to_be_read():
    assert len(README.splitlines()) <= 200

"""A run that is interrupted or terminated, and a stdout that goes away."""

import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

QUICK = ["--r", "4", "--steps", "50", "--batch", "4", "--seeds", "2", "--workers", "1"]


def test_an_interrupt_keeps_what_is_finished_and_exits_130(probe, store, monkeypatch, tmp_path):
    from attnprobe.cli.progress import Plain

    monkeypatch.setattr(Plain, "finished", lambda self, arm: (_ for _ in ()).throw(KeyboardInterrupt))
    done = probe("run", "ladder", *QUICK, *store)
    assert done.exit_code == 130
    assert "kept" in done.stderr
    assert len(list(tmp_path.rglob("*.json"))) == 2


def shell(command, tmp_path):
    """Exit status and stderr of a bash command in which `probe` is this one."""
    line = f'probe() {{ {shlex.quote(sys.executable)} -m attnprobe.cli "$@"; }}; {command}'
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True)
    return done.returncode, done.stderr


def test_a_reader_that_goes_away_is_no_contradiction(tmp_path):
    code, err = shell("set -o pipefail; probe list | true", tmp_path)
    assert code in (0, 141)  # 0 where all was written before the reader went
    assert err == ""


def test_a_closed_stdout_is_said(tmp_path):
    assert shell("probe list >&-", tmp_path) == (2, "error: stdout is closed\n")


def test_terminating_a_check_ends_it_while_a_part_is_called(tmp_path):
    """The exit is no finding, as a part's own SystemExit is one."""
    mine, called = tmp_path / "slow.py", tmp_path / "called"
    mine.write_text(
        "import time\nfrom dataclasses import dataclass\nfrom pathlib import Path\n"
        "from attnprobe.probes.mixers.parts import Bias\nfrom attnprobe.probes.registry import register\n\n\n"
        '@register("slow", paper="ours")\n@dataclass(frozen=True)\nclass Slow(Bias):\n'
        "    def parameters(self, dims):\n        return {}\n\n"
        f"    def __call__(self, p, x, scores, draw):\n        Path({str(called)!r}).touch()\n        time.sleep(60)\n"
    )
    command = [sys.executable, "-m", "attnprobe.cli", "check", str(mine)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.time() + 60
    while not called.exists() and time.time() < deadline:
        time.sleep(0.05)
    process.terminate()
    try:
        assert process.wait(timeout=20) == 143
    finally:
        process.kill()


def test_terminating_a_run_ends_its_workers_and_says_what_an_interrupt_says(tmp_path):
    command = [sys.executable, "-m", "attnprobe.cli", "run", "ladder", "--workers", "2", "--store", str(tmp_path / "r")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        process.kill()
        pytest.skip("reads Linux's /proc")
    deadline = time.time() + 20
    while len(started := children.read_text().split()) < 3 and time.time() < deadline:  # two workers and Python's resource tracker
        time.sleep(0.05)
    process.terminate()
    said = process.communicate(timeout=20)[1]
    assert process.returncode == 143
    assert said.splitlines()[-1] == "interrupted; what was finished is kept"
    deadline = time.time() + 5
    while any(Path(f"/proc/{pid}").exists() for pid in started) and time.time() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]

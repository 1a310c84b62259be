"""Freed memory stays in the process where the C library can be told so."""

import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import torch
from attnprobe.probes.memory import keep_freed_memory

if sys.argv[1] == "keep":
    keep_freed_memory()

def step():
    a = torch.ones(1_000_000)
    b = a + 1
    return (a * b).sum()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for _ in range(8):
    step()
before = faults()
for _ in range(5):
    step()
print(faults() - before)
"""


def faults(how):
    return int(subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc")
def test_a_step_s_memory_is_faulted_in_once():
    """A step's three arrays of 4 MB are 2930 pages: 14650 faults in five steps where each step faults anew."""
    assert faults("keep") < 0.2 * faults("as it is")


def test_nothing_is_changed_elsewhere(monkeypatch):
    from attnprobe.probes import memory

    monkeypatch.setattr(memory.sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "ctypes", None)  # importing it would fail
    memory.keep_freed_memory()

"""Freed memory stays in the process where the C library can be told so, and nothing happens where it cannot."""

import ctypes
import sys
from types import SimpleNamespace

import pytest

from attnprobe.probes import memory


def test_glibc_is_told_to_keep_what_is_freed(monkeypatch):
    """M_TRIM_THRESHOLD is -1 and M_MMAP_THRESHOLD -3 in malloc.h; 32 MiB is the largest threshold of the second."""
    told = []
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=lambda *call: told.append(call)))
    memory.keep_freed_memory()
    assert told == [(-1, 2**31 - 1), (-3, 2**25)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc")
def test_glibc_takes_both_settings():
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        assert library.mallopt(-1, 2**31 - 1) == library.mallopt(-3, 2**25) == 1


def test_a_c_library_without_mallopt_and_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    memory.keep_freed_memory()
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", None)  # calling it would fail
    memory.keep_freed_memory()

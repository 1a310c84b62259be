"""Breaking what a claim relies on, and seeing it refuted; and each claim's default run, once."""

import functools

import pytest

from attnprobe.theory.claim import catalogue, load, verify


@pytest.fixture(scope="session")
def certified():
    """Return a function from a claim's name to its Certificate at the default scope, run once a session."""
    return functools.cache(lambda name: verify(load(catalogue()[name])))


@pytest.fixture
def refute(monkeypatch):
    """Return a function that replaces `target`, dotted from attnprobe.theory, by `broken`, and checks that claim `name` is refuted."""

    def check(name, target, broken):
        made = load(catalogue()[name])
        monkeypatch.setattr(f"attnprobe.theory.{target}", broken)
        found = verify(made)
        assert found.verdict == "refuted"
        assert found.witness

    return check

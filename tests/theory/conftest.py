"""Breaking what a claim relies on, and seeing it refuted."""

import pytest

from attnprobe.theory.claim import catalogue, load, verify


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

"""A copy of a module with one thing wrong in it, for tests that must notice."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture
def mutant(tmp_path):
    """mutant(module, right, wrong): the module with `wrong` in the one place where `right` stands."""

    def load(module, right, wrong):
        source = Path(module.__file__).read_text(encoding="utf-8")
        assert source.count(right) == 1
        path = tmp_path / Path(module.__file__).name
        path.write_text(source.replace(right, wrong))
        spec = importlib.util.spec_from_file_location("mutant", path)
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        return loaded

    return load

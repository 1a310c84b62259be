"""The two programs as functions, and a store's option."""

import pytest
from typer.testing import CliRunner

BIAS = """
from dataclasses import dataclass
from attnprobe.probes.mixers.parts import Bias
from attnprobe.probes.registry import register


@register("mine", paper="ours")
@dataclass(frozen=True)
class Mine(Bias):
    '''Keys but the query's own lose one.'''

    def parameters(self, dims):
        return {}

    def __call__(self, p, x, scores, draw):
        T, S = scores.shape[-2:]
        return scores.new_ones(T, S).tril(S - T - 1) * -1
"""


def runner(app, **given):
    """A function that runs a program with arguments, `given` and keywords its environment."""

    def run(*arguments, **environment):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200", **given, **environment})

    return run


@pytest.fixture(scope="session")
def probe():
    """probe("run", "ladder", COLUMNS="80"): the result of the program `probe`."""
    from attnprobe.cli.probe import app

    return runner(app)


@pytest.fixture(scope="session")
def theory():
    """The same of the program `theory`, without colour."""
    from attnprobe.cli.theory import app

    return runner(app, NO_COLOR="1")


@pytest.fixture
def store(tmp_path):
    """The option --store with a directory of the test's own."""
    return ["--store", str(tmp_path / "results")]


@pytest.fixture(scope="session")
def mine():
    """The text of a user's file: a bias by the name `mine`."""
    return BIAS

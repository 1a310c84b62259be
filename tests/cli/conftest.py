"""The two programs as functions, and a store's option."""

import pytest
from typer.testing import CliRunner


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

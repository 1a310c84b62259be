"""What is built is whole: wheel and sdist hold the tree's code and data, and the wheel runs in an environment of its own."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOPS = ("cli", "kernels", "probes", "theory")
SHIPPED = {
    path.relative_to(ROOT).as_posix()
    for top in TOPS
    for path in (ROOT / top).rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def run(*command, cwd):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist, the wheel built from the sdist."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", out, ROOT, cwd=out)
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = {name.removeprefix("attnprobe/") for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == SHIPPED


@pytest.mark.slow
def test_the_sdist_holds_what_the_wheel_is_built_of(built):
    with tarfile.open(built[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert SHIPPED | {"pyproject.toml", "README.md", "LICENSE", "constraints.txt", "CITATION.cff", "CHANGELOG.md"} <= names
    assert not any(name.startswith(("results", ".venv", ".ci")) for name in names)


@pytest.mark.slow
def test_the_wheel_runs_in_an_empty_environment(built, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    home = tmp_path / "venv" / "bin"
    run(home / "pip", "--disable-pip-version-check", "install", "--quiet", "--constraint", ROOT / "constraints.txt", built[0], cwd=tmp_path)
    where = run(home / "python", "-c", "import attnprobe.cli.probe as probe; print(probe.__file__)", cwd=tmp_path)
    assert "site-packages" in where
    assert run(home / "probe", "--version", cwd=tmp_path) == f"attnprobe {PROJECT['version']}\n"
    assert "2/2" in run(
        home / "probe", "run", "ladder", "--r", "4", "--seeds", "2", "--no-control", "--arm", "fpa", "--quiet", cwd=tmp_path
    )
    assert "verified" in run(home / "theory", "verify", "T1", cwd=tmp_path)
    assert "two-walks" in run(home / "probe", "list", cwd=tmp_path)


def test_the_interpreters_that_are_claimed_are_those_that_run_here():
    claimed = {c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", c)}
    assert claimed == {"3.11"}  # torch's wheel for other versions was never installed with the tested set


def test_the_citation_gives_the_version_that_is_built():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"version: {PROJECT['version']}\n" in text
    assert text.startswith("cff-version: 1.2.0\n")

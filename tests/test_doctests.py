"""Every example in a docstring of the four packages runs, and every public function and class of the API has a docstring."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import attnprobe.cli
import attnprobe.kernels
import attnprobe.probes
import attnprobe.theory

PACKAGES = (attnprobe.cli, attnprobe.kernels, attnprobe.probes, attnprobe.theory)


def modules():
    """Import name -> whether its source shows an example, of every module of the namespace, without importing any."""
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            yield found.name, found.module_finder.find_spec(found.name).loader.get_source(found.name)


WITH_EXAMPLES = [name for name, source in modules() if ">>>" in source]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_in_docstrings_run(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("package", [attnprobe.probes, attnprobe.theory], ids=["probes", "theory"])
def test_the_public_surface_is_documented(package):
    for name in package.HOMES:
        public = getattr(package, name)
        if name == "TASKS":
            continue
        members = [m for n, m in vars(public).items() if not n.startswith("_") and (inspect.isfunction(m) or isinstance(m, property))]
        for one in (public, *(members if inspect.isclass(public) else ())):
            assert inspect.getdoc(one), f"{name}: {one}"


@pytest.mark.parametrize("function", ["run_probe", "parse"])
def test_what_a_user_calls_shows_an_example(function):
    assert ">>>" in getattr(attnprobe.probes, function).__doc__


@pytest.mark.parametrize("function", ["verify", "explain", "realise", "bound", "ceiling", "impossible", "p_value", "majority_ceiling"])
def test_what_a_user_of_the_theory_calls_shows_an_example(function):
    assert ">>>" in getattr(attnprobe.theory, function).__doc__

"""Each claim holds at small sizes with plain witnesses, and is refuted when what it is about is broken."""

import ast
import importlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import attnprobe.theory
from attnprobe.theory import alive, rank
from attnprobe.theory.claim import catalogue, load, verify

NAMES = list(catalogue())
FILES = sorted(Path(attnprobe.theory.__file__).parent.rglob("*.py"))


def get(name):
    return load(catalogue()[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_holds_over_its_default_scope(name):
    found = verify(get(name))
    assert found.verdict == ("supported" if found.kind == "sampled" else "verified"), found.witness
    assert found.seconds < 10


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_holds_at_its_bounds_and_its_witnesses_are_plain_data(name):
    made = get(name)
    for bounds in ("low",) if made.kind == "sampled" or name in ("T1-ladder", "T6-attained") else ("low", "high"):
        for case in made.cases(**{key: getattr(span, bounds) for key, span in made.spans.items()}):
            assert case.holds, case.witness
            assert json.loads(json.dumps(case.witness)) == case.witness


@pytest.mark.parametrize(("r", "sets"), [(10, 512), (16, 32768)])
def test_the_ladder_claim_counts_every_word(r, sets):
    assert verify(get("T1-ladder"), r=r).cases == sets


def test_eight_steps_give_the_published_count_of_alive_sets_that_are_no_suffix():
    """17203 of 3^8 * 8 = 52488 (walk, t) pairs."""
    made = get("T3-no-suffix")
    listed = [case.witness["listed"] for case in made.cases(T=8)]
    assert (sum(listed), verify(made, T=8).cases) == (17203, 52488)


def test_two_steps_give_alive_sets_that_are_no_suffix_by_hand():
    """T = 2, t = 1: never: {0, 1} or {1}. At t = 2 key 1 is dead iff step 2 is -1; then key 0 (level 0) is alive iff step 1 is +1: W
    = 0 1 0, {0, 2}. One of the 9 walks.
    """
    assert [case.witness["listed"] for case in get("T3-no-suffix").cases(T=2)] == [0, 1]


def broken_ladder(levels):
    return alive.ladder_alive(levels) ^ (levels[1] == levels[1].max())


def broken_steps(word):
    steps, levels, positions = alive.ladder(word)
    return steps, [w + (w == 3) for w in levels], [p - (p == 3) for p in positions]


def sum_of_dips(phi, psi):
    return np.minimum(0, np.diff(phi, axis=1, append=0)[:, None, :]) * (np.arange(phi.shape[1])[:, None] > np.arange(phi.shape[1]))


def wrong_sign(keys, offsets=None):
    found = rank.impossible(keys, offsets)
    return replace(found, weights=tuple(-w for w in found.weights))


BREAKS = [
    ("T1-ladder", "ladder_alive", broken_ladder),
    ("T1-literal", "ladder", broken_steps),
    ("T1-mass", "depths", lambda phi, psi: -np.ones_like(alive.depths(phi, psi))),
    ("T3-monotone", "depths", lambda phi, psi: -alive.depths(phi, psi)),
    ("T3-stack", "depths", sum_of_dips),
    ("T3-no-suffix", "depths", sum_of_dips),
    ("T5-bound", "impossible", wrong_sign),
    ("T5-bound", "impossible", lambda keys, offsets=None: None),
    ("T5-tight", "bound", lambda r, offsets: rank.bound(r, offsets) - 1),
    ("T6-attained", "ceiling", lambda r, d, offsets: rank.ceiling(r, d + 1, offsets)),
    ("T6-ceiling", "ceiling", lambda r, d, offsets: rank.ceiling(r, d - 1, offsets)),
    ("T6-generic", "FIGURES", ((6, 32, 32),)),
    ("T6-programs", "greatest_margin", lambda keys, offsets, word: 1.0),
]


@pytest.mark.parametrize(("name", "attribute", "broken"), BREAKS, ids=lambda x: x if isinstance(x, str) else "")
def test_a_claim_is_refuted_when_what_it_relies_on_is_broken(monkeypatch, name, attribute, broken):
    module = importlib.import_module(f"attnprobe.theory.claims.{catalogue()[name].module}")
    assert hasattr(module, attribute)
    monkeypatch.setattr(module, attribute, broken)
    found = verify(get(name))
    assert found.verdict == "refuted"
    assert found.witness


def test_each_claim_is_broken_on_purpose_above():
    assert {name for name, _, _ in BREAKS} == set(NAMES)


def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) else []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_theory_never_imports_torch_or_the_other_packages_and_only_numpy_at_module_level(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for name in imported(node):
            assert not name.startswith(("torch", "attnprobe.probes", "attnprobe.kernels", "attnprobe.cli"))
            assert node.col_offset or not name.startswith(("scipy", "sympy", "networkx"))


def test_the_examples_in_docstrings_run():
    import doctest

    from attnprobe.theory import realise

    assert [doctest.testmod(module)[:2] for module in (alive, realise)] == [(0, 1), (0, 2)]

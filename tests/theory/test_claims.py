"""Each claim holds at small sizes with plain witnesses, and is refuted when what it is about is broken."""

import ast
import importlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import attnprobe.theory
from attnprobe.theory import alive, rank, walks
from attnprobe.theory.claim import catalogue, load, verify

NAMES = list(catalogue())
FILES = sorted(Path(attnprobe.theory.__file__).parent.rglob("*.py"))


def get(name):
    return load(catalogue()[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_holds_over_its_default_scope(certified, name):
    found = certified(name)
    assert found.verdict == ("supported" if found.kind == "sampled" else "verified"), found.witness


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if any(span.deep for span in get(name).spans.values())])
def test_a_claim_holds_over_its_deep_scope(name):
    found = verify(get(name), deep=True)
    assert found.verdict == ("supported" if found.kind == "sampled" else "verified"), found.witness


@pytest.mark.parametrize("name", [name for name in NAMES if get(name).spans])
def test_a_claim_holds_at_its_bounds_and_its_witnesses_are_plain_data(name):
    """The upper bounds are for deep runs, where there is a deep scope; the lower ones are always quick."""
    made = get(name)
    for bounds in ("low", "high"):
        if bounds == "high" and (made.kind == "sampled" or any(span.deep for span in made.spans.values())):
            continue
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


def unbalanced(word):
    steps, levels, positions = alive.ladder(word)
    return [step if word[i // 3] or i % 3 == 2 else 0 for i, step in enumerate(steps[1:])], levels, positions


def sum_of_dips(phi, psi):
    return np.minimum(0, np.diff(phi, axis=1, append=0)[:, None, :]) * (np.arange(phi.shape[1])[:, None] > np.arange(phi.shape[1]))


def strict(phi, psi):
    return alive.depths(phi, np.asarray(psi) + 1)


def by_the_highest(phi, psi):
    return -alive.depths(-np.asarray(phi), -np.asarray(psi))


def families_by(depths):
    return lambda W: np.packbits(((depths(W, W) == 0) & np.tri(W.shape[1], dtype=bool)).reshape(len(W), -1), axis=1)


def wrong_sign(keys, offsets=None):
    found = rank.impossible(keys, offsets)
    return replace(found, weights=tuple(-w for w in found.weights))


def wrong_word(keys, offsets, strengths):
    dips, found = t7_strengths.impossible_word(keys, offsets, strengths)
    return [not dip for dip in dips], found


def forgetful(i, prefix, r, p):
    return t8_bits.key(i, prefix[:1] * len(prefix), r, p)


def without_mask(H, r, d):
    return [row[r - 1 :] for row in t11_heads.joint_rows(H, r, d)]


t7_strengths, t8_bits, t11_heads = (
    SimpleNamespace(**vars(importlib.import_module(f"attnprobe.theory.claims.{name}"))) for name in ("t7_strengths", "t8_bits", "t11_heads")
)
BREAKS = [
    ("T1-ladder", "ladder_alive", broken_ladder),
    ("T1-ladder", "ladder_levels", lambda words, r: alive.ladder_levels(words, r) * 2),
    ("T1-literal", "ladder", broken_steps),
    ("T1-literal", "alive_set", lambda phi, psi, t: tuple(s for s in range(t + 1) if all(x > psi[s] for x in phi[s + 1 : t + 1]))),
    ("T1-mass", "depths", lambda phi, psi: -np.ones_like(alive.depths(phi, psi))),
    ("T2-integers", "families", families_by(sum_of_dips)),
    ("T2-integers", "catalan", lambda n: 2**n),
    ("T2-bounded", "families", families_by(sum_of_dips)),
    ("T2-bounded", "reachable", lambda sizes, K: True),
    ("T2-ternary", "families", families_by(sum_of_dips)),
    ("T2-ternary", "motzkin_prefixes", lambda n: 3**n),
    ("T2-signs", "walks", lambda T, steps: walks.walks(T, (0, 1))),
    ("T2-final", "odd_runs", lambda T: 2**T),
    ("T2-final", "walks", lambda T, steps: walks.walks(T, [2 * step for step in steps if step])),
    ("T3-monotone", "depths", lambda phi, psi: -alive.depths(phi, psi)),
    ("T3-stack", "depths", sum_of_dips),
    ("T3-no-suffix", "depths", sum_of_dips),
    ("T3-no-suffix", "depths", strict),
    ("T4-deaths", "depths", by_the_highest),
    ("T4-nested", "depths", sum_of_dips),
    ("T4-nested", "depths", by_the_highest),
    ("T5-bound", "impossible", wrong_sign),
    ("T5-bound", "impossible", lambda keys, offsets=None: None),
    ("T5-grid", "impossible", lambda keys, offsets=None: None),
    ("T5-grid", "realise", lambda keys, offsets: SimpleNamespace(count=8)),
    ("T5-tight", "bound", lambda r, offsets: rank.bound(r, offsets) - 1),
    ("T6-attained", "ceiling", lambda r, d, offsets: rank.ceiling(r, d + 1, offsets)),
    ("T6-ceiling", "ceiling", lambda r, d, offsets: rank.ceiling(r, d - 1, offsets)),
    ("T6-generic", "FIGURES", ((6, 32, 32),)),
    ("T6-programs", "greatest_margin", lambda keys, offsets, word: 1.0),
    ("T7-gate", "gate_logits", lambda words, r: -words[:, None] >> np.arange(r)),
    ("T7-ladder", "ladder", unbalanced),
    ("T7-chain", "impossible_word", wrong_word),
    ("T7-chain", "impossible_word", lambda keys, offsets, strengths: None),
    ("T7-bits", "chain", lambda strengths: strengths[:1]),
    ("T7-one-strength", "STRENGTH", 2),
    ("T8-bound", "product", lambda letters, repeat: [(0,) * repeat] * 2),
    ("T8-tight", "key", forgetful),
    ("T8-tight", "ask", lambda word, p: (1,) * ((len(word) - 1) // p)),
    ("T9-search", "bisect", lambda prefix, n: 1 << (n - 1)),
    ("T9-littlestone", "halfspaces", lambda d, p: {0, 1}),
    ("T9-littlestone", "littlestone", lambda functions, points: 3),
    ("T9-littlestone", "count_circuits", lambda d, p: 5),
    ("T10-bound", "impossible", wrong_sign),
    ("T10-bound", "impossible", lambda keys, offsets=None: None),
    ("T10-tight", "gaps", lambda alive, r: np.full((len(alive), 1), -1)),
    ("T11-heads", "joint_rows", without_mask),
    ("T11-heads", "rank_modulo", lambda rows, prime: len(rows)),
    ("T11-joint", "joint_rows", lambda H, r, d: [[0] * (r - 1) + row for row in without_mask(H, r, d)]),
    ("T11-joint", "greatest_margin", lambda keys, offsets, word: 1.0),
]


@pytest.mark.parametrize(("name", "attribute", "broken"), BREAKS, ids=lambda x: x if isinstance(x, str) else "")
def test_a_claim_is_refuted_when_what_it_relies_on_is_broken(monkeypatch, name, attribute, broken):
    module = importlib.import_module(f"attnprobe.theory.claims.{catalogue()[name].module}")
    assert hasattr(module, attribute)
    monkeypatch.setattr(module, attribute, broken)
    found = verify(get(name))
    assert found.verdict == "refuted"
    assert found.witness


def test_each_claim_is_broken_on_purpose_in_some_table():
    """The tables BREAKS of this folder, read as syntax trees, name every claim."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in Path(__file__).parent.glob("test_*.py")]
    assigned = [node for tree in trees for node in tree.body if isinstance(node, ast.Assign)]
    tables = [node.value.elts for node in assigned if getattr(node.targets[0], "id", "") == "BREAKS"]
    assert {row.elts[0].value for rows in tables for row in rows} == set(NAMES)


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

    from attnprobe.theory import realisation

    assert [doctest.testmod(module)[:2] for module in (alive, realisation)] == [(0, 1), (0, 2)]

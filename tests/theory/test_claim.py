"""The driver of claims: verdicts, scope, and the catalogue that reads claims without importing them."""

import json
import subprocess
import sys

import pytest

from attnprobe.theory.claim import Case, Span, catalogue, claim, load, select, settle, verify


def toy(kind, *cases):
    @claim("T0-toy", kind=kind, source="here", assumption="the moon is full")
    def cases_of():
        """Toy."""
        yield from cases

    return cases_of


def test_a_claim_without_failing_cases_is_verified_if_complete_and_supported_if_sampled():
    verdicts = {kind: verify(toy(kind, Case(True))).verdict for kind in ("exhaustive", "exact", "symbolic", "sampled")}
    assert verdicts == {"exhaustive": "verified", "exact": "verified", "symbolic": "verified", "sampled": "supported"}


@pytest.mark.parametrize("kind", ["exhaustive", "sampled"])
def test_a_claim_without_cases_is_vacuous(kind):
    found = verify(toy(kind))
    assert (found.verdict, found.cases) == ("vacuous", 0)


def test_the_driver_stops_at_the_first_failing_case_and_keeps_its_witness():
    """Cases of size 1 and 5 hold, the third fails: 1 + 5 + 1 = 7 counted, and the fourth is never asked for."""

    @claim("T0-three", kind="exhaustive", source="here")
    def three():
        """Three."""
        yield Case(True, "a")
        yield Case(True, "b", 5)
        yield Case(False, {"n": 3})
        raise AssertionError("went on after a failure")

    found = verify(three)
    assert (found.verdict, found.cases, found.witness) == ("refuted", 7, {"n": 3})


def test_a_certificate_carries_scope_assumption_and_seconds():
    found = verify(toy("exact", Case(True)))
    assert (found.name, found.kind, found.source, found.assumption) == ("T0-toy", "exact", "here", "the moon is full")
    assert found.seconds >= 0


@claim("T0-span", kind="exhaustive", source="here", steps="any", r=Span(3, 2, 6))
def spans(r):
    """Span."""
    for _ in range(r):
        yield Case(True)


def test_a_caller_may_set_a_span_and_the_scope_shows_it():
    assert (verify(spans).cases, verify(spans).scope) == (3, {"steps": "any", "r": 3})
    assert (verify(spans, r=6).cases, verify(spans, r=6).scope) == (6, {"steps": "any", "r": 6})


def test_overrides_that_a_claim_does_not_take_or_bound_are_refused_before_it_runs():
    with pytest.raises(ValueError, match="T0-span takes no T; it takes r"):
        verify(spans, T=3)
    with pytest.raises(ValueError, match="T0-span takes no steps"):
        verify(spans, steps="1")
    with pytest.raises(ValueError, match="T0-toy takes no r; it takes no parameter"):
        settle(toy("exact"), {"r": 3})
    for r in (1, 7):
        with pytest.raises(ValueError, match=rf"r must be in 2\.\.6 for T0-span, got {r}"):
            verify(spans, r=r)


def test_evidence_is_gathered_in_the_order_of_the_cases_up_to_the_one_that_fails():
    first = [Case(True, evidence={"n": 1}), Case(True), Case(True, evidence={})]
    cases = [*first, Case(False, evidence={"n": 3}), Case(True, evidence={"n": 4})]
    assert verify(toy("exact", *cases)).evidence == ({"n": 1}, {}, {"n": 3})


def test_a_deep_run_takes_the_deep_values_and_an_override_still_wins():
    @claim("T0-deep", kind="exact", source="here", r=Span(3, 2, 9, deep=8), n=Span(4, 2, 9))
    def deep(r, n):
        """Deep."""
        yield Case(True)

    assert settle(deep, {}) == {"r": 3, "n": 4}
    assert settle(deep, {}, deep=True) == {"r": 8, "n": 4}
    assert verify(deep, deep=True, r=5).scope == {"r": 5, "n": 4}


def test_a_run_can_be_watched():
    seen = []
    verify(toy("exact", Case(True), Case(True, size=5)), watch=seen.append)
    assert seen == [1, 6]


def test_a_kind_that_does_not_exist_is_our_own_mistake():
    with pytest.raises(AssertionError, match="no such kind"):
        claim("T0", kind="proved", source="here")


SOURCE = '''
from attnprobe.theory.claim import claim
raise RuntimeError("imported")
@claim("{name}", kind="exact", source="a book", n=3)
def f():
    """It holds.

    Proof.
    """
def helper(): pass
'''


def test_the_catalogue_reads_files_without_running_them_in_the_order_of_numbers(tmp_path):
    for stem, name in (("a", "T10-x"), ("b", "T2-y"), ("c", "T2-a")):
        (tmp_path / f"{stem}.py").write_text(SOURCE.format(name=name))
    found = catalogue(tmp_path)
    assert list(found) == ["T2-a", "T2-y", "T10-x"]
    entry = found["T10-x"]
    assert (entry.kind, entry.source, entry.statement, entry.module, entry.function) == ("exact", "a book", "It holds.", "a", "f")


def test_a_name_used_twice_is_an_error_that_names_both_files(tmp_path):
    (tmp_path / "a.py").write_text(SOURCE.format(name="T2"))
    (tmp_path / "b.py").write_text(SOURCE.format(name="T2"))
    with pytest.raises(ValueError, match=r"claim T2 is in both a\.py and b\.py"):
        catalogue(tmp_path)


def test_names_and_families_select_claims_once_and_unknown_ones_get_the_nearest(tmp_path):
    for stem, name in (("a", "T1-x"), ("b", "T1-y"), ("c", "T10-x")):
        (tmp_path / f"{stem}.py").write_text(SOURCE.format(name=name))
    entries = catalogue(tmp_path)
    assert [entry.name for entry in select(["T1", "T1-y"], entries)] == ["T1-x", "T1-y"]
    assert [entry.name for entry in select([], entries)] == ["T1-x", "T1-y", "T10-x"]
    with pytest.raises(ValueError, match=r"no claim is named 't10x'; did you mean 'T10-x'\?"):
        select(["t10x"], entries)


def test_the_nearest_name_is_sought_without_regard_to_case(tmp_path):
    for stem, name in (("a", "T1-x"), ("b", "T2-XYZ")):
        (tmp_path / f"{stem}.py").write_text(SOURCE.format(name=name))
    with pytest.raises(ValueError, match="did you mean 'T2-XYZ'"):
        select(["t2xyz"], catalogue(tmp_path))


def test_every_claim_of_the_catalogue_loads_as_what_it_is_listed_as():
    for entry in catalogue().values():
        found = load(entry)
        assert (found.name, found.kind, found.source) == (entry.name, entry.kind, entry.source)
        assert entry.statement.endswith(".")


def test_listing_claims_imports_no_numerical_package():
    code = (
        "import sys; from attnprobe.theory.claim import catalogue; assert catalogue(); "
        "print([m for m in ('numpy', 'scipy', 'sympy', 'networkx', 'torch') if m in sys.modules])"
    )
    assert json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) == []

"""The Python API of the theory: names that mean claims, verified or explained, at a scope."""

import pytest

from attnprobe.theory import catalogue, explain, realise, verify


def test_verify_takes_names_families_and_titles_and_returns_a_certificate_each():
    found = verify("T1", r=5)
    assert [one.name for one in found] == ["T1-ladder", "T1-literal", "T1-mass"]
    assert all(one.verdict == "verified" and one.scope["r"] == 5 for one in found)
    assert verify("rank-bound", r=5)[0].name.startswith("T5")


@pytest.mark.parametrize(
    ("names", "scope", "message"),
    [
        (("T1-lader",), {}, "did you mean 'T1-ladder'"),
        (("T1-ladder",), {"r": 99}, r"r must be in 2\.\.26 for T1-ladder, got 99"),
        (("T1-ladder",), {"q": 3}, "T1-ladder takes no q"),
        ((), {"q": 3}, "no claim takes q"),
        (("T1-ladder", "T13"), {"r": 4}, "T13 takes no r"),
    ],
)
def test_a_wrong_name_or_scope_is_said_in_one_line(names, scope, message):
    with pytest.raises(ValueError, match=message):
        verify(*names, **scope)


def test_explain_has_every_part_and_prints_within_its_width():
    (told,) = explain("T1-ladder")
    assert [name for name, _ in told.parts] == ["statement", "assumes", "proof", "limits", "checked"]
    text = str(told)
    assert text.startswith("T1-ladder (FPA paper; theory/claims/t1_ladder.py)\nstatement  One FPA head realises")
    assert max(map(len, text.splitlines()[1:])) <= 100
    assert len(explain()) == len(catalogue())


def test_realise_is_the_function_whatever_was_imported_before():
    import attnprobe.theory.realisation as module

    assert realise is module.realise
    assert realise([[1], [2], [0]]).count == 3

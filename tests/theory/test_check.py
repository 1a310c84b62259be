"""The stand-alone checkers accept what the claims write, and reject it with any number changed."""

import copy
import functools
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from attnprobe.theory import certificates, check, check_sequences
from attnprobe.theory.claim import Case, Claim, catalogue, load, verify

NAMES = list(catalogue())
CHECKERS = (check, check_sequences)
# How many leaves of the evidence the default suite changes; the slow one changes all. Littlestone dimensions take seconds each.
LEAVES = dict.fromkeys(NAMES, 10) | {"T9-littlestone": 2, "T7-bits": 2}


@pytest.fixture(scope="session")
def written(certified, tmp_path_factory):
    """Return a function from a claim's name to the text of its certificate at the default scope."""
    folder = tmp_path_factory.mktemp("certificates")

    def text(name):
        return certificates.write(certified(name), catalogue()[name].statement, folder).read_text(encoding="utf-8")

    return functools.cache(text)


@pytest.fixture(scope="session")
def recall():
    """Recompute what does not depend on the certificate once a session: a checker's own evidence by size, and its halfspaces."""
    patch = pytest.MonkeyPatch()
    for checker in CHECKERS:
        patch.setattr(checker, "RECOMPUTED", {name: functools.cache(made) for name, made in checker.RECOMPUTED.items()})
    patch.setattr(check, "halfspaces", functools.cache(check.halfspaces))
    yield
    patch.undo()


def problem(text):
    text = resealed(text)
    return next((why for why in (checker.problem(text) for checker in CHECKERS) if why != check.UNKNOWN), "no such claim")


def resealed(text):
    """The text with its seal made right, if it is an object: so that the arithmetic has to see a change."""
    try:
        row = json.loads(text)
    except ValueError:
        return text
    return certificates.sealed(row) if isinstance(row, dict) else text


def leaves(value, path=()):
    """Return the paths to all leaves of JSON data, an empty list or object being one."""
    if isinstance(value, list | dict) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [leaf for key, inner in items for leaf in leaves(inner, (*path, key))]
    return [path]


def changed(leaf):
    """Return another value of the same type."""
    if isinstance(leaf, str):
        try:
            return str(Fraction(leaf) + 1)
        except ValueError:
            return leaf + "x"
    return leaf + 1 if isinstance(leaf, int) else 1


def replaced(row, path):
    row = copy.deepcopy(row)
    at = row
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = changed(at[path[-1]])
    return row


@pytest.mark.parametrize("name", NAMES)
def test_a_certificate_of_every_claim_is_accepted_and_by_one_checker_alone(written, recall, name):
    assert certificates.problem(written(name), name) is None
    assert sum(name in checker.RECOMPUTED | checker.PROVED for checker in CHECKERS) == 1


def rejects_changed_leaves(text, count):
    row = json.loads(text)
    paths = leaves(row["evidence"]) if row["evidence"] else []
    step = max(1, len(paths) // count)
    for path in paths[::step]:
        assert problem(json.dumps(replaced(row, ("evidence", *path)))) is not None, path


@pytest.mark.parametrize("name", NAMES)
def test_a_certificate_with_a_number_of_its_evidence_changed_is_rejected(written, recall, name):
    rejects_changed_leaves(written(name), LEAVES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_certificate_with_any_number_of_its_evidence_changed_is_rejected(written, recall, name):
    """Every leaf of nearly all claims; of T7-one-strength and T10-tight, which list thousands of offsets, at least 2000 of them."""
    rejects_changed_leaves(written(name), 2000)


@pytest.mark.parametrize("name", NAMES)
def test_a_certificate_with_a_changed_head_is_rejected(written, recall, name):
    """Name, kind, verdict, statement, source, assumption, cases, and each entry of the scope; of a sampled claim, whose cases and size only
    a rerun confirms, the texts.
    """
    row = json.loads(written(name))
    fields = ["name", "kind", "verdict", "statement", "source", "assumption"]
    if row["kind"] != "sampled":
        fields.append("cases")
    for path in [*((field,) for field in fields), *(("scope", key) for key in row["scope"])]:
        tampered = replaced(row, path) if path != ("kind",) else row | {"kind": "symbolic" if row["kind"] == "exact" else "exact"}
        sizes = load(catalogue()[name]).spans
        if path[0] != "scope" or path[1] not in sizes or row["kind"] != "sampled":
            assert certificates.problem(certificates.sealed(tampered), name) is not None, path


def test_a_dropped_entry_is_rejected_where_the_evidence_is_complete(written, recall):
    for name in NAMES:
        row = json.loads(written(name))
        if name in check.RECOMPUTED | check_sequences.RECOMPUTED and row["evidence"]:
            assert problem(json.dumps(row | {"evidence": row["evidence"][1:]})) is not None


@pytest.mark.parametrize(
    ("text", "why"),
    [("{", "malformed"), ("[]", "malformed"), ("{}", "malformed"), ("null", "malformed"), ('{"name": 3}', "malformed")],
)
def test_what_is_no_certificate_is_said_to_be_none(text, why):
    for checker in CHECKERS:
        assert why in checker.problem(text)


def test_evidence_of_the_wrong_shape_is_malformed_not_a_crash(written):
    row = json.loads(written("T5-bound"))
    for evidence in (None, {}, [None], [[]], [{}], [{"keys": 1}], 3):
        assert certificates.problem(certificates.sealed(row | {"evidence": evidence}), "T5-bound") is not None


def test_a_scope_that_no_run_has_is_rejected_at_once(written):
    row = json.loads(written("T1-ladder"))
    assert problem(json.dumps(row | {"scope": {"r": 10**12}, "cases": 1})) is not None


def test_a_certificate_under_another_name_or_at_another_scope_is_not_the_claim_s(written):
    text = written("T1-literal")
    assert "it is a certificate of T1-literal" in certificates.problem(text, "T1-ladder")
    assert certificates.problem(text.replace("T1-literal", "T0"), "T0") == "no such claim"
    row = json.loads(text) | {"scope": {"sizes": "1..r", "r": 15}, "cases": 2**15 - 1}
    row["evidence"] = [{"r": r, "sets": 2 ** (r - 1)} for r in range(1, 16)]
    assert check.problem(certificates.sealed(row)) is None
    assert "r must be in 2..14" in certificates.problem(json.dumps(row), "T1-literal")


def test_a_refuted_claim_has_a_certificate_that_does_not_hold(tmp_path):
    made = Claim("T5-grid", "exhaustive", "here", None, {}, lambda: iter([Case(False, evidence={"d": 1})]))
    path = certificates.write(verify(made), "Toy.", tmp_path / "new")
    row = json.loads(path.read_text(encoding="utf-8"))
    assert list(row) == [*certificates.FIELDS, "seal"]
    assert (row["verdict"], row["evidence"], row["statement"]) == ("refuted", [{"d": 1}], "Toy.")
    assert problem(json.dumps(row)) is not None


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.__name__.split(".")[-1])
def test_a_checker_is_small_alone_and_imports_only_the_standard_library(checker):
    lines = Path(checker.__file__).read_text(encoding="utf-8").splitlines()
    assert len(lines) < 200
    imports = {line for line in lines if line.startswith(("import ", "from "))}
    standard = {
        "import json",
        "import sys",
        "from fractions import Fraction as F",
        "from hashlib import sha256",
        "from pathlib import Path",
    }
    assert imports == standard


def test_the_checkers_run_as_scripts_on_their_own(written, tmp_path):
    for name in ("T1-ladder", "T12-min"):
        (tmp_path / f"{name}.json").write_text(written(name), encoding="utf-8")
    for checker, own, other in ((check, "T1-ladder", "T12-min"), (check_sequences, "T12-min", "T1-ladder")):
        done = subprocess.run([sys.executable, "-I", checker.__file__, tmp_path], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"{own}.json: holds" in done.stdout
        assert f"{other}.json: {check.UNKNOWN}" in done.stdout
    row = json.loads(written("T1-ladder")) | {"cases": 7}
    (tmp_path / "T1-ladder.json").write_text(certificates.sealed(row), encoding="utf-8")
    done = subprocess.run([sys.executable, "-I", check.__file__, tmp_path], capture_output=True, text=True)
    assert (done.returncode, "T1-ladder.json: 7 is not the number of cases" in done.stdout) == (1, True)
    assert subprocess.run([sys.executable, "-I", check.__file__, tmp_path / "none"], capture_output=True, text=True).returncode == 1


def test_a_dependency_by_hand():
    """Keys 0, 1, 2 with 1 -2 1: sum lambda k = 0 - 2 + 2 = 0; with offsets 0, 1, 0 its sum is -2 <= 0. With offsets 0, -1, 0 it is +2."""
    entry = {"keys": [["0"], ["1"], ["2"]], "lambda": ["1", "-2", "1"], "offsets": ["0", "1", "0"], "sum": "-2"}
    assert check.dependency(entry)
    assert not check.dependency(entry | {"offsets": ["0", "-1", "0"], "sum": "2"})
    assert not check.dependency(entry | {"lambda": ["-1", "2", "-1"], "offsets": None, "sum": "0"})
    for broken in ({"lambda": ["1", "-2", "2"]}, {"keys": [["0"], ["1"], ["3"]]}, {"lambda": ["0", "0", "0"]}):
        with pytest.raises(AssertionError):
            check.dependency(entry | broken)


def test_ranks_modulo_a_prime_by_hand():
    matrices = [[1, 2], [2, 4]], [[0, 1], [1, 0]], [[0, 0], [0, 0]], [[1, 2, 3], [4, 5, 6], [5, 7, 9]]
    assert [check.rank(rows) for rows in matrices] == [1, 2, 0, 2]


@pytest.mark.parametrize("name", NAMES)
def test_an_edit_of_any_kind_breaks_the_seal(written, name):
    """Entries appended, doubled, dropped or emptied, a number as a float or an exponent, other cases, a key more, a seal less."""
    row = json.loads(written(name))
    evidence = row["evidence"]
    edits = [
        {"evidence": [*evidence, 0]},
        {"evidence": [*evidence[:1], *evidence]} if evidence else {"evidence": [{}]},
        {"evidence": evidence[:-1]} if evidence else {"evidence": {}},
        {"evidence": ["1e100000000"]},
        {"cases": row["cases"] + 10**6},
        {"cases": float(row["cases"]) + 0.5},
        {"more": 1},
        {"seal": "0" * 64},
        {"versions": {}},
    ]
    for edit in edits:
        assert certificates.problem(json.dumps(row | edit), name) is not None, edit
    del row["seal"]
    assert certificates.problem(json.dumps(row), name) is not None


@pytest.mark.parametrize("name", ["T6-ceiling", "T6-programs", "T7-chain"])
def test_nothing_is_not_evidence(written, name):
    row = json.loads(written(name))
    assert problem(json.dumps(row | {"evidence": []})) is not None
    empty = {key: [] if isinstance(value, list) else value for key, value in row["evidence"][0].items()}
    assert problem(json.dumps(row | {"evidence": [empty, *row["evidence"][1:]]})) is not None


def test_a_deep_nest_is_malformed_not_a_crash():
    for checker in CHECKERS:
        assert "malformed" in checker.problem("[" * 100_000)
    assert "malformed" in certificates.problem("[" * 100_000, "T1-ladder")

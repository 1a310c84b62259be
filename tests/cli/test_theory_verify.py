"""`theory verify` and `theory check`: streams, JSON, exit codes, certificates."""

import io
import json
from types import SimpleNamespace

import pytest
from rich.console import Console

from attnprobe.cli import theory_verify
from attnprobe.theory import claim

FIELDS = ["name", "kind", "source", "scope", "cases", "verdict", "assumption", "seconds"]


@pytest.fixture
def failing(monkeypatch):
    """Make every claim yield the given cases instead of its own."""

    def use(*cases):
        @claim.claim("T5-tight", kind="exhaustive", source="here", assumption="none at all", r=claim.Span(3, 2, 9, deep=8))
        def toy(r):
            """Toy."""
            yield from cases

        monkeypatch.setattr(claim, "load", lambda entry: toy)

    return use


def test_verify_prints_a_table_on_stdout_and_progress_on_stderr(theory):
    result = theory("verify", "T1", "--r", "8")
    assert result.exit_code == 0
    row = next(line for line in result.stdout.splitlines() if line.startswith("T1-ladder"))
    assert row.split()[1:5] == ["verified", "exhaustive", "r=8", "128"]
    assert "3 claims: 3 verified, 0 supported, 0 refuted; 3 of those that hold do so only if their assumption does" in result.stdout
    assert "balanced ladder" in result.stdout
    assert "T1-ladder: verified, 128 cases" in result.stderr
    assert "T1-ladder: verified" not in result.stdout


def test_verify_json_is_the_contract_and_nothing_else_is_on_stdout(theory):
    result = theory("verify", "T1-ladder", "T3", "--json")
    claims = json.loads(result.stdout)["claims"]
    assert list(json.loads(result.stdout)) == ["claims"]
    assert [list(row) for row in claims] == [FIELDS] * 4
    assert claims[0] | {"seconds": 0} == {
        "name": "T1-ladder",
        "kind": "exhaustive",
        "source": "FPA paper",
        "scope": {"r": 20},
        "cases": 2**19,
        "verdict": "verified",
        "assumption": claims[0]["assumption"],
        "seconds": 0,
    }


def test_a_sampled_claim_is_supported_and_never_verified(theory):
    row = json.loads(theory("verify", "T5-bound", "--r", "6", "--json").stdout)["claims"][0]
    assert (row["verdict"], row["scope"]["r"]) == ("supported", 6)


def test_r_reaches_only_the_claims_that_take_it(theory):
    claims = json.loads(theory("verify", "T1", "T5", "T7", "--r", "5", "--json").stdout)["claims"]
    given = {row["name"]: row["scope"].get("r") for row in claims}
    assert {name for name, r in given.items() if r != 5} == {"T5-grid", "T7-bits"}
    assert {"T1-ladder", "T5-bound", "T7-gate"} < set(given)


def test_a_refuted_claim_exits_1_and_prints_its_witness(theory, failing):
    failing(claim.Case(True), claim.Case(False, {"word": 77}))
    result = theory("verify", "T5-tight")
    assert result.exit_code == 1
    assert "refuted" in result.stdout
    assert "T5-tight is refuted by {'word': 77}" in result.stdout


def test_a_vacuous_claim_exits_1_and_says_so(theory, failing):
    failing()
    result = theory("verify", "T5-tight", "--json")
    assert (result.exit_code, json.loads(result.stdout)["claims"][0]["verdict"]) == (1, "vacuous")
    assert "had no case to check" in theory("verify", "T5-tight").stdout


def test_an_interrupt_exits_130(theory, failing, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(claim, "verify", stop)
    assert theory("verify", "T5-tight").exit_code == 130


def test_a_deep_run_takes_the_deep_scope(theory, failing):
    failing(claim.Case(True))
    rows = [
        json.loads(theory("verify", "T5-tight", *more, "--json").stdout)["claims"][0]["scope"] for more in ([], ["--deep"], ["--r", "4"])
    ]
    assert rows == [{"r": 3}, {"r": 8}, {"r": 4}]


def test_processes_give_what_one_process_gives_in_the_order_of_the_claims(theory):
    alone, together = (json.loads(theory("verify", "T3", "T2-signs", "--json", "--jobs", jobs).stdout)["claims"] for jobs in ("1", "2"))
    assert [row | {"seconds": 0} for row in alone] == [row | {"seconds": 0} for row in together]
    assert "T3-stack: verified" in theory("verify", "T3", "--jobs", "3").stderr


def test_markdown_has_a_row_a_claim_and_escapes_bars(theory):
    lines = theory("verify", "T2-final", "T1-ladder", "--markdown").stdout.splitlines()
    assert lines[0].startswith("| claim | verdict |")
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| T2-final", "| T1-ladder"]
    assert "steps=-1, 0, 1 \\| -1, 1" in lines[2]
    assert {line.replace("\\|", "").count("|") for line in lines[:4]} == {9}
    assert lines[-1].startswith("2 claims: 2 verified")
    assert theory("verify", "T3", "--markdown", "--json").exit_code == 2


def test_the_footer_counts_verdicts_and_assumptions(theory, failing):
    failing(claim.Case(False, 1))
    assert "1 claims: 0 verified, 0 supported, 1 refuted; 0 of those that hold" in theory("verify", "T5-tight").stdout
    failing()
    assert "0 refuted, 1 vacuous" in theory("verify", "T5-tight").stdout


def test_certificates_are_written_and_check_holds_until_one_is_changed(theory, tmp_path):
    folder = tmp_path / "new" / "certificates"
    assert theory("verify", "T5-tight", "T3", "--certificates", str(folder)).exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["T3-monotone.json", "T3-no-suffix.json", "T3-stack.json", "T5-tight.json"]
    result = theory("check", str(folder))
    assert result.exit_code == 0
    assert "4 certificates: 4 hold, 0 do not" in result.stdout
    assert "without a certificate: T1-ladder" in result.stdout
    path = folder / "T5-tight.json"
    text = path.read_text()
    changed = text.replace('"cases": 262144', '"cases": 262143'), text.replace("Some head of dimension", "Every head of dimension"), "{"
    for tampered in changed:
        path.write_text(tampered)
        result = theory("check", str(folder))
        assert result.exit_code == 1
        assert "4 certificates: 3 hold, 1 do not" in result.stdout
    assert "malformed" in result.stdout


def test_check_of_no_directory_or_no_certificate_is_bad_input(theory, tmp_path):
    for folder, message in ((tmp_path / "none", "no such directory"), (tmp_path, "no certificate")):
        result = theory("check", str(folder))
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr


def test_a_live_line_shows_the_cases_at_most_ten_times_a_second(monkeypatch):
    now, shown = [0.0], []
    monkeypatch.setattr(theory_verify.time, "monotonic", lambda: now[0])
    tick = theory_verify.ticker(SimpleNamespace(update=shown.append), "1 of 2: T5 (exact)")
    for seconds, count in ((0.05, 3), (0.11, 4), (0.2, 5), (0.25, 6)):
        now[0] = seconds
        tick(count)
    assert shown == ["1 of 2: T5 (exact): 4 cases", "1 of 2: T5 (exact): 6 cases"]


def test_a_terminal_gets_a_live_line_and_no_plain_ones(failing, monkeypatch):
    failing(claim.Case(True))
    streams = []

    def terminal(stderr):
        assert stderr
        streams.append(Console(force_terminal=True, file=io.StringIO()))
        return streams[-1]

    monkeypatch.setattr(theory_verify, "Console", terminal)
    entry = claim.catalogue()["T5-tight"]
    (found,) = theory_verify.results([(entry, {})], False, 1)
    assert found.verdict == "verified"
    assert "1 of 1: T5-tight (exhaustive)" in streams[0].file.getvalue()
    assert "verified" not in streams[0].file.getvalue()


def test_a_certificate_without_evidence_is_told_from_one_that_was_redone(theory, tmp_path):
    from attnprobe.theory import certificates

    for name, evidence in {"T19-fly": [], "T8-bound": [{"words": 1 << 12}]}.items():
        entry, made = claim.catalogue()[name], claim.load(claim.catalogue()[name])
        scope = {key: getattr(value, "default", value) for key, value in made.scope.items()}
        row = {"name": name, "kind": entry.kind, "source": entry.source, "statement": entry.statement, "scope": scope, "cases": 1}
        row |= {"verdict": claim.PASSED[entry.kind], "assumption": made.assumption, "versions": {}, "evidence": evidence}
        (tmp_path / f"{name}.json").write_text(certificates.sealed(row))
    lines = theory("check", str(tmp_path)).stdout.splitlines()
    assert any("T19-fly.json" in line and "nothing was computed again" in line for line in lines)
    assert not any("T8-bound.json" in line and "nothing was computed again" in line for line in lines)

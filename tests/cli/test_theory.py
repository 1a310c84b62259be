"""The theory command: streams, exit codes, JSON, widths, and one-line errors."""

import io
import json
import subprocess
import sys
from fractions import Fraction
from types import SimpleNamespace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from attnprobe.cli import theory_verify
from attnprobe.cli.theory import app
from attnprobe.cli.theory_tables import certificate_table, scope_text
from attnprobe.theory import claim
from attnprobe.theory.rank import Impossible, refutes

FIELDS = ["name", "kind", "source", "scope", "cases", "verdict", "assumption", "seconds"]


def run(*args, **env):
    return CliRunner().invoke(app, list(args), env={"COLUMNS": "200", "NO_COLOR": "1", **env})


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


@pytest.fixture
def head(tmp_path):
    def write(text):
        path = tmp_path / "head.json"
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return str(path)

    return write


def test_list_names_every_claim_with_its_kind_and_source():
    result = run("list")
    assert result.exit_code == 0
    for entry in claim.catalogue().values():
        row = next(line for line in result.stdout.splitlines() if line.startswith(f"{entry.name} "))
        assert entry.kind in row
        assert entry.source.split()[0] in row


def test_verify_prints_a_table_on_stdout_and_progress_on_stderr():
    result = run("verify", "T1", "--r", "8")
    assert result.exit_code == 0
    row = next(line for line in result.stdout.splitlines() if line.startswith("T1-ladder"))
    assert row.split()[1:5] == ["verified", "exhaustive", "r=8", "128"]
    assert "3 claims: 3 verified, 0 supported, 0 refuted; 3 of those that hold do so only if their assumption does" in result.stdout
    assert "balanced ladder" in result.stdout
    assert "T1-ladder: verified, 128 cases" in result.stderr
    assert "T1-ladder: verified" not in result.stdout


def test_verify_json_is_the_contract_and_nothing_else_is_on_stdout():
    result = run("verify", "T1-ladder", "T3", "--json")
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


def test_a_sampled_claim_is_supported_and_never_verified():
    row = json.loads(run("verify", "T5-bound", "--r", "6", "--json").stdout)["claims"][0]
    assert (row["verdict"], row["scope"]["r"]) == ("supported", 6)


def test_r_reaches_only_the_claims_that_take_it():
    claims = json.loads(run("verify", "T1", "T5", "T7", "--r", "5", "--json").stdout)["claims"]
    given = {row["name"]: row["scope"].get("r") for row in claims}
    assert {name for name, r in given.items() if r != 5} == {"T5-grid", "T7-bits"}
    assert {"T1-ladder", "T5-bound", "T7-gate"} < set(given)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["verify", "T3", "--r", "9"], "T3 takes no r"),
        (["verify", "T1", "T3-stack", "--r", "9"], "T3-stack takes no r"),
        (["verify", "T1-lader"], "no claim is named T1-lader; the nearest is T1-ladder"),
        (["verify", "T1-ladder", "--r", "27"], "r must be in 2..26 for T1-ladder, got 27"),
        (["verify", "--r", "15"], "r must be in 2..14 for T1-literal, got 15"),
        (["verify", "T3", "--jobs", "0"], "jobs"),
        (["explain", "T99"], "no claim is named T99"),
        (["realise", "--r", "5"], "give either --head FILE or --random SEED"),
        (["realise", "--random", "0", "--r", "21"], "--r must be in 1..20, got 21"),
        (["realise", "--random", "0", "--head-dim", "0"], "--head-dim must be in 1..1024, got 0"),
        (["realise", "--random", "-1"], "--random must be in 0"),
        (["realise", "--head", "/no/such/file"], "/no/such/file: No such file or directory"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(args, message):
    result = run(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "a head is"),
        ('{"key": []}', "a head is"),
        ('{"keys": [[1]], "offset": [1]}', "a head is"),
        ('{"keys": [[1], [2, 3]]}', "rows of one length"),
        ('{"keys": [[NaN]]}', "must be finite"),
        ('{"keys": [["1/0"]]}', "denominator"),
        ('{"keys": [[1]], "offsets": [1, 2]}', "one a key, 1, got 2"),
        (json.dumps({"keys": [[0]] * 21}), "at most 20 rows"),
        ('{"keys": [[' + "9" * 5000 + "]]}", "digits"),
    ],
)
def test_a_bad_head_file_is_one_line_and_exit_2(head, text, message):
    result = run("realise", "--head", head(text))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_a_file_and_a_random_head_s_options_are_not_mixed(head):
    path = head({"keys": [[1]]})
    for more in (["--random", "0"], ["--r", "3"], ["--head-dim", "4"], ["--offsets", "none"]):
        assert run("realise", "--head", path, *more).exit_code == 2


def test_a_refuted_claim_exits_1_and_prints_its_witness(failing):
    failing(claim.Case(True), claim.Case(False, {"word": 77}))
    result = run("verify", "T5-tight")
    assert result.exit_code == 1
    assert "refuted" in result.stdout
    assert "T5-tight is refuted by {'word': 77}" in result.stdout


def test_a_vacuous_claim_exits_1_and_says_so(failing):
    failing()
    result = run("verify", "T5-tight", "--json")
    assert (result.exit_code, json.loads(result.stdout)["claims"][0]["verdict"]) == (1, "vacuous")
    assert "had no case to check" in run("verify", "T5-tight").stdout


def test_an_interrupt_exits_130(failing, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(claim, "verify", stop)
    assert run("verify", "T5-tight").exit_code == 130


def unrun(entry):
    """A Certificate of a claim that was not run."""
    made = claim.load(entry)
    return claim.Certificate(entry.name, entry.kind, entry.source, claim.settle(made, {}) | {}, 10**9, "verified", made.assumption, 0.5)


def test_tables_fit_80_columns_and_keep_every_name_verdict_and_assumption():
    for args in (["list"], ["verify", "T2", "T7", "T8-bound"], ["realise", "--random", "0"], ["explain", "T7"]):
        lines = run(*args, COLUMNS="80").stdout.splitlines()
        assert max(map(len, lines)) <= 80
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(certificate_table([unrun(entry) for entry in claim.catalogue().values()], 80))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    text = " ".join(text.split())
    assert "…" not in text
    for entry in claim.catalogue().values():
        made = claim.load(entry)
        assert entry.name in text
        assert made.assumption is None or made.assumption in text


def test_assumptions_stand_in_a_column_where_there_is_room():
    found = claim.verify(claim.load(claim.catalogue()["T3-stack"]), T=2)
    tables = [certificate_table([found], width).renderables for width in (200, 80)]
    assert [len(parts) for parts in tables] == [3, 4]
    assert [column.header for column in tables[0][0].columns][-2:] == ["source", "assumption"]


def test_a_scope_is_printed_as_name_and_value():
    assert scope_text({"d": "1..3", "r": 5}) == "d=1..3, r=5"


def test_colour_goes_to_terminals_only_and_no_color_is_honoured():
    assert "\x1b" not in run("verify", "T3", NO_COLOR="").output
    assert "\x1b[32m" in run("verify", "T3", FORCE_COLOR="1", NO_COLOR="", TERM="xterm").stdout
    assert "\x1b[3" not in run("verify", "T3", FORCE_COLOR="1", NO_COLOR="1", TERM="xterm").stdout


@pytest.mark.parametrize(("offsets", "count", "ceiling"), [("large", 382, 382), ("none", 256, 256)])
def test_a_random_head_realises_the_published_count(offsets, count, ceiling):
    row = json.loads(run("realise", "--random", "3", "--offsets", offsets, "--json").stdout)
    assert (row["r"], row["head_dim"], row["sets"], row["realisable"], row["ceiling"]) == (10, 4, 512, count, ceiling)
    assert row["offsets"] == (offsets != "none")


def test_a_head_file_is_read_exactly_and_its_certificate_checks(head):
    keys = [["1/3", 0.1], [1, 2], ["2/3", "-5"], [0, 0.30000000000000004], ["7", "1/9"], [1, 1]]
    data = {"keys": keys, "offsets": ["1/7", 0, 1, 2.5, "3", 4]}
    row = json.loads(run("realise", "--head", head(data), "--json").stdout)
    first = row["first_impossible"]
    proof = Impossible(tuple(int(w) for w in first["lambda"]), tuple(first["alive"]))
    assert refutes(proof, data["keys"], data["offsets"])
    assert row["realisable"] < row["sets"] == 32


def test_the_midpoint_head_prints_its_impossible_set_by_hand(head):
    """Keys 1, 2, 0: -2 k_1 + k_2 + k_3 = 0, so keys 2 and 3 alive with 1 dead is impossible: 3 of 4 sets."""
    text = run("realise", "--head", head({"keys": [[1], [2], [0]], "offsets": None})).stdout
    assert "realisable 3 of 4" in text
    assert [line.split() for line in text.splitlines() if line.split()[1:2] in (["dead"], ["alive"])] == [
        ["1", "dead", "-2"],
        ["2", "alive", "1"],
        ["3", "alive", "1"],
    ]


def test_a_head_without_an_impossible_set_says_so(head):
    assert "no set is impossible" in run("realise", "--head", head({"keys": [[1], [0]]})).stdout
    assert json.loads(run("realise", "--head", head({"keys": [[1], [0]]}), "--json").stdout)["first_impossible"] is None


def test_long_weights_are_rounded_in_the_table_and_said_to_be(head):
    keys = [[str(Fraction(10**15 + 7**n, 3**n))] for n in range(4)]
    text = run("realise", "--head", head({"keys": keys})).stdout
    assert "exact in --json" in text


@pytest.mark.parametrize("command", [[], ["list"], ["explain"], ["verify"], ["check"], ["realise"]])
def test_help_comes_by_both_spellings_and_opens_with_examples(command):
    short, long = run(*command, "-h"), run(*command, "--help")
    assert short.exit_code == long.exit_code == 0
    assert short.stdout == long.stdout
    lines = [line.strip() for line in short.stdout.splitlines() if line.strip()]
    assert lines[0].startswith("Usage: ")
    assert lines[1].startswith(" ".join(["theory", *command]))


def test_a_deep_run_takes_the_deep_scope(failing):
    failing(claim.Case(True))
    rows = [json.loads(run("verify", "T5-tight", *more, "--json").stdout)["claims"][0]["scope"] for more in ([], ["--deep"], ["--r", "4"])]
    assert rows == [{"r": 3}, {"r": 8}, {"r": 4}]


def test_processes_give_what_one_process_gives_in_the_order_of_the_claims():
    alone, together = (json.loads(run("verify", "T3", "T2-signs", "--json", "--jobs", jobs).stdout)["claims"] for jobs in ("1", "2"))
    assert [row | {"seconds": 0} for row in alone] == [row | {"seconds": 0} for row in together]
    assert "T3-stack: verified" in run("verify", "T3", "--jobs", "3").stderr


def test_markdown_has_a_row_a_claim_and_escapes_bars():
    lines = run("verify", "T2-final", "T1-ladder", "--markdown").stdout.splitlines()
    assert lines[0].startswith("| claim | verdict |")
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| T2-final", "| T1-ladder"]
    assert "steps=-1, 0, 1 \\| -1, 1" in lines[2]
    assert {line.replace("\\|", "").count("|") for line in lines[:4]} == {9}
    assert lines[-1].startswith("2 claims: 2 verified")
    assert run("verify", "T3", "--markdown", "--json").exit_code == 2


def test_the_footer_counts_verdicts_and_assumptions(failing):
    failing(claim.Case(False, 1))
    assert "1 claims: 0 verified, 0 supported, 1 refuted; 0 of those that hold" in run("verify", "T5-tight").stdout
    failing()
    assert "0 refuted, 1 vacuous" in run("verify", "T5-tight").stdout


def test_certificates_are_written_and_check_holds_until_one_is_changed(tmp_path):
    folder = tmp_path / "new" / "certificates"
    assert run("verify", "T5-tight", "T3", "--certificates", str(folder)).exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["T3-monotone.json", "T3-no-suffix.json", "T3-stack.json", "T5-tight.json"]
    result = run("check", str(folder))
    assert result.exit_code == 0
    assert "4 certificates: 4 hold, 0 do not" in result.stdout
    assert "without a certificate: T1-ladder" in result.stdout
    path = folder / "T5-tight.json"
    text = path.read_text()
    changed = text.replace('"cases": 262144', '"cases": 262143'), text.replace("Some head of dimension", "Every head of dimension"), "{"
    for tampered in changed:
        path.write_text(tampered)
        result = run("check", str(folder))
        assert result.exit_code == 1
        assert "4 certificates: 3 hold, 1 do not" in result.stdout
    assert "malformed" in result.stdout


def test_check_of_no_directory_or_no_certificate_is_bad_input(tmp_path):
    for folder, message in ((tmp_path / "none", "no such directory"), (tmp_path, "no certificate")):
        result = run("check", str(folder))
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr


def test_explain_takes_a_name_a_family_or_a_title_and_tells_all_parts():
    by_title, by_family = run("explain", "rank-bound").stdout, run("explain", "T5").stdout
    assert by_title == by_family
    text = " ".join(run("explain", "T7-gate").stdout.split())
    assert "T7-gate (this project; theory/claims/t7_gates.py)" in text
    for part in ("statement A forget gate", "assumes the gate reads", "proof Keys k_s", "limits FPA does it", "r=20 (with --deep: r=24)"):
        assert part in text
    assert "checked every word, in integers. exhaustive: every instance" in text
    assert "a run can refute it, not prove it" in " ".join(run("explain", "T5-bound").stdout.split())
    assert run("explain", "rank-bount").stderr.strip().endswith("the nearest is rank-bound")


def test_every_claim_explains_itself():
    text = " ".join(run("explain", *claim.catalogue()).stdout.split())
    for entry in claim.catalogue().values():
        assert entry.statement in text


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


def test_no_arguments_show_the_help():
    assert "Usage:" in run().output
    assert "--head FILE or --random SEED" in run("realise").stderr
    assert "Missing argument" in run("explain").stderr


def test_version_is_printed():
    assert run("--version").stdout.startswith("attnprobe ")


def test_help_and_list_import_no_numerical_package():
    for args in (["-h"], ["list"], ["explain", "-h"], ["verify", "-h"], ["check", "-h"], ["realise", "-h"]):
        code = (
            "import sys\nfrom attnprobe.cli.theory import app\n"
            f"try:\n    app({args})\nexcept SystemExit as end:\n    assert not end.code\n"
            "print([m for m in ('numpy', 'scipy', 'sympy', 'networkx', 'torch') if m in sys.modules])"
        )
        last = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()[-1]
        assert last == "[]"


def test_a_certificate_without_evidence_is_told_from_one_that_was_redone(tmp_path):
    from attnprobe.theory import certificates

    for name, evidence in {"T19-fly": [], "T8-bound": [{"words": 1 << 12}]}.items():
        entry, made = claim.catalogue()[name], claim.load(claim.catalogue()[name])
        scope = {key: getattr(value, "default", value) for key, value in made.scope.items()}
        row = {"name": name, "kind": entry.kind, "source": entry.source, "statement": entry.statement, "scope": scope, "cases": 1}
        row |= {"verdict": claim.PASSED[entry.kind], "assumption": made.assumption, "versions": {}, "evidence": evidence}
        (tmp_path / f"{name}.json").write_text(certificates.sealed(row))
    lines = run("check", str(tmp_path)).stdout.splitlines()
    assert any("T19-fly.json" in line and "nothing was computed again" in line for line in lines)
    assert not any("T8-bound.json" in line and "nothing was computed again" in line for line in lines)

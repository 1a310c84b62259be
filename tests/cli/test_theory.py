"""The command theory: lists and explanations, widths, colour, help, and one-line errors."""

import io
import subprocess
import sys

import pytest
from rich.console import Console

from attnprobe.cli.theory_tables import certificate_table, scope_text
from attnprobe.theory import claim


def test_list_names_every_claim_with_its_kind_and_source(theory):
    result = theory("list")
    assert result.exit_code == 0
    for entry in claim.catalogue().values():
        row = next(line for line in result.stdout.splitlines() if line.startswith(f"{entry.name} "))
        assert entry.kind in row
        assert entry.source.split()[0] in row


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["verify", "T3", "--r", "9"], "T3 takes no r"),
        (["verify", "T1", "T3-stack", "--r", "9"], "T3-stack takes no r"),
        (["verify", "T1-lader"], "no claim is named 'T1-lader'; did you mean 'T1-ladder'?"),
        (["explain", "t5"], "no claim is named 't5'; did you mean 'T5'?"),
        (["verify", ""], "no claim is named ''; theory list prints their names"),
        (["verify", "T1-ladder", "--r", "27"], "r must be in 2..26 for T1-ladder, got 27"),
        (["verify", "--r", "15"], "r must be in 2..14 for T1-literal, got 15"),
        (["verify", "T3", "--jobs", "0"], "jobs"),
        (["explain", "T99"], "no claim is named 'T99'"),
        (["realise", "--r", "5"], "give either --head FILE or --random SEED"),
        (["realise", "--random", "0", "--r", "21"], "--r must be in 1..20, got 21"),
        (["realise", "--random", "0", "--head-dim", "0"], "--head-dim must be in 1..1024, got 0"),
        (["realise", "--random", "-1"], "--random must be in 0"),
        (["realise", "--head", "/no/such/file"], "/no/such/file: No such file or directory"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(theory, args, message):
    result = theory(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def unrun(entry):
    """A Certificate of a claim that was not run."""
    made = claim.load(entry)
    return claim.Certificate(entry.name, entry.kind, entry.source, claim.settle(made, {}) | {}, 10**9, "verified", made.assumption, 0.5)


def test_tables_fit_80_columns_and_keep_every_name_verdict_and_assumption(theory):
    for args in (["list"], ["verify", "T2", "T7", "T8-bound"], ["realise", "--random", "0"], ["explain", "T7"]):
        lines = theory(*args, COLUMNS="80").stdout.splitlines()
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


def test_colour_goes_to_terminals_only_and_no_color_is_honoured(theory):
    assert "\x1b" not in theory("verify", "T3", NO_COLOR="").output
    assert "\x1b[32m" in theory("verify", "T3", FORCE_COLOR="1", NO_COLOR="", TERM="xterm").stdout
    assert "\x1b[3" not in theory("verify", "T3", FORCE_COLOR="1", NO_COLOR="1", TERM="xterm").stdout


@pytest.mark.parametrize("command", [[], ["list"], ["explain"], ["verify"], ["check"], ["realise"]])
def test_help_comes_by_both_spellings_and_opens_with_examples(theory, command):
    short, long = theory(*command, "-h"), theory(*command, "--help")
    assert short.exit_code == long.exit_code == 0
    assert short.stdout == long.stdout
    lines = [line.strip() for line in short.stdout.splitlines() if line.strip()]
    assert lines[0].startswith("Usage: ")
    assert lines[1].startswith(" ".join(["theory", *command]))


def test_explain_takes_a_name_a_family_or_a_title_and_tells_all_parts(theory):
    by_title, by_family = theory("explain", "rank-bound").stdout, theory("explain", "T5").stdout
    assert by_title == by_family
    text = " ".join(theory("explain", "T7-gate").stdout.split())
    assert "T7-gate (this project; theory/claims/t7_gates.py)" in text
    for part in ("statement A forget gate", "assumes the gate reads", "proof Keys k_s", "limits FPA does it", "r=20 (with --deep: r=24)"):
        assert part in text
    assert "checked every word, in integers. exhaustive: every instance" in text
    assert "a run can refute it, not prove it" in " ".join(theory("explain", "T5-bound").stdout.split())
    assert theory("explain", "rank-bount").stderr.strip().endswith("did you mean 'rank-bound'?")


def test_every_claim_explains_itself(theory):
    text = " ".join(theory("explain", *claim.catalogue()).stdout.split())
    for entry in claim.catalogue().values():
        assert entry.statement in text


def test_no_arguments_show_the_help(theory):
    assert "Usage:" in theory().output
    assert "--head FILE or --random SEED" in theory("realise").stderr
    assert "Missing argument" in theory("explain").stderr


def test_version_is_printed(theory):
    assert theory("--version").stdout.startswith("attnprobe ")


def test_help_and_list_import_no_numerical_package():
    for args in (["-h"], ["list"], ["explain", "-h"], ["verify", "-h"], ["check", "-h"], ["realise", "-h"]):
        code = (
            "import sys\nfrom attnprobe.cli.theory import app\n"
            f"try:\n    app({args})\nexcept SystemExit as end:\n    assert not end.code\n"
            "print([m for m in ('numpy', 'scipy', 'sympy', 'networkx', 'torch') if m in sys.modules])"
        )
        last = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()[-1]
        assert last == "[]"

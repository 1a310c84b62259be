"""Help, completion and citations: what every command says of itself, walked over all commands."""

import os
import re
import subprocess
import sys

import pytest
import typer
from rich.text import Text
from typer.testing import CliRunner

from attnprobe.cli import completion, probe, theory
from attnprobe.cli.citations import PAPERS, papers
from attnprobe.cli.task_command import TaskGroup
from attnprobe.probes.spec import REGISTRIES, parse
from attnprobe.probes.tasks import TASKS

APPS = {"probe": probe.app, "theory": theory.app}


def invoke(program, *arguments, columns=120):
    return CliRunner().invoke(APPS[program], list(arguments), env={"COLUMNS": str(columns)})


def walk(group, path):
    """Every command below a group, itself first: (path of names, the command)."""
    yield path, group
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if not command.hidden:
            yield from walk(command, (*path, name)) if hasattr(command, "list_commands") else [((*path, name), command)]


def some(group, path):
    """The paths of `walk`, but of a group of tasks the first and the last alone."""
    paths = [found for found, _ in walk(group, path)]
    groups = {found for found, command in walk(group, path) if isinstance(command, TaskGroup)}
    ends = {at: [found for found in paths if found[:-1] == at] for at in groups}
    return [found for found in paths if found[:-1] not in groups or found in (ends[found[:-1]][0], ends[found[:-1]][-1])]


EVERY = {path: command for name, app in APPS.items() for path, command in walk(typer.main.get_command(app), (name,))}
COMMANDS = [path for name, app in APPS.items() for path in some(typer.main.get_command(app), (name,))]
ROOM = 78  # columns of help on a terminal of 80


def examples(path):
    """The lines of a command's examples, as they are read."""
    paragraphs = (one for one in EVERY[path].help.split("\n\n") if one.startswith("[bold]"))
    return [Text.from_markup(line).plain for one in paragraphs for line in one.splitlines()]


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_an_example_fits_on_a_line_of_80_columns(path):
    assert examples(path)
    assert [line for line in examples(path) if len(line) > ROOM] == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_at_80_columns_has_each_example_whole_and_its_prose_as_wide(path):
    program, *rest = path
    shown = [line.strip() for line in invoke(program, *rest, "-h", columns=80).stdout.splitlines()]
    assert [line for line in examples(path) if line.strip() not in shown] == []
    assert not [one for one in EVERY[path].help.split("\n\n") if not one.startswith("[bold]") and "\n" in one]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_s_help_opens_with_an_example_of_itself(path):
    program, *rest = path
    done = invoke(program, *rest, "-h")
    assert done.exit_code == 0
    assert done.stdout == invoke(program, *rest, "--help").stdout
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert lines[0].startswith("Usage: ")
    example = next(line for line in lines[1:] if line.startswith(program))
    assert example.startswith(" ".join(path))
    assert lines[1].startswith(program) or lines[2].startswith(program)  # a long usage takes two lines


@pytest.mark.parametrize("program", APPS)
def test_the_exit_codes_stand_in_the_help(program):
    text = " ".join(invoke(program, "-h").stdout.split())
    assert "Exit codes: 0; 1 " in text
    assert "130 interrupted" in text


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        (("probe", "lst"), "list"),
        (("probe", "run", "lader"), "ladder"),
        (("probe", "run", "ladder", "--sed", "3"), "--seeds"),
        (("probe", "run", "ladder", "--arm", "rope+alib"), "alibi"),
        (("probe", "run", "ladder", "--arm", "swa(v=3)"), "w"),
        (("probe", "plot", "curvs"), "curves"),
        (("probe", "check", "ladde"), "ladder"),
        (("probe", "matrix", "--tasks", "recal"), "recall"),
        (("theory", "explain", "T5-tigh"), "T5-tight"),
        (("theory", "verfy"), "verify"),
        (("theory", "verify", "--jsn"), "--json"),
        (("theory", "explain", "rank-bond"), "rank-bound"),
        (("probe", "cite", "fpaa"), "fpa"),
    ],
)
def test_what_is_mistyped_is_answered_with_the_nearest(typed, near):
    done = invoke(*typed)
    assert done.exit_code == 2
    assert near in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_arm_is_completed_by_the_parts_of_axes_that_it_lacks():
    assert completion.arms("pn_") == ["pn_fir_tau"]
    found = completion.arms("rope+fpa/fir(taps=5)+f")
    assert "rope+fpa/fir(taps=5)+fox" in found
    assert not [text for text in found if text.endswith("+fir")]
    assert "rope+nope" not in completion.arms("rope+")
    assert all(parse(text) for text in completion.arms("fir+"))


def test_naming_the_commands_loads_none_of_what_they_run():
    """What -h would wait for: tables, verdicts and the parts of mechanisms."""
    show = "import sys, attnprobe.cli.probe; print(*(name for name in sys.modules if name.startswith(('attnprobe', 'rich.table'))))"
    loaded = set(subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout.split())
    assert "attnprobe.cli.export_command" in loaded
    assert not loaded & {"attnprobe.cli.tables", "attnprobe.cli.verdict", "attnprobe.probes.spec", "attnprobe.theory.rank", "rich.table"}


@pytest.mark.parametrize("group", ["run", "show"])
def test_help_that_lists_the_tasks_imports_none(group):
    show = "import sys, atexit; from attnprobe.cli import probe; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); probe.app()"
    asked = subprocess.run([sys.executable, "-c", show, group, "-h"], capture_output=True, text=True, check=True)
    assert "push-pop" in asked.stdout
    assert not {"attnprobe.probes.tasks.push_pop", "attnprobe.probes.tasks.ladder"} & set(asked.stderr.split())


COMPLETE = """
import sys
from attnprobe.cli import {program}
sys.argv = [{program!r}]
try:
    {program}.app(prog_name={program!r})
finally:
    print(*sorted({{"numpy", "torch", "sympy", "scipy", "matplotlib"}} & set(sys.modules)), file=sys.stderr, end="")
"""


@pytest.mark.parametrize(
    ("typed", "some", "never"),
    [
        ("probe run la", ["ladder", "latch"], "recall"),
        ("probe run ladder --ar", ["--arm"], "--seeds"),
        ("probe run ladder --arm rope+fp", ["rope+fpa", "rope+fpa-hard"], "rope+fir"),
        ("probe field latch --arm rop", ["rope"], "nope"),
        ("probe plot walk --arm al", ["alibi", "alibi-fixed"], "fpa"),
        ("probe check co", ["copy", "count"], "fpa"),
        ("probe cite fp", ["fpa", "fpa-sum"], "ladder"),
        ("probe matrix --tasks ladder,re", ["ladder,recall"], "recall"),
        ("probe matrix --mixers rope,fir(taps=5,sigma=2)+f", ["rope,fir(taps=5,sigma=2)+fpa"], "rope,fir(taps=5,sigma=2)+fir"),
        ("theory ver", ["verify"], "list"),
        ("theory verify T5-t", ["T5-tight"], "T5-grid"),
        ("theory explain ra", ["rank-bound"], "T5"),
        ("probe run lader --ar", [], "--arm"),
    ],
)
def test_a_shell_completes_what_is_typed_and_loads_nothing_heavy_for_it(typed, some, never):
    program, words = typed.split()[0], typed.split()
    bash = {f"_{program.upper()}_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    code = COMPLETE.format(program=program)
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | bash, capture_output=True, text=True)
    found = done.stdout.split()
    assert set(some) <= set(found)
    assert never not in found
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_the_program(shell):
    done = subprocess.run(
        [sys.executable, "-c", "from attnprobe.cli import probe; probe.app(prog_name='probe')"],
        env=os.environ | {"_PROBE_COMPLETE": f"source_{shell}"},
        capture_output=True,
        text=True,
    )
    assert f"_PROBE_COMPLETE=complete_{shell}" in done.stdout


def test_every_source_of_a_part_or_a_task_is_cited_or_ours():
    entries = [*TASKS.entries.values(), *(entry for registry in REGISTRIES.values() for entry in registry.entries.values())]
    for entry in entries:
        source = entry.facts.get("paper", "")
        assert papers(source) or source in ("", "no position encoding") or source.startswith("ours"), entry.name
    assert len({entry.key for entry in PAPERS.values()}) == len(PAPERS)


def test_cite_prints_bibtex_of_each_paper_once_and_names_what_has_none():
    done = invoke("probe", "cite", "ladder", "fpa", "rope+fir/softmax", "rope>sa(w=4)", "nope")
    assert done.exit_code == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("@")] == [
        "@software{attnprobe,",
        "@misc{fpa,",
        "@misc{zhukov2026,",
        "@article{su2021,",
        "@article{jin2026,",
    ]
    assert "nope: nothing to cite" in done.stderr
    assert done.stdout.count("{") == done.stdout.count("}")
    assert "expire" not in str(papers(REGISTRIES["bias"].entries["expiry"].facts["paper"])).lower()  # it says what it is not


@pytest.mark.parametrize(
    ("arm", "keys"),
    [
        ("fpa@4", ["fpa"]),
        ("rope+softmax/fpa", ["su2021", "fpa"]),
        ("rope+softmax/fpa@16", ["su2021", "fpa"]),
        ("fir(taps=5)+fpa@8", ["zhukov2026", "fpa"]),
        ("fpa:clamp=0.3/fpa@4", ["fpa"]),
        ("rope>sa(w=4)@6", ["su2021", "jin2026"]),
        ("pn_fir_tau@8", ["zhukov2026"]),
        ("softmax+nope@8", ["vaswani2017"]),
        ("softmax/softmax", ["vaswani2017"]),
        ("softmax@4", ["vaswani2017"]),
    ],
)
def test_an_arm_of_any_form_is_cited_by_its_parts(arm, keys):
    done = invoke("probe", "cite", arm)
    assert done.exit_code == 0, done.output
    found = [line.partition("{")[2].rstrip(",") for line in done.stdout.splitlines() if line.startswith("@")]
    assert found == ["attnprobe", *keys]


def test_an_arm_of_no_known_part_or_width_is_one_line():
    for arm, says in (("fpaa@4", "did you mean 'fpa'"), ("fpa@0", "head_dim must be from 1"), ("fpa@x", "takes int")):
        done = invoke("probe", "cite", arm)
        assert done.exit_code == 2
        assert says in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_citation_holds_what_is_sure_alone():
    """Every entry has a title; FPA's source gives no more than the mechanism's name. Preprints have their number, TeX its escapes."""
    assert all(dict(entry.fields)["title"] for entry in PAPERS.values())
    assert [entry.key for entry in PAPERS.values() if {"author", "year"} - dict(entry.fields).keys()] == ["fpa"]
    assert str(PAPERS["FPA"]).startswith("@misc{fpa,\n  title = {{FPA}},\n  note  = {the mechanism's name; ")
    preprints = [dict(entry.fields) for entry in PAPERS.values() if dict(entry.fields).get("journal") == "arXiv"]
    assert len(preprints) == 7
    assert all(re.fullmatch(r"\d{4}\.\d{5}", fields["eprint"]) for fields in preprints)
    assert "pn\\_fir\\_tau" in str(PAPERS["Zhukov 2026"])

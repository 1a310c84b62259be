"""`probe reproduce`: run what the sources' figures need, and hold each figure against ours."""

import json
import shlex
import sys
from typing import Annotated, Literal

import typer

from attnprobe.cli import completion
from attnprobe.cli.shell import EXIT_CONTRADICTION, EXIT_SEEDS_FAILED, command

QUICK_SEEDS = "100:105"
WHAT, TRAINING, OUTPUT, REFERENCE = "What is reproduced", "How it is trained and where it is kept", "What is printed", "A frozen reference"


def flag(default, text, panel, *names, complete=None):
    """The option of a parameter."""
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=default, autocompletion=complete)


@command
def reproduce(
    source: Annotated[Literal["fpa", "pn-fir-tau", "stochastic", "all"], typer.Argument(help="Whose figures.")] = "all",
    quick: Annotated[bool, flag(False, "Five seeds and fewer figures.", WHAT, "--quick")] = False,
    tasks: Annotated[
        str | None,
        flag(
            "all",
            "Figures of these tasks alone, joined by commas; `theory` is what is computed.",
            WHAT,
            complete=completion.tasks_by_comma,
        ),
    ] = None,
    seeds: Annotated[str | None, flag(f"100:115, --quick {QUICK_SEEDS}", "A count (15 is 0:15) or a range.", WHAT)] = None,
    steps: Annotated[int | None, flag("the recipe's", "Optimiser steps of every arm: a smoke test, no reproduction.", TRAINING)] = None,
    workers: Annotated[int | None, flag("one a core, at most 4", "Arms trained side by side.", TRAINING)] = None,
    store: Annotated[
        str, typer.Option(help="Directory of results; what it holds is not computed again.", rich_help_panel=TRAINING, envvar="PROBE_STORE")
    ] = "results",
    dry_run: Annotated[
        bool, flag(False, "Print the runs, what is stored and a measured cost estimate; train nothing.", OUTPUT, "--dry-run")
    ] = False,
    as_json: Annotated[bool, flag(False, "Print the rows as JSON, and nothing else, on stdout.", OUTPUT, "--json")] = False,
    as_csv: Annotated[bool, flag(False, "Print every column as CSV, and nothing else, on stdout.", OUTPUT, "--csv")] = False,
    as_markdown: Annotated[bool, flag(False, "Print the tables as markdown, and nothing else, on stdout.", OUTPUT, "--markdown")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No estimate and no progress on stderr.", rich_help_panel=OUTPUT)] = False,
    check: Annotated[bool, flag(False, "Say what moved against the reference; exit 1 if a verdict did.", REFERENCE, "--check")] = False,
    reference: Annotated[str | None, flag("the one that ships", "The reference of --check.", REFERENCE, "--reference")] = None,
    freeze: Annotated[str | None, flag(False, "Also write the rows to this file, a reference for --check.", REFERENCE, "--freeze")] = None,
):
    """[bold]probe reproduce[/bold]               every figure of the three sources

    [bold]probe reproduce fpa --quick[/bold]   five seeds and fewer arms, minutes

    [bold]probe reproduce --dry-run[/bold]     what is stored, and what is left

    [bold]probe reproduce --check[/bold]       what moved against the reference

    A row a figure: the source's, ours with its 95 % interval, the paired exact p of the source's winner against the arm, and a verdict by a
    written rule. What the store holds is not computed again: an interrupted run goes on where it stopped.
    """
    from attnprobe.cli import frozen, inputs
    from attnprobe.cli.reproduction import chosen, plan
    from attnprobe.probes.papers import FIGURES, SOURCES
    from attnprobe.probes.run import default_workers
    from attnprobe.probes.store import Store
    from attnprobe.probes.tasks import TASKS

    if dry_run + as_json + as_csv + as_markdown + check > 1:
        raise ValueError("--json, --csv, --markdown, --check and --dry-run each print their own form: give one of them")
    for name, value in {"workers": workers, "steps": steps}.items():
        if value is not None and value < 1:
            raise ValueError(f"--{name} must be at least 1, not {value}")
    ids = inputs.seeds(seeds or (QUICK_SEEDS if quick else "100:115"))
    sources = tuple(SOURCES) if source == "all" else (source,)
    figures = chosen(FIGURES, sources, quick, named(tasks, TASKS))
    if not figures:
        raise ValueError(f"--tasks {tasks}: {source}{' --quick' * quick} has no figure of it")
    expected = frozen.read(reference) if check else None
    runs = plan(figures, TASKS, steps)
    kept = Store(store, warn=lambda line: print(f"warning: {line}", file=sys.stderr))
    workers = workers or default_workers()
    report = carry_out(figures, runs, ids, kept, workers, quiet, dry_run)
    if report is None:
        return
    report |= {"command": shlex.join(["probe", *sys.argv[1:]]), "steps": steps, "sources": list(sources)}
    if freeze:
        frozen.write(freeze, report)
    if check:
        finish_check(frozen.moved(expected, report), expected, report)
    else:
        finish(report, as_json, as_csv, as_markdown)


def named(tasks, known):
    """The tasks named, checked; all that are registered, and theory, for None. Raises ValueError."""
    from attnprobe.probes.papers.figure import COMPUTED
    from attnprobe.probes.registry import nearest

    known = [*known, COMPUTED]
    asked = known if tasks is None else [name.strip() for name in tasks.split(",")]
    for name in asked:
        if name not in known:
            raise ValueError(f"--tasks: unknown task {name!r}{nearest(name, known)}")
    return asked


def carry_out(figures, runs, seeds, store, workers, quiet, dry_run):
    """Estimate, train what is missing, return the report; None after a dry run."""
    from attnprobe.cli import reproduction
    from attnprobe.cli.cost import estimate
    from attnprobe.cli.progress import watch
    from attnprobe.cli.report import contradiction, versions
    from attnprobe.probes.run import run_probe

    for line in () if quiet and not dry_run else estimate([(run, run.task, run.arms, run.recipe) for run in runs], seeds, store, workers):
        print(line, file=sys.stdout if dry_run else sys.stderr, flush=True)
    if dry_run:
        return None
    results = {}
    for at, run in enumerate(runs, 1):
        if not quiet:
            print(f"[{at}/{len(runs)}] {run}", file=sys.stderr, flush=True)
        with watch(run.arms, run.recipe.steps, quiet) as seen:
            results[run] = run_probe(run.task, run.arms, seeds, run.recipe, store, workers=workers, watch=seen)
    found = [result for arms in results.values() for result in arms]
    against = [line for run, arms in results.items() for result in arms if (line := contradiction(run.task, result))]
    rows = reproduction.rows(figures, results)
    seen = {"seeds": list(seeds), "versions": versions(found), "contradictions": against}
    return {"schema": reproduction.SCHEMA, **seen, "rows": rows}


def finish(report, as_json, as_csv, as_markdown):
    """Print the report in the form asked for; exit 1 on a contradiction with a theorem, 3 if seeds failed."""
    from attnprobe.cli import reproduction_export, reproduction_tables
    from attnprobe.cli.shell import console

    if as_json:
        print(json.dumps(report, allow_nan=False))
    elif as_csv:
        print(reproduction_export.csv_text(report), end="")
    elif as_markdown:
        print(reproduction_export.markdown_text(report), end="")
    else:
        out = console()
        for item in reproduction_tables.pages(report, out):
            out.print(item)
    leave(report)


def leave(report):
    """Exit 1 on a contradiction with a theorem, 3 if seeds failed."""
    for line in report["contradictions"]:
        print(f"CONTRADICTION with a theorem: {line}. One of the two is wrong: please report it.", file=sys.stderr)
    if report["contradictions"]:
        raise typer.Exit(EXIT_CONTRADICTION)
    if any(row["failed"] for row in report["rows"]):
        raise typer.Exit(EXIT_SEEDS_FAILED)


def finish_check(moves, expected, report):
    """Print what moved; exit 1 if a verdict did."""
    from attnprobe.cli import frozen
    from attnprobe.cli.shell import console

    out = console()
    for line in frozen.lines(moves, expected, report):
        out.print(line, highlight=False, markup=False)
    if any(move["verdict"] for move in moves):
        raise typer.Exit(EXIT_CONTRADICTION)
    leave(report)

"""`probe matrix`: named mechanisms by tasks, solved seeds in every cell."""

import dataclasses
import json
import re
import shlex
import sys
from typing import Annotated

import typer

from attnprobe.cli import completion
from attnprobe.cli.load import LoadOption
from attnprobe.cli.lr_grid import SELECTION
from attnprobe.cli.shell import EXIT_CONTRADICTION, EXIT_SEEDS_FAILED, command

COMMA = re.compile(r",(?![^()]*\))")  # a comma outside parentheses
WHAT, TRAINING, OUTPUT = "What is crossed", "How it is trained and where it is kept", "What is printed"


def flag(default, text, panel, *names, complete=None):
    """The option of a parameter."""
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=default, autocompletion=complete)


@command
def matrix(
    tasks: Annotated[str | None, flag("all", "Tasks, joined by commas.", WHAT, complete=completion.tasks_by_comma)] = None,
    mixers: Annotated[
        str | None,
        flag("the named ones", "Mechanisms: names or specs, joined by commas.", WHAT, complete=completion.arms_by_comma),
    ] = None,
    load: LoadOption = None,
    seeds: Annotated[str, flag(True, "A count (5 is 0:5) or a range (100:105).", TRAINING)] = "5",
    steps: Annotated[int | None, flag("each recipe's", "Optimiser steps of every arm: a smoke test.", TRAINING)] = None,
    lr_grid: Annotated[
        str | None, flag("each recipe's rate", "Choose each arm's learning rate among these, on selection seeds.", TRAINING, "--lr-grid")
    ] = None,
    select_seeds: Annotated[str | None, flag(SELECTION, "The selection seeds of --lr-grid.", TRAINING, "--select-seeds")] = None,
    workers: Annotated[int | None, flag("one a core, at most 4", "Arms trained side by side.", TRAINING)] = None,
    store: Annotated[
        str, typer.Option(help="Directory of results; what it holds is not computed again.", rich_help_panel=TRAINING, envvar="PROBE_STORE")
    ] = "results",
    dry_run: Annotated[
        bool, flag(False, "Print the runs, what is stored and a measured cost estimate; train nothing.", OUTPUT, "--dry-run")
    ] = False,
    as_json: Annotated[bool, flag(False, "Print the cells as JSON, and nothing else, on stdout.", OUTPUT, "--json")] = False,
    as_csv: Annotated[bool, flag(False, "Print every column as CSV, and nothing else, on stdout.", OUTPUT, "--csv")] = False,
    as_markdown: Annotated[bool, flag(False, "Print the table as markdown, and nothing else, on stdout.", OUTPUT, "--markdown")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No estimate and no progress on stderr.", rich_help_panel=OUTPUT)] = False,
):
    """[bold]probe matrix[/bold]                              all, on five seeds

    [bold]probe matrix --tasks ladder,recall --mixers fpa,rope,fir+fpa[/bold]

    [bold]probe matrix --lr-grid 0.003,0.01,0.03 [/bold]   rates by other seeds

    Train the product of tasks and mechanisms, skip what is stored, and print how many seeds each solves, with theory's word beside it.
    """
    from attnprobe.cli import inputs
    from attnprobe.cli import load as loading
    from attnprobe.cli import lr_grid as grids
    from attnprobe.cli.matrix import plan
    from attnprobe.probes.named_mixers import NAMED, named
    from attnprobe.probes.run import default_workers
    from attnprobe.probes.store import Store
    from attnprobe.probes.tasks import TASKS

    if dry_run + as_json + as_csv + as_markdown > 1:
        raise ValueError("--json, --csv, --markdown and --dry-run each print their own form: give one of them")
    for name, value in {"workers": workers, "steps": steps}.items():
        if value is not None and value < 1:
            raise ValueError(f"--{name} must be at least 1, not {value}")
    ids = inputs.seeds(seeds)
    grid = grids.read(lr_grid, select_seeds, ids)
    if grid and dry_run:
        raise ValueError("--lr-grid chooses rates by training: leave out --dry-run")
    chosen = dict.fromkeys(named(text) for text in split(mixers)) if mixers is not None else NAMED
    rows = [plan(TASKS[name](), tuple(chosen)) for name in dict.fromkeys(split(tasks) if tasks is not None else TASKS)]
    loading.tell([arm.spec for row in rows for arm in row.distinct], lambda names: ["--mixers", ",".join(names)], quiet)
    kept = Store(store, warn=lambda line: print(f"warning: {line}", file=sys.stderr))
    made = carry_out(rows, tuple(chosen), ids, grid, steps, kept, workers or default_workers(), quiet, dry_run)
    if made is not None:
        finish(made | {"command": shlex.join(["probe", *sys.argv[1:]]), "steps": steps}, as_json, as_csv, as_markdown)


def split(text):
    """Words between commas that stand outside parentheses."""
    return [word.strip() for word in COMMA.split(text)]


def carry_out(rows, mixers, seeds, grid, steps, store, workers, quiet, dry_run):
    """Estimate, train what is missing, return the matrix; None after a dry run."""
    from attnprobe.cli import lr_grid as grids
    from attnprobe.cli import matrix
    from attnprobe.cli.cost import estimate
    from attnprobe.cli.progress import watch
    from attnprobe.probes.run import run_probe

    runs = [(row, dataclasses.replace(row.task.recipe, steps=steps or row.task.recipe.steps)) for row in rows]
    planned = [(row.task.name, row.task, row.distinct, recipe) for row, recipe in runs if row.arms]
    for line in () if quiet and not dry_run else estimate(planned, seeds, store, workers, grid):
        print(line, file=sys.stdout if dry_run else sys.stderr, flush=True)
    if dry_run:
        return None
    results, points = [], []
    for at, (row, recipe) in enumerate(runs, 1):
        if not quiet:
            print(f"[{at}/{len(rows)}] {row.task.name}", file=sys.stderr, flush=True)

        def train(arms, seeds, recipe, task=row.task):
            if not arms:
                return []
            with watch(arms, recipe.steps, quiet) as seen:
                return run_probe(task, arms, seeds, recipe, store, workers=workers, watch=seen)

        found, searched = (
            grids.run(row.task, row.distinct, grid, seeds, recipe, train) if grid else (train(row.distinct, seeds, recipe), None)
        )
        results.append(found)
        points += [{"task": row.task.name} | point for point in searched["points"]] if searched else []
    made = matrix.build(rows, results, mixers, seeds)
    return matrix.with_rates(made, grid, points)


def finish(made, as_json, as_csv, as_markdown):
    """Print the matrix in the form asked for; exit 1 on a contradiction with a theorem, 3 if seeds failed."""
    from attnprobe.cli import matrix_export, matrix_tables
    from attnprobe.cli.shell import console

    if as_json:
        print(json.dumps(made, allow_nan=False))
    elif as_csv:
        print(matrix_export.csv_text(made), end="")
    elif as_markdown:
        print(matrix_export.markdown_text(made), end="")
    else:
        out = console()
        table, numbered = matrix_tables.heat_table(made, out)
        out.print(table)
        for line in matrix_tables.legend(made, numbered):
            out.print(line, style="dim", highlight=False, markup=False)
    for line in made["contradictions"]:
        print(f"CONTRADICTION with a theorem: {line}. One of the two is wrong: please report it.", file=sys.stderr)
    if made["contradictions"]:
        raise typer.Exit(EXIT_CONTRADICTION)
    if any(cell["failed"] for cell in made["cells"]):
        raise typer.Exit(EXIT_SEEDS_FAILED)

"""`probe run TASK`: one command a task, whose options are the fields of the task's dataclass and those that every task shares."""

import dataclasses
import json
import shlex
import sys
from typing import Annotated

import typer

from attnprobe.cli import completion
from attnprobe.cli.lr_grid import SELECTION
from attnprobe.cli.shell import EXIT_CONTRADICTION, EXIT_SEEDS_FAILED
from attnprobe.cli.task_command import TaskGroup, task_options, typer_command
from attnprobe.probes.tasks import TASKS

WINDOW = 16  # of a swapped routing
CHANGES = (
    "clamp=c (at least -c), off-until=K (0 for K steps), warmup=K (growing for K steps), freeze (maps not trained), zero-own (0 from "
    "a value to its own key), only-own (0 elsewhere), zero-offset=j (0 at distance j), const=c (-c from value to own key in its place), "
    "field-scale=a (initial maps times a)"
)
ARMS, TRAINING, OUTPUT = "What is compared", "How it is trained and where it is kept", "What is printed"


def shared_options(task):
    """The options of every task as name -> (annotation, default); defaults that depend on the task are read from it."""
    recipe = task().recipe

    def option(kind, default, text, panel, *flags, **more):
        return Annotated[kind, typer.Option(*flags, help=text, rich_help_panel=panel, **more)], default

    return {
        "arm": option(
            list[str] | None,
            None,
            f"An arm, repeatable; default: {', '.join(task().arms)}.",
            ARMS,
            metavar="SPEC[@D]",
            autocompletion=completion.arms,
        ),
        "head_dim": option(int, task.head_dim, "Head dimension of arms without @D.", ARMS),
        "reference": option(
            str, task.reference, "The arm that the others are compared with.", ARMS, metavar="SPEC[@D]", autocompletion=completion.arms
        ),
        "intervene": option(
            list[str] | None,
            None,
            f"Every arm with FPA's bias in all layers again, changed in layer 1, repeatable: {CHANGES}.",
            ARMS,
            metavar="KIND[=VALUE]",
        ),
        **(
            {"ablation": option(bool, False, f"--intervene with each of: {', '.join(task.ablation)}.", ARMS, "--ablation")}
            if task.ablation
            else {}
        ),
        "control": option(bool, True, "Run the others again at a head dimension that suffices.", ARMS, "--control/--no-control"),
        "swap": option(
            str | None, None, "Judge arms of full routing under these routings too, trained once: swa,sa,union,moba.", ARMS, metavar="NAMES"
        ),
        "window": option(int | None, None, "w of what --swap names; of moba: w / 8 blocks of 8.", ARMS, show_default=str(WINDOW)),
        "seeds": option(str, "15", "A count (15 is 0:15) or a range (100:115).", TRAINING),
        "steps": option(int, recipe.steps, "Optimiser steps.", TRAINING),
        "lr": option(float, recipe.lr, "Peak learning rate.", TRAINING),
        "lr_grid": option(
            str | None,
            None,
            "Choose each arm's rate among these, on selection seeds of their own; every point is exported.",
            TRAINING,
            metavar="LR,LR,...",
        ),
        "select_seeds": option(str | None, None, "The selection seeds of --lr-grid.", TRAINING, show_default=SELECTION),
        "batch": option(int, recipe.batch, "Sequences a seed and step.", TRAINING),
        "device": option(str, "cpu", "cpu or cuda.", TRAINING),
        "threads": option(int, 1, "Torch threads a worker.", TRAINING),
        "workers": option(int | None, None, "Arms trained side by side.", TRAINING, show_default="one a core, at most 4"),
        "store": option(str, "results", "Directory of results; what it holds is not computed again.", TRAINING, envvar="PROBE_STORE"),
        "fresh": option(bool, False, "Compute every seed again, whatever is stored.", TRAINING, "--fresh"),
        "dry_run": option(bool, False, "Print the arms, what is stored and a measured cost estimate; train nothing.", OUTPUT, "--dry-run"),
        "discordant": option(bool, False, "List the seeds that decide each p.", OUTPUT, "--discordant"),
        **({"trace": option(bool, False, "Also print what is followed in training.", OUTPUT, "--trace")} if task().traced else {}),
        "as_json": option(bool, False, "Print the run as JSON, and nothing else, on stdout.", OUTPUT, "--json"),
        "as_csv": option(bool, False, "Print every column as CSV, and nothing else, on stdout.", OUTPUT, "--csv"),
        "as_markdown": option(bool, False, "Print the table as markdown, and nothing else, on stdout.", OUTPUT, "--markdown"),
        "quiet": option(bool, False, "No estimate and no progress on stderr.", OUTPUT, "--quiet", "-q"),
    }


def command_of(name):
    """The typer command of a task."""
    task = TASKS[name]
    own, shared = task_options(task), shared_options(task)
    first, second = (shlex.quote(arm) for arm in (task().arms[0], f"{task().arms[1]}@8"))

    example = f"[bold]probe run {name} --arm fpa --intervene clamp=0.3[/bold]   again, layer 1 clamped"
    interventions = f"\n\n        {example}" if task().layers > 1 else ""

    def body(**options):
        run(task(**{field: options.pop(field) for field in own}), **options)

    return typer_command(
        name,
        body,
        {**own, **shared},
        f"""[bold]probe run {name}[/bold]

        [bold]probe run {name} --seeds 100:115[/bold]   seeds that no recipe was chosen on

        [bold]probe run {name} --arm {first} --arm {second}[/bold]

        [bold]probe run {name} --json > run.json[/bold]{interventions}

        {TASKS.entries[name].summary}
        """,
    )


class RunGroup(TaskGroup):
    """`probe run`."""

    def command_of(self, name):
        return command_of(name)


def run(
    task, *, arm, head_dim, reference, intervene, control, swap, window, seeds, steps, lr, lr_grid, select_seeds, batch, device, threads,
    workers, store, fresh, dry_run, ablation=False, trace=False, **output,
):  # fmt: skip
    """Check everything that was asked, train what is missing, print the report, exit as CONTRACT says."""
    from attnprobe.cli import inputs, load
    from attnprobe.cli import lr_grid as grids
    from attnprobe.probes.run import check, check_device, default_workers, run_probe
    from attnprobe.probes.store import Store

    if dry_run + sum(output[name] for name in ("as_json", "as_csv", "as_markdown")) > 1:
        raise ValueError("--json, --csv, --markdown and --dry-run each print their own form: give one of them")
    if trace and (dry_run or output["as_csv"] or output["as_markdown"]):
        raise ValueError("--trace prints tables of its own, and --json holds the same: leave out --csv, --markdown and --dry-run")
    if trace and not task.traced:
        raise ValueError(f"--trace: nothing is followed in training in this form of {task.name}")
    ids = inputs.seeds(seeds)
    inputs.head_dim(head_dim, "--head-dim")
    recipe = dataclasses.replace(task.recipe, steps=steps, lr=lr, batch=batch)
    grid = grids.read(lr_grid, select_seeds, ids)
    if grid and (beside := [flag for flag, given in (("--lr", lr != task.recipe.lr), ("--dry-run", dry_run)) if given]):
        raise ValueError(f"--lr-grid chooses the rate, by training: leave out {' and '.join(beside)}")
    for name, value in {"threads": threads, "workers": workers}.items():
        if value is not None and value < 1:
            raise ValueError(f"--{name} must be at least 1, not {value}")
    check_device(device, "--device")
    base = inputs.arm(reference, head_dim)
    check(task, base, steps)
    arms = inputs.arms(task, arm, head_dim, base.spec, control)
    arms += inputs.intervened(task, arms, dict.fromkeys([*(intervene or []), *(task.ablation if ablation else [])]))
    if swap is not None:
        arms = inputs.with_swaps(arms, swap, WINDOW if window is None else window)
    elif window is not None:
        raise ValueError("--window is of the routings that --swap names, and there is no --swap")
    for one in arms:
        check(task, one, steps)
    load.tell([one.spec for one in arms], lambda names: [word for name in names for word in ("--arm", name)], output["quiet"])
    kept = Store(store, warn=lambda line: print(f"warning: {line}", file=sys.stderr))
    if dry_run:
        from attnprobe.cli.dry_run import show

        show(task, arms, ids, recipe, kept, device, threads, fresh, workers or default_workers())
        return

    from attnprobe.cli.cost import stages, warning
    from attnprobe.cli.progress import watch

    workers = 1 if device == "cuda" else workers or default_workers()
    if not output["quiet"]:
        jobs = stages(task, arms, ids, recipe, kept, grid, device=device, threads=threads, fresh=fresh)
        if said := warning(jobs, workers, leave=task.leave):
            print(said, file=sys.stderr, flush=True)

    def train(arms, seeds, recipe):
        with watch(arms, steps, output["quiet"]) as seen:
            return run_probe(task, arms, seeds, recipe, kept, device, threads, workers, fresh, seen)

    results, searched = grids.run(task, arms, grid, ids, recipe, train) if grid else (train(arms, ids, recipe), None)

    from attnprobe.cli.report import build, with_grid

    report = build(shlex.join(["probe", *sys.argv[1:]]), task, recipe, ids, head_dim, device, base, results)
    finish(with_grid(report, searched), trace=trace, **output)


def finish(report, *, discordant, as_json, as_csv, as_markdown, quiet, trace=False):
    """Print the report in the form asked for; exit 1 on a contradiction, 3 if seeds failed."""
    from attnprobe.cli import export, footer, tables, traces
    from attnprobe.cli.report import contradictions
    from attnprobe.cli.shell import console

    against = contradictions(report)
    if as_json:
        print(json.dumps(report, allow_nan=False))
    elif as_csv:
        print(export.csv_text(report), end="")
    elif as_markdown:
        print(export.markdown_text(report), end="")
    else:
        out = console()
        out.print(tables.title(report))
        out.print(tables.result_table(report, out))
        for table in traces.trace_tables(report) if trace else ():
            out.print(table)
        for line in [*footer.footer(report, out), *(footer.discordant_lines(report) if discordant else [])]:
            out.print(line, style="bold" if line.startswith("warning") else "dim", highlight=False)
    for line in against:
        print(f"CONTRADICTION with a theorem: {line}. One of the two is wrong: please report it.", file=sys.stderr)
    if against:
        raise typer.Exit(EXIT_CONTRADICTION)
    if any(row["failed"] for row in report["arms"]):
        raise typer.Exit(EXIT_SEEDS_FAILED)

"""The command `probe`: runs probes, lists what there is, shows one example of a task, and measures training."""

from typing import Annotated, Any

import typer

from attnprobe.cli.bench_command import bias, training
from attnprobe.cli.bench_kernels import kernels
from attnprobe.cli.check_command import check
from attnprobe.cli.cite_command import cite
from attnprobe.cli.diff_command import diff
from attnprobe.cli.export_command import export
from attnprobe.cli.field_command import FieldGroup
from attnprobe.cli.gc_command import gc
from attnprobe.cli.load import LoadingGroup, LoadOption
from attnprobe.cli.matrix_command import matrix
from attnprobe.cli.new_command import mixer, task
from attnprobe.cli.page_command import report
from attnprobe.cli.plot_command import plots
from attnprobe.cli.reproduce_command import reproduce
from attnprobe.cli.results_command import results
from attnprobe.cli.run_command import RunGroup
from attnprobe.cli.shell import Group, command
from attnprobe.cli.show_command import ShowGroup

GROUP: dict[str, Any] = {"rich_markup_mode": "rich", "context_settings": {"help_option_names": ["-h", "--help"]}}
app = typer.Typer(**GROUP, cls=LoadingGroup, pretty_exceptions_enable=False)
bench = typer.Typer(**GROUP, cls=Group)
starts = typer.Typer(**GROUP, cls=Group)
tasks = typer.Typer(**GROUP, cls=RunGroup)
shows = typer.Typer(**GROUP, cls=ShowGroup)
fields = typer.Typer(**GROUP, cls=FieldGroup)
app.add_typer(tasks, name="run", short_help="Train a task's arms and compare them, beside the theory.")
app.add_typer(shows, name="show", short_help="Show one decoded example of a task.")
app.add_typer(fields, name="field", short_help="Measure what a model's layers can see, beside the theory.")
app.add_typer(starts, name="new", short_help="Write a commented start of a mechanism or a task.")
app.add_typer(plots, name="plot", short_help="Draw what is stored: PNG or SVG files.")
app.add_typer(bench, name="bench", short_help="Measure this suite itself.")


def show_version(value):
    """Print the version and stop."""
    if value:
        from importlib.metadata import version

        print(f"attnprobe {version('attnprobe')}")
        raise typer.Exit()


@app.callback()
def main(version: Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")] = False):
    """[bold]probe run ladder --r 10 --seeds 15[/bold]   which heads can do it, and theory

    [bold]probe list[/bold]                           tasks, mechanisms, named arms

    [bold]probe show ladder --r 6[/bold]              one example of a task, decoded

    [bold]probe field latch[/bold]                    what each layer has seen, by gradient

    [bold]probe check mine.py[/bold]                  tests yours before training

    [bold]probe reproduce fpa --quick[/bold]          a paper's figures beside ours

    [bold]probe matrix[/bold]                         every task by named mechanisms

    [bold]probe plot ladder --out ladder.svg[/bold]   what is stored, drawn

    [bold]probe results[/bold]                        what is stored

    [bold]probe report --open[/bold]                  the same as a page, with proofs

    [bold]probe bench training[/bold]                 stacked seeds against a loop

    [bold]probe cite ladder fpa[/bold]                BibTeX of tasks and mechanisms

    Probes of what an attention mechanism can and cannot do. Exit codes: 0; 1 a contradiction with a theorem, or a check
    that fails; 2 bad input or store; 3 some seeds failed; 130 interrupted, what was finished is kept.
    """


@tasks.callback()
def run(load: LoadOption = None):
    """[bold]probe run ladder --r 10 --seeds 15[/bold]

    [bold]probe run ladder --r 6 --arm rope --arm alibi+fir@8[/bold]

    [bold]probe run ladder --load mine.py --arm mine[/bold]   with a file of yours

    Train every arm of a task on every seed, skip what is stored, and print who solves it, how sure that is, and what theory says.
    """


@shows.callback()
def show(load: LoadOption = None):
    """[bold]probe show ladder --r 6[/bold]

    Draw one example of a task: what is read, what is asked, what is right; and which choices are ours.
    """


@fields.callback()
def field(load: LoadOption = None):
    """[bold]probe field latch --arm rope+sa --arm rope+swa --seeds 3[/bold]

    Measure, layer by layer and by gradient, which earlier positions a position has seen, and print it beside what theory says.
    """


@starts.callback()
def new():
    """[bold]probe new mixer mine --axis bias[/bold]

    [bold]probe new task mine[/bold]

    Write a file of your own that runs as it is: then change it, check it (probe check mine.py), run it (--load mine.py).
    """


@bench.callback()
def benchmarks():
    """[bold]probe bench training[/bold]   stacked seeds against a loop over the same seeds

    [bold]probe bench bias[/bold]       FPA's bias against the softmax of the same scores

    [bold]probe bench kernels[/bold]    the fused kernels, compiled, and timed on a GPU

    Benchmarks of this suite. A figure is a ratio of two things measured in one run.
    """


@app.command("list", short_help="List tasks, mechanisms and named arms.")
@command
def list_all(load: LoadOption = None):
    """[bold]probe list[/bold]

    [bold]probe list --load mine.py[/bold]   with the tasks and mechanisms of a file

    List the tasks, the parts of a mechanism by axis, each with its paper, and the named arms.
    """
    from attnprobe.cli.catalogue import catalogue
    from attnprobe.cli.shell import console

    out = console()
    for item in catalogue():
        out.print(item)


app.command("check", short_help="Test a mechanism or a task before anyone trains it.")(check)
app.command("cite", short_help="BibTeX of the suite, of mechanisms and of tasks.")(cite)
app.command("reproduce", short_help="Run what the sources' figures need, and hold each against ours.")(reproduce)
app.command("matrix", short_help="Named mechanisms by tasks: solved seeds in every cell.")(matrix)
starts.command("mixer", short_help="One part of a mechanism.")(mixer)
starts.command("task", short_help="A task.")(task)
app.command("results", short_help="List what is stored.")(results)
app.command("diff", short_help="Which verdicts changed between two stores or exports.")(diff)
app.command("gc", short_help="Show what of a store could be removed, and remove it where asked.")(gc)
app.command("report", short_help="Write what is stored as one HTML page.")(report)
app.command("export", short_help="Export what is stored: CSV, Parquet, JSON, Markdown, LaTeX.")(export)
bench.command("training", short_help="Stacked seeds against a loop over the same seeds.")(training)
bench.command("bias", short_help="FPA's bias against the softmax of the same scores.")(bias)
bench.command("kernels", short_help="The fused kernels: compiled without a GPU, timed with one.")(kernels)

"""The command `probe`: runs probes, lists what there is, shows one example of a task, and measures training."""

from typing import Annotated

import typer

from attnprobe.cli.bench_command import bias, training
from attnprobe.cli.bench_kernels import kernels
from attnprobe.cli.field_command import FieldGroup
from attnprobe.cli.matrix_command import matrix
from attnprobe.cli.plot_command import plots
from attnprobe.cli.reproduce_command import reproduce
from attnprobe.cli.run_command import RunGroup
from attnprobe.cli.shell import Group, command
from attnprobe.cli.show_command import ShowGroup

GROUP = {"rich_markup_mode": "rich", "context_settings": {"help_option_names": ["-h", "--help"]}}
app = typer.Typer(**GROUP, cls=Group, add_completion=False, pretty_exceptions_enable=False)
bench = typer.Typer(**GROUP, cls=Group)
tasks = typer.Typer(**GROUP, cls=RunGroup)
shows = typer.Typer(**GROUP, cls=ShowGroup)
fields = typer.Typer(**GROUP, cls=FieldGroup)
app.add_typer(tasks, name="run", short_help="Train a task's arms and compare them, beside the theory.")
app.add_typer(shows, name="show", short_help="Show one decoded example of a task.")
app.add_typer(fields, name="field", short_help="Measure what a model's layers can see, beside the theory.")
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
    """[bold]probe run ladder --r 10 --seeds 15[/bold]    which heads can do the ladder, and what theory says

    [bold]probe list[/bold]                           tasks, mechanisms, named arms

    [bold]probe show ladder --r 6[/bold]              one example of a task, decoded

    [bold]probe field latch[/bold]                    what each layer has seen, by gradient

    [bold]probe reproduce fpa --quick[/bold]          a paper's figures beside ours, with a verdict each

    [bold]probe matrix[/bold]                         every task by the named mechanisms, solved seeds in each cell

    [bold]probe plot ladder --out ladder.svg[/bold]   what is stored, drawn

    [bold]probe bench training[/bold]                 stacked seeds against a loop over seeds

    Probes of what an attention mechanism can and cannot do. Exit codes: 0; 1 a contradiction with a theorem; 2 bad input or
    store; 3 some seeds failed; 130 interrupted, what was finished is kept.
    """


@tasks.callback()
def run():
    """[bold]probe run ladder --r 10 --seeds 15[/bold]

    [bold]probe run ladder --r 6 --arm rope --arm alibi+fir@8[/bold]

    Train every arm of a task on every seed, skip what is stored, and print who solves it, how sure that is, and what theory says.
    """


@shows.callback()
def show():
    """[bold]probe show ladder --r 6[/bold]

    Draw one example of a task: what is read, what is asked, what is right; and which choices are ours.
    """


@fields.callback()
def field():
    """[bold]probe field latch --arm rope+sa --arm rope+swa --seeds 3[/bold]

    Measure, layer by layer and by gradient, which earlier positions a position has seen, and print it beside what theory says.
    """


@bench.callback()
def benchmarks():
    """[bold]probe bench training[/bold]    stacked seeds against a loop over the same seeds

    [bold]probe bench bias[/bold]        FPA's bias against the softmax of the same scores

    [bold]probe bench kernels[/bold]     the fused kernels, compiled, and timed on a GPU

    Benchmarks of this suite. A figure is a ratio of two things measured in one run.
    """


@app.command("list", short_help="List tasks, mechanisms and named arms.")
@command
def list_all():
    """[bold]probe list[/bold]

    List the tasks, the parts of a mechanism by axis, each with its paper, and the named arms.
    """
    from attnprobe.cli.catalogue import catalogue
    from attnprobe.cli.shell import console

    out = console()
    for item in catalogue():
        out.print(item)


app.command("reproduce", short_help="Run what the sources' figures need, and hold each against ours.")(reproduce)
app.command("matrix", short_help="Named mechanisms by tasks: solved seeds in every cell.")(matrix)
bench.command("training", short_help="Stacked seeds against a loop over the same seeds.")(training)
bench.command("bias", short_help="FPA's bias against the softmax of the same scores.")(bias)
bench.command("kernels", short_help="The fused kernels: compiled without a GPU, timed with one.")(kernels)

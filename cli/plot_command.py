"""`probe plot`: figures of what is stored, written to PNG or SVG files. None of them trains but where its help says so."""

from typing import Annotated, Any

import typer

from attnprobe.cli import completion
from attnprobe.cli.load import LoadOption
from attnprobe.cli.plot_curves_command import CurvesGroup
from attnprobe.cli.plot_field_command import FieldFigureGroup
from attnprobe.cli.plot_options import SEEDS
from attnprobe.cli.plot_size_command import SizeGroup
from attnprobe.cli.plot_walk_command import plot_walk
from attnprobe.cli.shell import Group, command

GROUP: dict[str, Any] = {"rich_markup_mode": "rich", "context_settings": {"help_option_names": ["-h", "--help"]}}
Out = Annotated[str, typer.Option("--out", help="The figure's file, .png or .svg.", metavar="FILE")]
StoreOption = Annotated[str, typer.Option(help="Directory of results to read.", envvar="PROBE_STORE")]
Seeds = Annotated[str | None, typer.Option(help=SEEDS, show_default="those stored")]
Steps = Annotated[int | None, typer.Option(help="Optimiser steps of the runs.", show_default="each recipe's")]
Arms = Annotated[
    list[str] | None,
    typer.Option("--arm", help="An arm, repeatable.", metavar="SPEC", autocompletion=completion.arms, show_default="those stored"),
]

plots = typer.Typer(**GROUP, cls=Group)
curves = typer.Typer(**GROUP, cls=CurvesGroup)
size = typer.Typer(**GROUP, cls=SizeGroup)
field = typer.Typer(**GROUP, cls=FieldFigureGroup)
plots.add_typer(curves, name="curves", short_help="Learning curves of every seed of a task's arms.")
plots.add_typer(size, name="size", short_help="Seconds of training against the size of a task.")
plots.add_typer(field, name="field", short_help="Receptive fields by layer beside the recursion (measured now).")


@plots.callback()
def plot():
    """[bold]probe plot ladder --out ladder.svg[/bold]        solved seeds by r, and theory

    [bold]probe plot curves ladder --r 8[/bold]            every seed's learning curve

    [bold]probe plot walk --arm fpa --arm fox[/bold]       where trained heads attend

    [bold]probe plot matrix --tasks ladder,recall[/bold]   the matrix as a heat map

    Draw what is stored; nothing is trained but where a command's help says so. PNG at 300 dpi, or SVG with its text as text, at the
    width of a journal's column. Needs matplotlib: pip install 'attnprobe\\[plot]'.
    """


@curves.callback()
def plot_curves():
    """[bold]probe plot curves ladder --r 8 --out curves.svg[/bold]

    Draw the learning curve of every stored seed of a task's arms, the median bold: the metric where training was looked at, else the loss.
    """


@size.callback()
def plot_size():
    """[bold]probe plot size ladder --by r --out size.svg[/bold]

    Draw the seconds that a seed's training took against an option of the task, from what is stored.
    """


@field.callback()
def plot_field():
    """[bold]probe plot field latch --arm rope+sa --arm rope+swa --untrained[/bold]

    [bold]probe plot field latch --from field.json[/bold]   of probe field --json

    Draw which share of the earlier positions each layer has seen, beside the recursion. The store holds no fields: without --from they are
    measured now, after training as probe field does it, or with --untrained at once.
    """


@plots.command("ladder", short_help="Solved seeds and realised sets by the number of rungs, beside theory.")
@command
def plot_ladder(
    arm: Arms = None,
    head_dim: Annotated[int, typer.Option(help="Head dimension of all arms.")] = 4,
    slot: Annotated[str, typer.Option(help="balanced or plain.")] = "balanced",
    seeds: Seeds = None,
    steps: Steps = None,
    store: StoreOption = "results",
    out: Out = "ladder.png",
    load: LoadOption = None,
):
    """[bold]probe plot ladder --out ladder.svg[/bold]

    [bold]probe plot ladder --arm fpa --arm fox --head-dim 6 --seeds 100:115[/bold]

    From the stored runs of the ladder at several r: the share of seeds solved, with 95 % intervals; the share of the alive sets that the
    best seed realises; and what theory allows heads of this dimension (T5, T6).
    """
    from attnprobe.cli.plot_ladder import draw_ladder

    draw_ladder(arm, head_dim, slot, seeds, steps, store, out)


@plots.command("matrix", short_help="The matrix of tasks by mechanisms as a heat map.")
@command
def plot_matrix(
    tasks: Annotated[str | None, typer.Option(help="Tasks, joined by commas.", show_default="those stored")] = None,
    mixers: Annotated[str | None, typer.Option(help="Mechanisms, joined by commas.", show_default="those stored")] = None,
    seeds: Seeds = None,
    steps: Steps = None,
    store: StoreOption = "results",
    out: Out = "matrix.png",
    load: LoadOption = None,
):
    """[bold]probe plot matrix --out matrix.svg[/bold]

    [bold]probe plot matrix --tasks ladder,recall --mixers fpa,rope[/bold]

    From what is stored: solved seeds in each cell, theory's word beside it, refusals marked. A cell that is not stored stays blank.
    """
    from attnprobe.cli.plot_matrix import draw_matrix

    draw_matrix(tasks, mixers, seeds, steps, store, out)


plots.command("walk", short_help="The ladder's walk over the attention of trained heads (trained now where no map is stored).")(plot_walk)

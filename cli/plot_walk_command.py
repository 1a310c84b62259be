"""`probe plot walk`: the ladder's walk over the attention maps of trained heads, which are trained again where no map is stored."""

import dataclasses
import sys
from typing import Annotated

import typer

from attnprobe.cli import completion
from attnprobe.cli.load import LoadOption
from attnprobe.cli.shell import command

SERVED = "ladder"  # its one head is asked by an oracle, which could ask at any position


@command
def plot_walk(
    task: Annotated[str, typer.Argument(metavar="ladder", help="The task, ladder alone.", show_default=False)] = SERVED,
    r: Annotated[int, typer.Option(help="Rungs.")] = 8,
    arm: Annotated[
        list[str] | None,
        typer.Option("--arm", help="An arm, repeatable.", metavar="SPEC", autocompletion=completion.arms, show_default="fpa, rope"),
    ] = None,
    head_dim: Annotated[int, typer.Option(help="Head dimension of all arms.")] = 4,
    seed: Annotated[int, typer.Option(help="The seed that is trained, and whose first example is drawn.")] = 0,
    word: Annotated[
        str | None, typer.Option(help="Another word: r - 1 digits, 1 where a rung dips.", show_default="the seed's first example")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Optimiser steps.", show_default="the recipe's")] = None,
    store: Annotated[str, typer.Option(help="Directory of results, which keeps the maps too.", envvar="PROBE_STORE")] = "results",
    out: Annotated[str, typer.Option("--out", help="The figure's file, .png or .svg.", metavar="FILE")] = "walk.png",
    load: LoadOption = None,
):
    """[bold]probe plot walk --r 10 --arm fpa --arm fox --out walk.svg[/bold]

    [bold]probe plot walk --r 6 --word 01101[/bold]

    The walk of one word, each key's level from where it is written to where it dies, and under it where each head attends: at the query,
    and, had it been asked there, at every earlier position; only the query's row was trained. A store holds no weights: a seed whose map
    is not stored is trained again, alone (a few seconds), which stderr says; the map is then kept beside the seed.
    """
    from attnprobe.cli import inputs
    from attnprobe.cli.plots import maps, output, style, walk
    from attnprobe.probes.run import check
    from attnprobe.probes.streams import stream
    from attnprobe.probes.tasks import TASKS

    output.check_path(out)
    check_served(task)
    if seed < 0:
        raise ValueError(f"--seed must be 0 or more, not {seed}")
    ladder = TASKS[SERVED](r=r)
    recipe = ladder.recipe if steps is None else dataclasses.replace(ladder.recipe, steps=steps)
    arms = inputs.arms(ladder, arm or ["fpa", "rope"], inputs.head_dim(head_dim, "--head-dim"), None, control=False)
    for one in arms:
        check(ladder, one, recipe.steps)
    if word is None:
        word = "".join(str(bit) for bit in ladder.sample(stream(seed, "train", 0), 1).side["bits"][0])
    example = walk.example(ladder, word)
    found = {}
    for one in arms:
        weights = maps.load(store, ladder, one, seed, recipe, word)
        if weights is None:
            weights = computed(ladder, one, seed, recipe, example)
            maps.save(store, ladder, one, seed, recipe, word, weights)
        found[one.name] = weights
    cut = style.cut(recipe.steps, ladder.recipe.steps)
    output.made(walk.draw(walk.gather(ladder, word, seed, found, cut)), out)


def check_served(name):
    """ValueError where the walk of a task is not drawn here, or where there is no such task."""
    from attnprobe.probes.tasks import TASKS

    if TASKS[name].name != SERVED:
        raise ValueError(f"probe plot walk draws the walk of {SERVED} alone, not of {name}; probe show {name} draws an example of it")


def computed(task, arm, seed, recipe, example):
    """Train a seed of an arm, say so, and return its map."""
    import torch

    from attnprobe.probes.attention_map import trained_map

    torch.set_num_threads(1)
    print(f"{arm}: no map is stored; training seed {seed} for {recipe.steps} steps", file=sys.stderr, flush=True)
    return trained_map(task, arm.spec, arm.head_dim, seed, recipe, example)

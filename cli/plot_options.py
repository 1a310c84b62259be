"""The options of figures that read a task's stored results."""

from typing import Annotated

import typer

from attnprobe.cli import completion


def option(kind, default, text, *flags, **more):
    """An option as (annotation, default)."""
    return Annotated[kind, typer.Option(*flags, help=text, **more)], default


def reading(task, kind):
    """The options of every figure that reads a task's stored results."""
    recipe = task().recipe
    return {
        "arm": option(
            list[str] | None,
            None,
            f"An arm, repeatable; default: {', '.join(task().arms)}.",
            metavar="SPEC[@D]",
            autocompletion=completion.arms,
        ),
        "head_dim": option(int, task.head_dim, "Head dimension of arms without @D."),
        "seeds": option(str, "15", "A count (15 is 0:15) or a range (100:115), of what is stored."),
        "steps": option(int, recipe.steps, "Optimiser steps of the run."),
        "lr": option(float, recipe.lr, "Its peak learning rate."),
        "batch": option(int, recipe.batch, "Its sequences a seed and step."),
        "device": option(str, "cpu", "Where it was trained, cpu or cuda."),
        "store": option(str, "results", "Directory of results to read.", envvar="PROBE_STORE"),
        "out": option(str, f"{kind}.png", "The figure's file, .png or .svg.", metavar="FILE"),
    }


def shown(arm, head_dim):
    """An arm's name, with its head dimension where that is not the common one."""
    return arm.name if arm.head_dim == head_dim else str(arm)

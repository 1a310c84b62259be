"""The options of figures that read a task's stored results."""

from typing import Annotated

import typer

from attnprobe.cli import completion

SEEDS = "A count (15 is 0:15) or a range (100:115), of what is stored."
USUAL_SEEDS = "15"  # of a run that is proposed


def option(kind, default, text, *flags, **more):
    """An option as (annotation, default)."""
    return Annotated[kind, typer.Option(*flags, help=text, **more)], default


def reading(task, kind):
    """The options of every figure that reads a task's stored results."""
    recipe = task().recipe
    return {
        "arm": option(
            list[str] | None, None, "An arm, repeatable; default: those stored.", metavar="SPEC[@D]", autocompletion=completion.arms
        ),
        "head_dim": option(int, task.head_dim, "Head dimension of arms without @D."),
        "seeds": option(str | None, None, SEEDS, show_default="those stored"),
        "steps": option(int, recipe.steps, "Optimiser steps of the run."),
        "lr": option(float, recipe.lr, "Its peak learning rate."),
        "batch": option(int, recipe.batch, "Its sequences a seed and step."),
        "device": option(str, "cpu", "Where it was trained, cpu or cuda."),
        "store": option(str, "results", "Directory of results to read.", envvar="PROBE_STORE"),
        "out": option(str, f"{kind}.png", "The figure's file, .png or .svg.", metavar="FILE"),
    }


def run_options(task, given, arm, seeds, store):
    """The options of the `probe run` that stores what a figure lacks. given: of the recipe, the device and the head dimension."""
    usual = {name: getattr(task.recipe, name) for name in ("steps", "lr", "batch")} | {"head_dim": task.head_dim, "device": "cpu"}
    changed = {name: value for name, value in given.items() if value is not None and value != usual[name]}
    return {"arm": arm or [], **changed, "seeds": seeds or USUAL_SEEDS, "store": store}


def asked(task, given, arm, seeds, free=None):
    """What a figure asks of a store: a stored.Asked of what was typed. given: of the recipe, the device and the head dimension."""
    from attnprobe.cli import inputs
    from attnprobe.cli.plots.stored import Asked

    given = {name: value for name, value in given.items() if value is not None}
    dim = inputs.head_dim(given.pop("head_dim"), "--head-dim")
    device = given.pop("device", "cpu")
    arms = tuple(inputs.arms(task, arm, dim, None, control=False)) if arm else None
    return Asked(task, dim, given, device, arms, inputs.seeds(seeds) if seeds is not None else None, free)


def shown(arm, head_dim):
    """An arm's name, with its head dimension where that is not the common one."""
    return arm.name if arm.head_dim == head_dim else str(arm)

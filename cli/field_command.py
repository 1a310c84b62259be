"""`probe field TASK`: what each layer of a model has seen, measured by gradient, beside what theory says of its routing."""

import dataclasses
import json
import shlex
import sys
from typing import Annotated

import typer

from attnprobe.cli import completion
from attnprobe.cli.task_command import TaskGroup, task_options, typer_command
from attnprobe.probes.tasks import TASKS

SIMULATED = 64  # stacks of layers drawn for the simulation's mean
DENSE = ("softmax", "softmax1")  # normalisers that give every allowed key a weight
BLIND = ("none", "alibi", "alibi-fixed")  # biases that read no token
# routing part -> what theory calls it and its window, of sequences of length n; none for a routing that looks at content
THEORY = {
    "full": lambda routing, n: ("swa", n),
    "swa": lambda routing, n: ("swa", routing.w),
    "sa": lambda routing, n: ("sa", routing.w),
    "gated": lambda routing, n: ("sa+swa", routing.w),
    "union": lambda routing, n: ("sa+swa", routing.w),
}


class FieldGroup(TaskGroup):
    """`probe field`."""

    family = "E"

    def command_of(self, name):
        """The command that measures the receptive fields of a task's arms."""
        task = TASKS[name]
        own = task_options(task)

        def body(**options):
            run(task(**{field: options.pop(field) for field in own}), **options)

        shared = measuring(task) | {
            "as_json": (Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")], False),
            "quiet": (Annotated[bool, typer.Option("--quiet", "-q", help="No estimate and no progress on stderr.")], False),
        }
        return typer_command(
            name,
            body,
            {**own, **shared},
            f"""[bold]probe field {name} --arm rope+sa --arm rope+swa --seeds 3[/bold]

            [bold]probe field {name} --arm rope+union --untrained --json[/bold]

            The share of pairs s <= t for which the gradient of h_l at t by h_0 at s
            is not zero, layer by layer, in float64, the mean over seeds and test-time
            draws; beside it the share that drawn windows reach, and theory's recursion.
            """,
        )


def measuring(task):
    """The options that say what is measured, as name -> (annotation, default)."""
    return {
        "arm": (
            Annotated[
                list[str] | None,
                typer.Option(help="An arm, repeatable; default: the task's.", metavar="SPEC[@D]", autocompletion=completion.arms),
            ],
            None,
        ),
        "seeds": (Annotated[str, typer.Option(help="A count (3 is 0:3) or a range (100:103).")], "3"),
        "untrained": (Annotated[bool, typer.Option("--untrained", help="Measure the initial weights; train nothing.")], False),
        "steps": (Annotated[int, typer.Option(help="Optimiser steps.")], task().recipe.steps),
    }


def run(task, *, as_json, **asked):
    """Measure and print."""
    result = measured(task, **asked)
    if as_json:
        print(json.dumps(result, allow_nan=False))
    else:
        from attnprobe.cli.field_tables import field_table
        from attnprobe.cli.shell import console

        console().print(field_table(result))


def measured(task, *, arm, seeds, untrained, steps, quiet):
    """Check what was asked, train and measure each arm; the run as JSON data."""
    from attnprobe.cli import inputs
    from attnprobe.cli.cost import jobs, warning
    from attnprobe.cli.progress import watch

    ids, recipe = inputs.seeds(seeds), dataclasses.replace(task.recipe, steps=steps)
    arms = inputs.arms(task, arm, task.head_dim, None, control=False)
    for one in arms:
        task.check(one.spec, one.head_dim)
        check_bias(one)
    if not quiet and not untrained and (said := warning(jobs(task, arms, ids, recipe), 1, "fields come on top, and nothing is kept")):
        print(said, file=sys.stderr, flush=True)
    with watch(arms, steps, quiet or untrained) as seen:
        for one in arms:
            seen.started(one, 0, len(ids))
        rows = [measure(task, one, ids, recipe, untrained, seen) for one in arms]
    return {
        "schema": 1,
        "command": shlex.join(["probe", *sys.argv[1:]]),
        "task": task.name,
        "config": {"options": dataclasses.asdict(task), "seeds": list(ids), "trained": not untrained, "steps": 0 if untrained else steps},
        "arms": rows,
    }


def check_bias(arm):
    """Raise ValueError where a bias reads tokens: it opens paths of its own, and where it opens none, its running sums leave noise."""
    for mixer in arm.spec.layers:
        if mixer.bias.name not in BLIND:
            raise ValueError(f"arm {arm}: {mixer.bias.name} reads tokens, and a field by gradient is of routings; use {', '.join(BLIND)}")


def measure(task, arm, seeds, recipe, untrained, watch):
    """One arm's measured shares, and theory's, as JSON data. A seed that diverges in training is not measured."""
    import torch

    from attnprobe.probes.receptive_field import shares
    from attnprobe.probes.train import BLOCK, Training

    torch.set_num_threads(1)
    training = Training(task, arm.spec, arm.head_dim, seeds, recipe, "cpu", None)
    for first in () if untrained else range(0, recipe.steps, BLOCK):
        training.block(first, min(first + BLOCK, recipe.steps))
        watch.stepped(arm, min(first + BLOCK, recipe.steps))
        if not training.stack.seeds:
            raise ValueError(f"arm {arm}: no seed is left to measure, all of {', '.join(map(str, seeds))} diverged")
    found = shares(training, arm.spec)
    watch.finished(arm)
    simulated, recursion = expected(arm.spec.judged.of_layers(task.layers), task.seq_len)
    measured = [sum(column) / len(found) for column in zip(*found.values(), strict=True)]
    columns = enumerate(zip(measured, simulated, recursion, strict=True), 1)
    return {
        "arm": str(arm),
        "mixer": str(arm.spec),
        "head_dim": arm.head_dim,
        "seeds": [{"seed": seed, "shares": values} for seed, values in found.items()],
        "layers": [{"layer": i, "measured": ours, "simulated": drawn, "recursion": said} for i, (ours, drawn, said) in columns],
    }


def expected(mixers, n):
    """Theory's shares at each layer: of drawn windows, cut at the ends as a model's are; by recursion, on a ring. None without one."""
    import numpy as np

    from attnprobe.theory import recursion, routing

    none = [None] * len(mixers)
    one = mixers[0].routing
    plain = all(mixer.key_filter.pointwise and mixer.normaliser.name in DENSE for mixer in mixers)
    if not plain or one.name not in THEORY or any(mixer.routing != one for mixer in mixers):
        return none, none
    kind, w = THEORY[one.name](one, n)
    windows, rng = routing.windows(kind, w, causal=True, ring=False), np.random.default_rng(0)
    drawn = [routing.coverage(n, routing.draw(windows, n, len(mixers), rng)).sum(1) / (n * (n + 1) / 2) for _ in range(SIMULATED)]
    return np.mean(drawn, 0).tolist(), recursion.shares(kind, n, w, len(mixers), causal=True) or none

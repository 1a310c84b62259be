"""`probe bench`: what stacking the seeds gains, and what FPA's bias costs, measured."""

import json
import sys
from typing import Annotated

import typer

from attnprobe.cli import completion
from attnprobe.cli.shell import command

FEW_SCORES = 1_000_000_000  # over all rounds of `bias`, that are done within a minute


@command
def training(
    arm: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC[@D]", autocompletion=completion.arms, help="An arm, repeatable; default: the ladder's."),
    ] = None,
    r: Annotated[int, typer.Option(help="Rungs of the ladder.")] = 10,
    seeds: Annotated[str, typer.Option(help="A count or a range of seeds.")] = "15",
    steps: Annotated[int, typer.Option(help="Optimiser steps a training.")] = 200,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds; the median ratio is reported.")] = 3,
    like: Annotated[str | None, typer.Option(metavar="zoology", help="Time one seed's step in the shape of another suite.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")] = False,
):
    """[bold]probe bench training[/bold]

    [bold]probe bench training --arm fpa --rounds 5 --json[/bold]

    [bold]probe bench training --like zoology --steps 20[/bold]

    Train the ladder's arms as one stack of seeds and as a loop over the same seeds: same code, same work, one process, one
    thread, interleaved. A figure is the ratio; seconds are of this machine, beside its yardstick.
    """
    import dataclasses

    from attnprobe.cli import inputs
    from attnprobe.cli.cost import jobs
    from attnprobe.probes import bench
    from attnprobe.probes.tasks import TASKS

    if rounds < 1:
        raise ValueError(f"--rounds must be at least 1, not {rounds}")
    if like is not None:
        if like != "zoology":
            raise ValueError(f"--like must be zoology, not {like!r}")
        if r != 10 or seeds != "15":
            raise ValueError("--like zoology times one seed of a task of its own: --r and --seeds do not go with it")
        zoology(arm or ["softmax", "fpa"], steps, rounds, as_json)
        return
    task = TASKS["ladder"](r=r)
    arms, ids = inputs.arms(task, arm, task.head_dim, None, False), inputs.seeds(seeds)
    recipe = dataclasses.replace(task.recipe, steps=steps)
    announce([*jobs(task, arms, ids, recipe) * rounds, *jobs(task, arms, ids[:1], recipe) * len(ids) * rounds])

    def progress(done):
        print(f"{done}: measured", file=sys.stderr, flush=True)

    found = {"yardstick": bench.yardstick(), "arms": bench.training(task, arms, ids, recipe, rounds, progress)}
    if as_json:
        print(json.dumps(found))
        return
    report(found, len(ids), recipe.steps, rounds)


def announce(jobs, **more):
    """Say on stderr how long a benchmark's trainings will take, where that is long."""
    from attnprobe.cli.cost import warning

    if said := warning(jobs, 1, "nothing of it is kept", **more):
        print(said, file=sys.stderr, flush=True)


def zoology(arms, steps, rounds, as_json):
    """Time a step in the shape of Zoology's basic configuration and print it beside Zoology's own."""
    import dataclasses

    from attnprobe.cli import inputs
    from attnprobe.cli.cost import jobs
    from attnprobe.cli.shell import console
    from attnprobe.probes import bench
    from attnprobe.probes.run import check
    from attnprobe.probes.zoology import SECONDS, YARDSTICK, ZoologyBasic

    if not 1 <= steps <= 10**4:
        raise ValueError(f"--steps must be from 1 to 10000, not {steps}")
    task = ZoologyBasic()
    asked = [inputs.arm(text, task.head_dim) for text in arms]
    for one in asked:
        check(task, one, steps * (rounds + 1))
        if one.spec.swap:
            raise ValueError(f"arm {one}: a swap is judged, not trained; there is no step to time")
    announce(jobs(task, asked, (0,), dataclasses.replace(task.recipe, steps=steps * (rounds + 1))), few=0)
    found = bench.like_zoology(task, asked, steps, rounds)
    if as_json:
        print(json.dumps({"zoology": {"seconds": list(SECONDS), "yardstick": YARDSTICK}, "steps": found}))
        return
    out = console()
    for row in found:
        out.print(
            f"{row['mixer']}: {row['seconds']:.3f} process seconds a step at {row['yardstick']:.0f} GFLOP a second, "
            f"{row['scaled']:.3f} at Zoology's {YARDSTICK:.0f}: {row['ratio']:.2f} of its own ({SECONDS[0]} to {SECONDS[1]})",
            highlight=False,
        )
    out.print(f"one seed; steps a round: {steps}, rounds: {rounds}, of which the median; one thread", style="dim", highlight=False)


def report(found, seeds, steps, rounds):
    """Print the ratios as a table."""
    from rich import box
    from rich.table import Table

    from attnprobe.cli.shell import console

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("arm", "d", "loop / stacked", "stacked, s"):
        table.add_column(heading, justify="left" if heading == "arm" else "right")
    for row in found["arms"]:
        table.add_row(row["arm"].rpartition("@")[0], str(row["head_dim"]), f"{row['ratio']:.2f}", f"{row['seconds']:.2f}")
    out = console()
    out.print(table)
    out.print(
        f"{seeds} seeds, {steps} steps, median of {rounds} interleaved rounds, one thread; "
        f"yardstick {found['yardstick']:.1f} GFLOP a process-second",
        highlight=False,
    )


@command
def bias(
    length: Annotated[list[int] | None, typer.Option("--length", help="T, repeatable; default: 64 and 128.")] = None,
    rows: Annotated[int, typer.Option(help="Sequences at once.")] = 480,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds; the median ratio is reported.")] = 40,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")] = False,
):
    """[bold]probe bench bias[/bold]

    FPA's bias over the softmax of equally many scores: forward, and forward with backward. CPU, one thread.
    """
    from attnprobe.cli.shell import console
    from attnprobe.probes import bench

    for name, value, most in [*(("length", T, 1024) for T in length or ()), ("rows", rows, 10**5), ("rounds", rounds, 10**5)]:
        if not 1 <= value <= most:
            raise ValueError(f"--{name} must be from 1 to {most}, not {value}")
    lengths = length or [64, 128]
    if rounds * rows * sum(T * T for T in lengths) > FEW_SCORES:
        from attnprobe.cli.cost import repeated

        if said := repeated(lambda: bench.bias(lengths, rows, 1), (rounds + 1) / 2):  # one more warms up
            print(said, file=sys.stderr, flush=True)
    found = bench.bias(lengths, rows, rounds)
    if as_json:
        print(json.dumps({"rows": rows, "rounds": rounds, "bias": found}))
        return
    out = console()
    for row in found:
        both = f"forward and backward {row['both']:.2f}"
        out.print(f"T = {row['T']:4}: FPA's bias / softmax, forward {row['forward']:.2f}, {both}", highlight=False)
    out.print(f"{rows} rows, median of {rounds} interleaved rounds, one thread", style="dim", highlight=False)

"""`probe bench kernels`: what the compiler makes of every fused kernel, and on a GPU whether it is right and how long it takes."""

import json
import os
import sys
import time
from typing import Annotated

import typer

from attnprobe.cli.shell import command

LENGTHS = [2**n for n in range(10, 16)]
HEAD_DIMS = [64, 128]
DEAD = [0.0, 0.5, 0.9, 0.99]
SESSION = [2048, 8192, 16384], [0.0, 0.9]  # lengths and shares of dead tiles for which ten minutes suffice


@command
def kernels(
    static: Annotated[bool, typer.Option("--static", help="Only what is compiled, even where there is a GPU.")] = False,
    session: Annotated[bool, typer.Option("--session", help="On a GPU: correctness, a sweep of tiles, then the table.")] = False,
    length: Annotated[list[int] | None, typer.Option("--length", help="T, repeatable; default: 1024 to 32768, in a session three.")] = None,
    head_dim: Annotated[list[int] | None, typer.Option("--head-dim", help="D, repeatable; default: 64 and 128.")] = None,
    dead: Annotated[
        list[float] | None, typer.Option("--dead", help="Share of dead tiles, repeatable; default: 0 .5 .9 .99, in a session 0 .9.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds a case; the median is reported.")] = 20,
    minutes: Annotated[float, typer.Option(help="Stop measuring after so long; what is left says so.")] = 9.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")] = False,
):
    """[bold]probe bench kernels --static[/bold]

    [bold]probe bench kernels --session --json > kernels.json[/bold]    one GPU, ten minutes

    Compile every fused kernel for sm_90, with its floors on an H200, predicted from the instructions of its hot loop. Where
    there is CUDA, time each beside SDPA, FlexAttention and Selective Attention: forward, forward and backward, decoding.
    """
    lengths, shares = SESSION if session else (LENGTHS, DEAD)
    lengths, head_dims, shares = length or lengths, head_dim or HEAD_DIMS, dead or shares
    check(lengths, head_dims, shares, rounds, minutes)
    deadline = time.monotonic() + 60 * minutes
    found = about(static)
    if session and not found["device"]:
        raise ValueError("--session measures on a GPU, and there is no CUDA device here; --static needs none")
    from attnprobe.kernels.bench import floors
    from attnprobe.kernels.bench import session as parts

    if session:
        found["compiled"], found["checked"] = beside(head_dims, lambda: list(told("checked", parts.checked(deadline), "provider")))
    else:
        found["compiled"] = list(told("compiled", (row for D in head_dims for row in parts.compiled(D)), "kernel"))
    found["predicted"] = floors.ratios(found["compiled"])
    if not static:
        from attnprobe.kernels.bench.timing import Events

        clock = Events() if found["device"] else None
        if session:
            found["swept"] = list(told("swept", parts.swept(deadline, clock, rounds), "provider"))
        found["timed"] = list(told("timed", table(parts, lengths, head_dims, shares, clock, rounds, deadline), "provider"))
    if as_json:
        print(json.dumps(found))
        return
    from attnprobe.cli.bench_tables import show

    show(found)


def beside(head_dims, work):
    """What is compiled at these head dimensions, a process each, and what `work` gives meanwhile: a session has ten minutes."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(len(head_dims), mp_context=get_context("spawn")) as pool:
        compiling = [pool.submit(compiled_at, D) for D in head_dims]
        done = work()
        return [row for rows in compiling for row in rows.result()], done


def compiled_at(head_dim):
    """The compiled rows of one head dimension."""
    from attnprobe.kernels.bench import session

    return list(session.compiled(head_dim))


def table(parts, lengths, head_dims, shares, clock, rounds, deadline):
    """The timed rows, case by case."""
    for case in parts.cases_of(lengths, head_dims, shares):
        for mode in parts.MODES:
            yield from parts.timed(case, mode, clock, rounds, deadline)


def told(what, rows, name):
    """The rows, each named on stderr as it comes, if someone looks."""
    for row in rows:
        if sys.stderr.isatty():
            print(f"\r{what}: {row[name]}, D {row.get('D', row.get('head_dim'))}\x1b[K", end="", file=sys.stderr, flush=True)
        yield row
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def about(static):
    """What measures: versions, and the GPU that is timed, None without one."""
    from importlib.metadata import version

    import torch

    device = torch.cuda.get_device_name() if torch.cuda.is_available() and not static else None
    return {"torch": torch.__version__, "triton": version("triton"), "device": device}


def check(lengths, head_dims, shares, rounds, minutes):
    """Raise ValueError, with the bound, where an option makes no sense."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        raise ValueError("TRITON_INTERPRET=1 is set, and what is interpreted can be neither compiled nor timed: unset it")
    for name, values, least, most in (
        ("length", lengths, 64, 2**17),
        ("head-dim", head_dims, 4, 128),
        ("dead", shares, 0, 0.99),
        ("rounds", [rounds], 1, 1000),
        ("minutes", [minutes], 0, 60),
    ):
        for value in values:
            if not least <= value <= most:
                raise ValueError(f"--{name} must be from {least} to {most}, not {value}")
    for D in head_dims:
        if D not in (16, 32, 64, 128):
            raise ValueError(f"--head-dim must be 16, 32, 64 or 128, whose configurations are compiled, not {D}")

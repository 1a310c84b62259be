"""`probe new`: writes a commented start of a mechanism or a task, which runs as it is."""

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from attnprobe.cli.shell import command

Name = Annotated[str, typer.Argument(metavar="NAME", help="Its name in specs and commands; the file is NAME.py.")]
Folder = Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where the file is written.")]


@command
def mixer(
    name: Name,
    axis: Annotated[
        Literal["bias", "normaliser", "position", "key_filter", "routing"], typer.Option(help="Which part of a mechanism it is.")
    ] = "bias",
    folder: Folder = Path("."),
):
    """[bold]probe new mixer mine[/bold]   a bias, in mine.py

    [bold]probe new mixer mine --axis normaliser[/bold]

    Write one part of a mechanism that runs as it is, with comments that say what to change. An existing file is left alone.
    """
    from attnprobe.cli.starts import MIXERS

    example = "flip-flop --steps 100" if axis == "routing" else "ladder"
    told(write(name, folder, MIXERS[axis]), f"probe run {example} --load {{path}} --arm {name}")


@command
def task(name: Name, folder: Folder = Path(".")):
    """[bold]probe new task mine[/bold]   a task, in mine.py

    Write a task that runs as it is, with comments that say what to change. An existing file is left alone.
    """
    from attnprobe.cli.starts import TASK

    told(write(name, folder, TASK), f"probe show {name} --load {{path}}", f"probe run {name} --load {{path}} --seeds 3")


def write(name, folder, text):
    """Write a start under a name that is free, into a file that does not exist; returns its path. Raises ValueError, OSError."""
    from attnprobe.probes.loading import check_name

    if not re.match("[a-z]", name):
        raise ValueError(f"a name opens with a small letter, since a class is named after it, unlike {name!r}")
    path = folder / f"{name.replace('-', '_')}.py"
    check_name(path, name, ())
    with path.open("x", encoding="utf-8") as file:
        file.write(text.replace("@NAME@", name).replace("@CLASS@", "".join(word.capitalize() for word in re.split("[-_]", name))))
    return path


def told(path, *commands):
    """Say what was written, and what to do with it."""
    import shlex

    print(f"wrote {path}")
    for line in ("probe check {path}", *commands):
        print("  " + line.format(path=shlex.quote(str(path))))

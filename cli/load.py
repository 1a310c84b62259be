"""`--load FILE`: a user's file is read before any command is looked up, since its tasks are commands too."""

import shlex
import sys
from typing import Annotated

import typer

from attnprobe.cli.shell import Group

FLAG = "--load"
LoadOption = Annotated[
    list[str] | None,
    typer.Option(FLAG, metavar="FILE", help="A Python file whose tasks and mechanisms count as the suite's own, repeatable."),
]


class LoadingGroup(Group):
    """The outermost group: loads every file that any of its commands is given by --load, then goes on as usual."""

    def parse_args(self, ctx, args):
        """Load, then parse."""
        if paths := given(args):
            from attnprobe.probes.loading import load

            for path in dict.fromkeys(paths):
                load(path)
        return super().parse_args(ctx, args)


def tell(specs, how, quiet):
    """Say on stderr which parts of the loaded files are in none of the specs that a run trains, and that no check was made of the files.

    how: the words that name parts on the command line; quiet: leave the second out.
    """
    from attnprobe.probes.tasks import TASKS

    mine, used = loaded(), parts(specs)
    idle = [name for name in mine if name not in used and name not in TASKS]
    for path in dict.fromkeys(mine[name].path for name in idle):
        names = [name for name in idle if mine[name].path == path]
        what = "is loaded and in no arm" if len(names) == 1 else "are loaded and in no arm"
        print(f"note: {path}: {', '.join(names)} {what}; name it by {shlex.join(how(names))}", file=sys.stderr)
    if mine and not quiet:
        files = list(dict.fromkeys(str(entry.path) for entry in mine.values()))
        line = shlex.join(["probe", "check", *files])
        print(f"note: {', '.join(files)}: not checked here; {line} does, before training", file=sys.stderr)


def loaded():
    """name -> Entry of every task and part that a user's file registered."""
    from attnprobe.probes.loading import PREFIX
    from attnprobe.probes.spec import REGISTRIES
    from attnprobe.probes.tasks import TASKS

    return {entry.name: entry for r in (TASKS, *REGISTRIES.values()) for entry in r.entries.values() if entry.module.startswith(PREFIX)}


def parts(specs):
    """The names of the parts of specs, as they are trained and as they are judged."""
    return {part.name for spec in specs for side in (spec.trained, spec.judged) for layer in side.layers for part in layer.parts().values()}


def unchecked(task, specs):
    """name -> path of the file it was loaded from, of a task, by name, and of the parts of specs; a run checks none of them."""
    used = {task} | parts(specs)
    return {name: str(entry.path) for name, entry in loaded().items() if name in used}


def given(args):
    """The files after --load, or after --load=, in arguments up to `--`."""
    own = args[: args.index("--")] if "--" in args else args
    return [
        arg.removeprefix(f"{FLAG}=") if arg != FLAG else own[at + 1]
        for at, arg in enumerate(own)
        if arg.startswith(f"{FLAG}=") or (arg == FLAG and at + 1 < len(own))
    ]

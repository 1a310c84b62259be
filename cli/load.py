"""`--load FILE`: a user's file is read before any command is looked up, since its tasks are commands too."""

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


def given(args):
    """The files after --load, or after --load=, in arguments up to `--`."""
    own = args[: args.index("--")] if "--" in args else args
    return [
        arg.removeprefix(f"{FLAG}=") if arg != FLAG else own[at + 1]
        for at, arg in enumerate(own)
        if arg.startswith(f"{FLAG}=") or (arg == FLAG and at + 1 < len(own))
    ]

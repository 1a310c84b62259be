"""`probe diff A B`: which verdicts changed between two stores, two exports, or two versions in one store."""

import json
from typing import Annotated

import typer

from attnprobe.cli.load import LoadOption
from attnprobe.cli.results_command import JSON
from attnprobe.cli.shell import command

EXIT_CHANGED = 1


@command
def diff(
    first: Annotated[
        str, typer.Argument(metavar="A", help="A store's directory, or a file that `probe export` wrote.", show_default=False)
    ],
    second: Annotated[
        str | None,
        typer.Argument(metavar="[B]", help="Another; without it, what in A is older is held against what is current.", show_default=False),
    ] = None,
    as_json: Annotated[bool, JSON] = False,
    load: LoadOption = None,
):
    """[bold]probe diff results other-results[/bold]   two stores

    [bold]probe diff before.csv results[/bold]      an export and a store

    [bold]probe diff results[/bold]                 older results against today's

    Say which verdicts changed: the seeds that one side alone solves, failed seeds, theory's word; paired by seed, with an exact test. What
    is on one side alone, and differences in code or task version, are named. Exit 0: no verdict changed; 1: some did; 2: bad input, or
    nothing in common.
    """
    from attnprobe.cli import difference_tables
    from attnprobe.cli.differences import compare
    from attnprobe.cli.shell import console
    from attnprobe.cli.sides import read

    if second is None:
        rows = read(first)
        sides = [[row for row in rows if row["state"] == state] for state in ("older", "current")]
        names = [f"{first}, older results", f"{first}, current results"]
        if not sides[0]:
            raise ValueError(f"{first} holds no older results to hold against the current ones; give a second store or export")
    else:
        sides, names = [read(first), read(second)], [first, second]
    made = compare(*sides) | {"sides": names}
    if as_json:
        print(json.dumps(made, allow_nan=False))
    else:
        out = console()
        for item in difference_tables.pages(made, names):
            out.print(item)
    if made["changed"]:
        raise typer.Exit(EXIT_CHANGED)

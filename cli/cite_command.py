"""`probe cite`: BibTeX for the suite, and for the papers of tasks and mechanisms."""

import sys
from typing import Annotated

import typer

from attnprobe.cli import completion
from attnprobe.cli.load import LoadOption
from attnprobe.cli.shell import command

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Tasks, parts or specs; none: the suite alone.", autocompletion=completion.tasks_and_arms),
]


@command
def cite(names: Names = None, load: LoadOption = None):
    """[bold]probe cite ladder fpa pn_fir_tau > refs.bib[/bold]

    [bold]probe cite[/bold]   the suite alone

    Print BibTeX for the suite, and for the papers of tasks and mechanisms. What is not known for sure of a paper is left out: fill it in.
    """
    from attnprobe.cli.citations import cited

    entries, without = cited(names or ())
    print("\n\n".join(map(str, entries)))
    for name, why in without.items():
        print(f"{name}: nothing to cite ({why})", file=sys.stderr)

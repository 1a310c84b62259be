"""`probe results`: what a store holds."""

import json
from typing import Annotated

import typer

from attnprobe.cli.load import LoadOption
from attnprobe.cli.shell import command

STORE = typer.Option(help="Directory of results.", envvar="PROBE_STORE")
TASKS_ASKED = typer.Argument(metavar="TASK", help="Only these tasks; default: all.", show_default=False)
JSON = typer.Option("--json", help="Print JSON, and nothing else, on stdout.")


@command
def results(
    task: Annotated[list[str] | None, TASKS_ASKED] = None,
    store: Annotated[str, STORE] = "results",
    as_json: Annotated[bool, JSON] = False,
    load: LoadOption = None,
):
    """[bold]probe results[/bold]

    [bold]probe results ladder --store results --json[/bold]

    List what is stored: arms, seeds, solved counts, and whether today's code would take a result for its own (current) or not (older,
    with the reason: code, task version, schema). Nothing is written.
    """
    from attnprobe.cli import listing, listing_tables
    from attnprobe.cli.comparisons import chosen
    from attnprobe.cli.shell import console
    from attnprobe.probes.holdings import holdings, leftovers

    made = listing.build(store, holdings(store, chosen(store, task)), leftovers(store))
    if as_json:
        print(json.dumps(made, allow_nan=False))
        return
    out = console()
    for item in listing_tables.pages(made):
        out.print(item)

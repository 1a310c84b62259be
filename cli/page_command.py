"""`probe report`: what is stored, as one HTML file."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from attnprobe.cli.load import LoadOption
from attnprobe.cli.results_command import STORE, TASKS_ASKED
from attnprobe.cli.shell import EXIT_CONTRADICTION, command


@command
def report(
    task: Annotated[list[str] | None, TASKS_ASKED] = None,
    out: Annotated[str, typer.Option(help="The file to write.", metavar="FILE")] = "report.html",
    open_it: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    store: Annotated[str, STORE] = "results",
    load: LoadOption = None,
):
    """[bold]probe report --open[/bold]

    [bold]probe report ladder recall --out ladder.html[/bold]

    Write what is stored as one HTML file: tables that can be sorted, theorems with their proofs, every seed, the command that makes each
    row again. The file holds everything and asks for nothing from the network. Results of other code or versions are listed, not counted.
    Exit 1 where a result contradicts a theorem.
    """
    import datetime
    from importlib.metadata import version

    from attnprobe.cli import listing
    from attnprobe.cli.comparisons import chosen, gather
    from attnprobe.cli.page import page
    from attnprobe.cli.report import contradictions
    from attnprobe.cli.written import write_whole
    from attnprobe.probes.holdings import holdings, leftovers

    found = holdings(store, chosen(store, task))
    compared = [(one, one.report()) for one in gather(found)]
    if not compared:
        raise ValueError(f"{store} holds no result of today's code; `probe results --store {store}` shows what there is")
    asked = {
        "command": shlex.join(["probe", *sys.argv[1:]]),
        "date": datetime.datetime.now(datetime.UTC).isoformat(sep=" ", timespec="minutes"),
        "version": f"attnprobe {version('attnprobe')}",
    }
    write_whole(out, page(asked, compared, listing.build(store, found, leftovers(store))).encode())
    seeds = sum(len(result.records) for one, _ in compared for result in one.results)
    print(f"wrote {out}: {len(compared)} comparison{'s' * (len(compared) > 1)}, {seeds} seed{'s' * (seeds > 1)}", file=sys.stderr)
    if left := sum(held.state != "current" for held in found):
        which = "not of today's code, or of a file that is not loaded"
        print(f"note: {left} of {len(found)} results are {which}: the last part lists them", file=sys.stderr)
    if open_it:
        import webbrowser

        if not webbrowser.open(Path(out).resolve().as_uri()):
            print(f"no browser could be started; open {out} yourself", file=sys.stderr)
    against = [line for _, made in compared for line in contradictions(made)]
    for line in against:
        print(f"CONTRADICTION with a theorem: {line}. One of the two is wrong: please report it.", file=sys.stderr)
    if against:
        raise typer.Exit(EXIT_CONTRADICTION)

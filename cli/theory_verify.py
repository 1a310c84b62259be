"""`theory verify`, `theory check`, `theory explain`: what the claims say, whether they hold, and whether a certificate does."""

import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from attnprobe.cli import completion
from attnprobe.cli.shell import EXIT_CONTRADICTION
from attnprobe.theory import claim

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Claims (T5-tight), families (T5) or titles (rank-bound).", autocompletion=completion.claims),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]
REFRESH = 0.1  # seconds between two updates of the live line


def verify(
    names: Names = None,
    r: Annotated[int | None, typer.Option("--r", help="Rungs, for the claims that take r.", show_default="each claim's own")] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Take each claim's larger scope: minutes.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=256, help="Processes.")] = 1,
    certificates: Annotated[Path | None, typer.Option("--certificates", metavar="DIR", help="Write a JSON file a claim into DIR.")] = None,
    as_json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
):
    """[bold]theory verify[/bold]

    [bold]theory verify T1-ladder --r 24[/bold]

    [bold]theory verify T5 rank-bound --json[/bold]

    [bold]theory verify --deep --jobs 4 --certificates certificates[/bold]

    Check claims, all if none is named; exit 1 if one is refuted, or vacuous: without a case to check. [cyan]supported[/cyan] is said of
    claims that are only sampled.
    """
    from attnprobe.cli import theory_tables
    from attnprobe.theory.runs import settings

    if as_json and markdown:
        raise ValueError("give --json or --markdown, not both")
    entries = claim.select(names, claim.catalogue())
    runs = [(entry, values) for entry, values in zip(entries, settings(entries, names, {} if r is None else {"r": r}, deep), strict=True)]
    found = sorted(results(runs, deep, jobs), key=lambda one: [entry.name for entry in entries].index(one.name))
    if certificates:
        from attnprobe.theory.certificates import write

        for entry, one in zip(entries, found, strict=True):
            write(one, entry.statement, certificates)
    if as_json:
        rows = [asdict(one) for one in found]
        for row in rows:
            del row["witness"], row["evidence"]
        print(json.dumps({"claims": rows}, indent=2))
    elif markdown:
        print(theory_tables.certificate_markdown(found))
    else:
        console = Console()
        console.print(theory_tables.certificate_table(found, console.width))
    if any(one.verdict in ("refuted", "vacuous") for one in found):
        raise typer.Exit(EXIT_CONTRADICTION)


def check(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where `theory verify --certificates DIR` wrote them.")]):
    """[bold]theory check certificates[/bold]

    Re-check certificates with integers and Fractions alone, by two files that share no code with what wrote them and run without this
    package too (theory/check.py, theory/check_sequences.py), and compare their texts with the claims; exit 1 if one does not hold.
    """
    from attnprobe.cli.theory_tables import check_table
    from attnprobe.theory.certificates import problem

    if not folder.is_dir():
        raise ValueError(f"{folder}: no such directory")
    paths = sorted(folder.glob("*.json"))
    rows = [(path.name, problem(path.read_text(errors="replace"), path.stem) if path.is_file() else "no file") for path in paths]
    if not rows:
        raise ValueError(f"{folder}: no certificate: run `theory verify --certificates {folder}`")
    unredone = {path.name for path, (_, why) in zip(paths, rows, strict=True) if not why and not json.loads(path.read_bytes())["evidence"]}
    Console().print(check_table(rows, sorted(set(claim.catalogue()) - {file.removesuffix(".json") for file, _ in rows}), unredone))
    if any(why for _, why in rows):
        raise typer.Exit(EXIT_CONTRADICTION)


def explain_command(names: Names):
    """[bold]theory explain rank-bound[/bold]

    [bold]theory explain T5-tight[/bold]

    Say what a claim states and assumes, its proof, its limits, and how it is checked.
    """
    from attnprobe.cli.theory_tables import explanation
    from attnprobe.theory.explanations import explain

    console = Console()
    for told in explain(*(names or ())):
        console.print(explanation(told))


def results(runs, deep, jobs):
    """Yield the Certificate of each (entry, overrides) as it is done, with progress on stderr: a live line, or plain lines in a file."""
    progress = Console(stderr=True)
    if jobs > 1:
        with ProcessPoolExecutor(min(jobs, len(runs)), mp_context=get_context("spawn")) as pool:
            futures = [pool.submit(one, entry, values, deep) for entry, values in runs]
            try:
                for done in as_completed(futures):
                    report(progress, done.result())
                    yield done.result()
            finally:
                pool.shutdown(cancel_futures=True)
        return
    for n, (entry, values) in enumerate(runs, 1):
        label = f"{n} of {len(runs)}: {entry.name} ({entry.kind})"
        with progress.status(label) if progress.is_terminal else nullcontext() as line:
            found = one(entry, values, deep, line and ticker(line, label))
        if not progress.is_terminal:
            report(progress, found)
        yield found


def one(entry, values, deep, watch=None):
    """Return the Certificate of one claim; here, and in a process of its own."""
    return claim.verify(claim.load(entry), deep=deep, watch=watch, **values)


def ticker(line, label):
    """Return a function of the number of cases so far that shows it in a live line, at most ten times a second."""
    last = [time.monotonic()]

    def tick(count):
        if time.monotonic() - last[0] > REFRESH:
            last[0] = time.monotonic()
            line.update(f"{label}: {count} cases")

    return tick


def report(progress, found):
    """Print the plain line of a claim that is done."""
    progress.print(f"{found.name}: {found.verdict}, {found.cases} cases, {found.seconds:.2f} s", highlight=False, soft_wrap=True)

"""The command `theory`: lists the claims, verifies them, and says what a concrete head can realise."""

import json
from contextlib import nullcontext
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from attnprobe.cli import simulate
from attnprobe.cli.shell import EXIT_CONTRADICTION, Group, command
from attnprobe.theory import claim

LARGE = 1e6  # the last offset of a random head: so far away that generic keys attain the ceiling (T6)
MOST_DIMENSIONS = 1024  # of a random head; more say nothing new, since r <= 20 keys span at most 20


class Offsets(StrEnum):
    large = "large"
    normal = "normal"
    none = "none"


app = typer.Typer(
    name="theory",
    cls=Group,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(simulate.app, name="simulate", short_help="Draw what windows over shuffled orders reach.")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]


def _version(value):
    if value:
        from importlib.metadata import version

        print(f"attnprobe {version('attnprobe')}")
        raise typer.Exit()


@app.callback()
def main(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False):
    """[bold]theory list[/bold]                                   the claims

    [bold]theory verify[/bold]                                 check them all, in seconds

    [bold]theory verify T5 --r 12[/bold]                       one family, at another size

    [bold]theory realise --random 0 --r 10 --head-dim 4[/bold] which alive sets a head can realise

    Claims about attention heads, each checked by exhaustive or exact computation, with its scope and its assumptions.
    """


@app.command("list", short_help="List the claims.")
@command
def list_claims():
    """[bold]theory list[/bold]

    List the claims: name, kind, statement, source.
    """
    from attnprobe.cli.theory_tables import claim_table

    Console().print(claim_table(claim.catalogue().values()))


@app.command(short_help="Check claims.")
@command
def verify(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Claims (T5-tight) or families (T5); all if none.")] = None,
    r: Annotated[int | None, typer.Option("--r", help="Rungs, for the claims that take r.", show_default="each claim's own")] = None,
    as_json: AsJson = False,
):
    """[bold]theory verify[/bold]

    [bold]theory verify T1-ladder --r 24[/bold]

    [bold]theory verify T5 T6 --json[/bold]

    Check claims; exit 1 if one is refuted, or vacuous: without a case to check. [cyan]supported[/cyan] is said of claims that are only
    sampled.
    """
    claims = [claim.load(entry) for entry in claim.select(names, claim.catalogue())]
    runs = _with_rungs(claims, names, r)
    certificates = []
    progress = Console(stderr=True)
    for made, values in runs:
        with progress.status(f"{made.name} ({made.kind})") if progress.is_terminal else nullcontext():
            found = claim.verify(made, **values)
        if not progress.is_terminal:
            progress.print(f"{found.name}: {found.verdict}, {found.cases} cases, {found.seconds:.2f} s", highlight=False, soft_wrap=True)
        certificates.append(found)
    if as_json:
        rows = [asdict(found) for found in certificates]
        for row in rows:
            del row["witness"], row["evidence"]
        print(json.dumps({"claims": rows}, indent=2))
    else:
        from attnprobe.cli.theory_tables import certificate_table

        console = Console()
        console.print(certificate_table(certificates, console.width))
    if any(found.verdict in ("refuted", "vacuous") for found in certificates):
        raise typer.Exit(EXIT_CONTRADICTION)


@app.command(short_help="Count the alive sets that a head realises.", no_args_is_help=True)
@command
def realise(
    head: Annotated[Path | None, typer.Option("--head", help='JSON file: {"keys": [["p/q", ...], ...], "offsets": [...] | null}.')] = None,
    random: Annotated[int | None, typer.Option("--random", help="Seed of a head with N(0, 1) keys and offsets.", metavar="SEED")] = None,
    r: Annotated[int | None, typer.Option("--r", help="Rungs of a random head: 1..20.", show_default="10")] = None,
    head_dim: Annotated[int | None, typer.Option("--head-dim", help="Head dimension of a random head.", show_default="4")] = None,
    offsets: Annotated[
        Offsets | None, typer.Option(help="Offsets of a random head; large: N(0, 1), the last one 10^6.", show_default="large")
    ] = None,
    as_json: AsJson = False,
):
    """[bold]theory realise --random 0 --r 10 --head-dim 4[/bold]

    [bold]theory realise --random 0 --r 10 --head-dim 4 --offsets none --json[/bold]

    [bold]theory realise --head head.json[/bold]

    Count the alive sets that a head with these keys and offsets realises with a free query, exactly; the last key is always alive. Bit i
    of a word is set iff key i+1 is dead; the first impossible set is that of the lowest word, with weights lambda that prove it.
    """
    if (head is None) == (random is None):
        raise ValueError("give either --head FILE or --random SEED")
    given = {name: value for name, value in (("r", r), ("head_dim", head_dim), ("offsets", offsets)) if value is not None}
    if head and given:
        raise ValueError("--r, --head-dim and --offsets describe a random head; a head file says its own")
    keys, shift = _read(head) if head else _draw(random, **given)
    from attnprobe.theory import rank
    from attnprobe.theory.realise import realise

    found = realise(keys, shift)
    width, shifted = len(keys[0]), shift is not None
    ceiling = rank.ceiling(found.r, width, shifted)
    if as_json:
        first = found.first_impossible
        proof = first and {"alive": first.alive, "lambda": [str(w) for w in first.weights]}
        row = {"r": found.r, "head_dim": width, "offsets": shifted, "sets": len(found.table), "realisable": found.count, "ceiling": ceiling}
        print(json.dumps(row | {"first_impossible": proof}, indent=2))
    else:
        from attnprobe.cli.theory_tables import realisation_table

        Console().print(realisation_table(found, width, ceiling, shifted))


def _with_rungs(claims, names, r):
    """Return [(claim, overrides)], r for those that take it; ValueError if a name means none that does, or if r is out of bounds."""
    runs = [(made, {} if r is None or "r" not in made.spans else {"r": r}) for made in claims]
    for name in names or ():
        if r is not None and not any("r" in made.spans for made in claims if name in (made.name, made.name.split("-")[0])):
            raise ValueError(f"{name} takes no r")
    for made, values in runs:
        claim.settle(made, values)
    return runs


def _read(path):
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON: {error}") from None
    if not isinstance(data, dict) or not {"keys"} <= set(data) <= {"keys", "offsets"}:
        raise ValueError(f'{path}: a head is {{"keys": [["p/q", ...], ...], "offsets": ["p/q", ...] | null}}')
    return data["keys"], data.get("offsets")


def _draw(seed, r=10, head_dim=4, offsets=Offsets.large):
    import numpy as np

    from attnprobe.theory.realise import MOST_RUNGS

    for name, value, low, high in (("--random", seed, 0, 2**63), ("--head-dim", head_dim, 1, MOST_DIMENSIONS), ("--r", r, 1, MOST_RUNGS)):
        if not low <= value <= high:
            raise ValueError(f"{name} must be in {low}..{high}, got {value}")

    rng = np.random.default_rng(seed)
    keys, shift = rng.standard_normal((r, head_dim)), rng.standard_normal(r)
    if offsets is Offsets.large:
        shift[-1] = LARGE
    return keys, None if offsets is Offsets.none else shift

"""The command `theory`: lists the claims, verifies them, and says what a concrete head can realise."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from attnprobe.cli import simulate, theory_verify
from attnprobe.cli.shell import Group, command
from attnprobe.cli.theory_verify import AsJson
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
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(simulate.app, name="simulate", short_help="Draw what windows over shuffled orders reach.")


def _version(value):
    if value:
        from importlib.metadata import version

        print(f"attnprobe {version('attnprobe')}")
        raise typer.Exit()


@app.callback()
def main(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False):
    """[bold]theory list[/bold]                                     the claims

    [bold]theory explain rank-bound[/bold]                       what one says, and why

    [bold]theory verify[/bold]                                   check them all

    [bold]theory verify T5 --r 12[/bold]                         one family, at another size

    [bold]theory check certificates[/bold]                       re-check certificates

    [bold]theory realise --random 0 --r 10 --head-dim 4[/bold]   what a head can realise

    Claims about attention heads, each checked by exhaustive or exact computation, with its scope and its assumptions.
    Exit codes: 0; 1 a claim refuted or vacuous, or a certificate that does not hold; 2 bad input; 130 interrupted.
    """


@app.command("list", short_help="List the claims.")
@command
def list_claims():
    """[bold]theory list[/bold]

    List the claims: name, kind, statement, source.
    """
    from attnprobe.cli.theory_tables import claim_table

    Console().print(claim_table(claim.catalogue().values()))


app.command("explain", short_help="Say what a claim states, and why.")(command(theory_verify.explain_command))
app.command(short_help="Check claims.")(command(theory_verify.verify))
app.command(short_help="Re-check certificates.")(command(theory_verify.check))


@app.command(short_help="Count the alive sets that a head realises.")
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
    from attnprobe.theory.realisation import realise

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

    from attnprobe.theory.realisation import MOST_RUNGS

    for name, value, low, high in (("--random", seed, 0, 2**63), ("--head-dim", head_dim, 1, MOST_DIMENSIONS), ("--r", r, 1, MOST_RUNGS)):
        if not low <= value <= high:
            raise ValueError(f"{name} must be in {low}..{high}, got {value}")

    rng = np.random.default_rng(seed)
    keys, shift = rng.standard_normal((r, head_dim)), rng.standard_normal(r)
    if offsets is Offsets.large:
        shift[-1] = LARGE
    return keys, None if offsets is Offsets.none else shift

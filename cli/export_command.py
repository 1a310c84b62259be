"""`probe export`: what is stored, for other programs and for papers."""

import json
import sys
from enum import StrEnum
from typing import Annotated

import typer

from attnprobe.cli.load import LoadOption
from attnprobe.cli.results_command import STORE, TASKS_ASKED
from attnprobe.cli.shell import command


class Rows(StrEnum):
    seeds = "seeds"
    arms = "arms"


def form(name, text):
    """The option of a format."""
    return typer.Option(f"--{name}", help=text, rich_help_panel="The format, one of")


@command
def export(
    task: Annotated[list[str] | None, TASKS_ASKED] = None,
    csv: Annotated[bool, form("csv", "CSV with a header line.")] = False,
    parquet: Annotated[bool, form("parquet", "Parquet, with --out; needs pyarrow.")] = False,
    as_json: Annotated[bool, form("json", "JSON, with the meaning of every column.")] = False,
    markdown: Annotated[bool, form("markdown", "A GitHub table for each comparison, with its notes.")] = False,
    latex: Annotated[bool, form("latex", "A booktabs table for each comparison, with its notes.")] = False,
    rows: Annotated[
        Rows | None, typer.Option(help="A row a seed or a row an arm.", show_default="seeds; of markdown and latex, arms")
    ] = None,
    older: Annotated[bool, typer.Option("--older", help="Results of other code and versions too, marked so; rows of seeds alone.")] = False,
    out: Annotated[str | None, typer.Option(help="A file to write in place of stdout.", metavar="FILE")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print every column with its type, unit and meaning, and stop.")] = False,
    store: Annotated[str, STORE] = "results",
    load: LoadOption = None,
):
    """[bold]probe export --csv --out seeds.csv[/bold]   a row a seed, every task

    [bold]probe export --latex ladder[/bold]          a table of arms for a paper

    [bold]probe export --json --rows arms ladder recall[/bold]

    [bold]probe export --schema[/bold]                what each column means

    Export the results of today's code. Results of other code, task versions or schemas are left out, and stderr says how many; --older
    adds them, with their state in a column of its own.
    """
    from attnprobe.cli import row_schema
    from attnprobe.cli.shell import console

    if schema:
        for table in row_schema.tables():
            console().print(table)
        return
    given = {"csv": csv, "parquet": parquet, "json": as_json, "markdown": markdown, "latex": latex}
    asked = [name for name, on in given.items() if on]
    if len(asked) != 1:
        raise ValueError(f"give one of {', '.join(f'--{name}' for name in given)}, not {' and '.join(f'--{n}' for n in asked) or 'none'}")
    (name,) = asked
    if rows is None:
        rows = Rows.arms if name in ("markdown", "latex") else Rows.seeds
    if older and rows is Rows.arms:
        raise ValueError("--older is of rows of seeds: arms are compared within one code; add --rows seeds")
    if name == "parquet" and out is None:
        raise ValueError("--parquet is not for a terminal: add --out FILE")
    write(made(name, rows, pick(store, task, older)), out)


def pick(store, names, older):
    """The Holdings to export; stderr is told what is left out. Raises ValueError where nothing remains."""
    from attnprobe.cli.comparisons import chosen
    from attnprobe.probes.holdings import holdings

    found = holdings(store, chosen(store, names))
    kept = [held for held in found if held.record and (older or held.state == "current")]
    left = len(found) - len(kept)
    if left:
        hint = "" if older else "; --older adds those that can be read"
        which = "not of today's code, or of a file that is not loaded"
        print(f"note: {left} of {len(found)} results are {which}, and left out{hint}", file=sys.stderr)
    if not kept:
        raise ValueError(f"{store} holds nothing to export; `probe results --store {store}` shows what there is")
    return sorted(kept, key=place)


def place(held):
    """Where a result stands: by task, options, recipe, arm and seed."""
    from attnprobe.cli.tables import by_size

    known = held.identity
    size, recipe = by_size(known["task"], known["options"]), json.dumps(known["recipe"], sort_keys=True)
    return size, recipe, known["arm_name"], known["head_dim"], known["seed"], held.state, known["code"]


def made(name, rows, held):
    """The export as bytes."""
    from attnprobe.cli import row_formats
    from attnprobe.cli import rows as flat
    from attnprobe.cli.comparisons import gather

    if name in ("markdown", "latex"):
        write = getattr(row_formats, f"{name}_text")
        if rows is Rows.seeds:
            return write(row_formats.paper_seeds(flat.seed_rows(held))).encode()
        return write(row_formats.paper_tables([(one, one.report()) for one in gather(held)])).encode()
    arms = (row for one in gather(held) for row in flat.arm_rows(one, one.report()))
    found = flat.seed_rows(held) if rows is Rows.seeds else list(arms)
    if name == "parquet":
        return row_formats.parquet_bytes(found)
    return (row_formats.csv_text(found) if name == "csv" else row_formats.json_text(found, str(rows))).encode()


def write(data, out):
    """Bytes to a file, whole or not at all, or to stdout."""
    if out is None:
        sys.stdout.write(data.decode())
        return
    from attnprobe.cli.written import write_whole

    write_whole(out, data)
    print(f"wrote {out}", file=sys.stderr)

"""`probe gc`: what of a store could be removed, and its removal where asked."""

import json
from typing import Annotated

import typer

from attnprobe.cli.load import LoadOption
from attnprobe.cli.results_command import JSON, STORE
from attnprobe.cli.shell import command

SCHEMA = 1


def kind(text, *flags):
    """The option of a kind of file."""
    return typer.Option(*flags, help=text, rich_help_panel="What goes; without any of these, what is corrupt or temporary")


@command
def gc(
    older: Annotated[bool, kind("Results of other code, an older task version or schema.", "--older")] = False,
    corrupt: Annotated[bool, kind("Damaged results, and what was set aside as .corruptN.", "--corrupt")] = False,
    temporary: Annotated[bool, kind("Files of writes that were cut off, an hour old or more.", "--temporary")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove them. Without it nothing is touched.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show; this is what happens without --remove.")] = False,
    store: Annotated[str, STORE] = "results",
    as_json: Annotated[bool, JSON] = False,
    load: LoadOption = None,
):
    """[bold]probe gc[/bold]                    what could be removed, and its size

    [bold]probe gc --older[/bold]            and which results of other code or versions

    [bold]probe gc --older --remove[/bold]   remove those

    Show what of a store could go. Nothing is removed without --remove, and no result of today's code ever. Results of a later version, and
    those of a task or mechanism that is not known here (a file of yours, say), stay too.
    """
    if remove and dry_run:
        raise ValueError("--remove removes and --dry-run does not: give one of them")
    from attnprobe.cli import clearing
    from attnprobe.cli.shell import console

    asked = [name for name, on in {"older": older, "corrupt": corrupt, "temporary": temporary}.items() if on] or ["corrupt", "temporary"]
    every = clearing.items(store)
    found = [one for one in every if one.kind in asked]
    gone, kept = clearing.remove(found) if remove else ([], [])
    if as_json:
        files = [{"path": str(one.path), "kind": one.kind, "why": one.why, "bytes": one.size, "removed": one in gone} for one in found]
        print(json.dumps({"schema": SCHEMA, "store": store, "asked": asked, "there": clearing.count(every), "files": files}))
        return
    out = console()
    for line in lines(store, every, asked, found, gone, kept, remove):
        out.print(line, highlight=False, markup=False, soft_wrap=True)


def lines(store, every, asked, found, gone, kept, remove):
    """What is told."""
    from attnprobe.cli.clearing import KINDS, count
    from attnprobe.cli.listing_tables import size

    for one in found:
        yield f"{one.path}: {one.why}, {size(one.size)}"
    if found:
        yield ""
    for name, there in count(every).items():
        aside = "" if name in asked or not there["files"] else f" (not asked for: --{name})"
        yield f"{name}: {there['files']} file{'s' * (there['files'] != 1)}, {size(there['bytes'])}: {KINDS[name]}{aside}"
    for one in kept:
        yield f"kept {one.path}: it changed meanwhile"
    if remove:
        yield f"removed {len(gone)} file{'s' * (len(gone) != 1)}, {size(sum(one.size for one in gone))}, from {store}"
    elif found:
        yield f"nothing was removed; --remove removes the {len(found)} listed, {size(sum(one.size for one in found))}"
    else:
        yield "nothing to remove"

"""The tables of `probe results`: what is stored, by task and options. Functions return renderables; the command prints them."""

from rich import box
from rich.table import Table
from rich.text import Text

from attnprobe.cli.inputs import ranges
from attnprobe.cli.tables import solved, title


def pages(listing):
    """A title, a line of what its rows share, and a table for each group; then the files that are no results, and the counts."""
    for group in listing["groups"]:
        yield title({"task": group["task"], "config": {"options": group["options"]}})
        yield Text(shared(group), style="dim")
        yield table(group)
    if listing["others"]:
        yield Text("Not readable as results of this version", style="bold")
        for other in listing["others"]:
            yield Text(f"  {other['path']}: {other['state']}, {'; '.join(other['why'])}")
        yield Text()
    for line in closing(listing):
        yield Text(line, style="dim")


def shared(group):
    """What the rows of a group have in common, in one line."""
    now = group["version_now"]
    moved = "" if now == group["version"] else " (task not known here)" if now is None else f" (now {now})"
    versions = sorted({f"{name} {v}" for row in group["arms"] for name, seen in row["versions"].items() for v in seen})
    return "; ".join([f"task version {group['version']}{moved}", recipe(group["recipe"]), group["device"], ", ".join(versions)])


def recipe(found):
    """What of a recipe can be asked for, as far as it is there."""
    said = {"steps": "{} steps", "lr": "lr {}", "batch": "batch {}"}
    return ", ".join(text.format(found[name]) for name, text in said.items() if name in found)


def table(group):
    """A row an arm, code and state."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for heading, justify in {"arm": "left", "d": "right", "seeds": "left", "solved": "right", "state": "left", "last": "left"}.items():
        made.add_column(heading, justify=justify, overflow="fold", no_wrap=heading not in ("arm", "seeds", "state"))
    for row in group["arms"]:
        seeds, state = ", ".join(f"{low}:{high}" for low, high in ranges(row["seeds"])), "; ".join([row["state"], *row["why"]])
        cells = row["arm"], str(row["head_dim"]), seeds, solved(row), state, row["dates"][1][:10]
        made.add_row(*map(Text, cells), style="" if row["state"] == "current" else "dim")
    return made


def closing(listing):
    """How many results there are in each state, and what could be cleared away."""
    counts = {state: count for state, count in listing["counts"].items() if count}
    total = sum(counts.values())
    if not total:
        yield f"{listing['store']} holds no result"
    else:
        told = ", ".join(f"{count} {state}" for state, count in counts.items())
        yield f"{total} result{'s' * (total > 1)} in {listing['store']}, {size(listing['bytes'])}: {told}"
    if counts.keys() - {"current"}:
        yield "`probe run`, `export`, `report` use the current ones alone; the others are never mixed with them"
    if counts.keys() & {"older", "damaged"} or any(listing["leftovers"].values()):
        yield "`probe gc` shows what could be removed"


def size(count):
    """Bytes for people."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"

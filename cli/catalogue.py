"""What `probe list` shows: tasks, the parts of a mechanism by axis, and named arms, read from the source without importing it."""

from rich import box
from rich.table import Table

from attnprobe.probes.spec import DEFAULTS, REGISTRIES, aliases
from attnprobe.probes.tasks import TASKS


def catalogue():
    """Three tables."""
    yield tasks()
    yield parts()
    yield named_arms()


def grid(title, *headings):
    """An empty table."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def tasks():
    """Every task with its summary and source."""
    table = grid("Tasks: probe run TASK, probe show TASK", "task", "what it asks", "source")
    for entry in TASKS.entries.values():
        table.add_row(entry.name, entry.summary, entry.facts.get("paper", ""))
    return table


def parts():
    """Every part by axis; the default of an axis is marked."""
    table = grid(
        "Parts: a mechanism is at most one of each axis, joined by +; layers by /  (* = default)", "axis", "part", "what it is", "paper"
    )
    for axis, registry in REGISTRIES.items():
        table.add_section()
        for entry in registry.entries.values():
            mark = "*" if DEFAULTS[axis] == entry.name else ""
            table.add_row(axis.replace("_", " "), entry.name + mark, entry.summary, entry.facts.get("paper", ""))
    return table


def named_arms():
    """Each task's default arms, and the aliases."""
    table = grid("Named arms", "where", "arms")
    for name in TASKS:
        table.add_row(f"default of {name}", " ".join(TASKS[name]().arms))
    for alias, spec in aliases().items():
        table.add_row(alias, f"short for {spec}")
    return table

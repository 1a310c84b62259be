"""What a shell completes: parts of an arm, tasks, claims; commands and options complete themselves."""

import re


def arms(incomplete: str):
    """Specs that go on from what was typed: the parts of axes that it does not name yet, from the source, importing none of them."""
    from attnprobe.probes.spec import aliases, axis_of

    at = max(incomplete.rfind(mark) for mark in "+/>") + 1
    layer = incomplete[max(incomplete.rfind(mark) for mark in "/>") + 1 : at]
    used = {axis_of().get(part.partition("(")[0]) for part in layer.split("+") if part}
    names = [name for name, axis in axis_of().items() if axis not in used] + ([] if layer else list(aliases()))
    return [incomplete[:at] + name for name in names if name.startswith(incomplete[at:])]


def tasks(incomplete: str):
    """Tasks that begin so."""
    from attnprobe.probes.tasks import TASKS

    return [name for name in TASKS.entries if name.startswith(incomplete)]


def tasks_and_arms(incomplete: str):
    """Tasks, then specs."""
    return [*tasks(incomplete), *arms(incomplete)]


def tasks_by_comma(incomplete: str):
    """Tasks joined by commas, the last one completed."""
    return by_comma(incomplete, tasks)


def arms_by_comma(incomplete: str):
    """Specs joined by commas outside parentheses, the last one completed."""
    return by_comma(incomplete, arms)


def by_comma(incomplete, complete):
    """What was typed up to the last comma, with each completion of the rest."""
    before = re.match(r"(?:.*,(?![^()]*\)))?", incomplete)[0]
    return [before + text for text in complete(incomplete[len(before) :])]


def claims(incomplete: str):
    """Names, families and titles of claims."""
    from attnprobe.theory import claim

    return [name for name in claim.names_of(claim.catalogue()) if name.startswith(incomplete)]

"""What a store holds as one value, from which `probe results` prints its table and its JSON."""

import json

from attnprobe.cli.tables import by_size
from attnprobe.probes.holdings import STATES

SCHEMA = 1
SHARED = ("task", "options", "version", "recipe", "device", "dtype")  # what the rows of one table have in common


def build(root, holdings, leftovers):
    """{schema, store, groups, others, counts, leftovers}: results by what they have in common, and the files that are no result.

    A group's arms are rows of one arm, one code and one state: results of other code never share a row. leftovers: (path lists of files
    set aside, and of unfinished writes).
    """
    groups = {}
    for held in holdings:
        if held.record:
            shared = json.dumps([held.identity[name] for name in SHARED], sort_keys=True)
            groups.setdefault(shared, []).append(held)
    aside, unfinished = leftovers
    return {
        "schema": SCHEMA,
        "store": str(root),
        "groups": sorted(map(group_row, groups.values()), key=lambda group: by_size(group["task"], group["options"])),
        "others": [{"path": str(h.path), "state": h.state, "why": list(h.why), "bytes": h.size} for h in holdings if not h.record],
        "counts": {state: sum(held.state == state for held in holdings) for state in STATES},
        "bytes": sum(held.size for held in holdings),
        "leftovers": {"corrupt": len(aside), "temporary": len(unfinished)},
    }


def group_row(group):
    """One group: what is shared, the task's version today (None if it is not known here), and a row an arm, code and state."""
    rows, first = {}, group[0]
    for held in group:
        place = held.identity["arm_name"], held.identity["head_dim"], held.identity["code"], held.state
        rows.setdefault(place, []).append(held)
    now = first.task.version if first.task else None
    shared = {name: first.identity[name] for name in SHARED}
    return shared | {"version_now": now, "arms": [arm_row(*place, found) for place, found in sorted(rows.items())]}


def arm_row(arm, head_dim, code, state, found):
    """One row."""
    versions = {}
    for held in found:
        for name, version in held.recorded["versions"].items():
            versions.setdefault(name, set()).add(version)
    dates = sorted(held.recorded["date"] for held in found)
    return {
        "arm": arm,
        "head_dim": head_dim,
        "state": state,
        "why": list(dict.fromkeys(reason for held in found for reason in held.why)),
        "code": code,
        "seeds": sorted(held.identity["seed"] for held in found),
        "n": len(found),
        "solved": sum(held.result["status"] == "solved" for held in found),
        "failed": sorted(held.identity["seed"] for held in found if held.result["status"] == "failed"),
        "dates": [dates[0], dates[-1]],
        "versions": {name: sorted(seen) for name, seen in versions.items()},
        "bytes": sum(held.size for held in found),
    }

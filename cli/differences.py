"""What changed between two sides: which seeds are solved, and what theory says, arm by arm, paired by seed."""

import json

from attnprobe.cli.sides import PAIRED
from attnprobe.cli.tables import by_size
from attnprobe.probes.stats import discordant, holm, sign_test

SCHEMA = 1
SHARED = PAIRED[:-1]  # all but the seed


def compare(first, second):
    """{schema, arms, only: [of the first, of the second], passed_over: [n, n], changed} of two lists of rows a seed.

    Where a side has several results of one arm and seed, of several codes or versions, today's counts, else the latest, and passed_over
    counts the rest. Raises ValueError where the sides have no arm and seed in common.
    """
    (a, over_a), (b, over_b) = (by_arm(rows) for rows in (first, second))
    both = [place for place in a if place in b and a[place].keys() & b[place].keys()]
    if not both:
        raise ValueError(f"no arm and seed is on both sides{nearly(a, b)}")
    arms = [arm(a[place], b[place]) for place in sorted(both, key=standing)]
    for row, p in zip(arms, holm([row["p"] for row in arms]), strict=True):
        row["p_holm"] = p
    only = [[alone(mine, theirs.get(place, {})) for place, mine in side.items()] for side, theirs in ((a, b), (b, a))]
    return {
        "schema": SCHEMA,
        "arms": arms,
        "only": [[one for one in side if one["seeds"]] for side in only],
        "passed_over": [over_a, over_b],
        "changed": sum(row["changed"] for row in arms),
    }


def standing(place):
    """A sort key of an arm on both sides: by task, options by their value, then the rest of what is shared."""
    shared = dict(zip(SHARED, json.loads(place), strict=True))
    return by_size(shared["task"], shared["options"]), place


def by_arm(rows):
    """(arm -> seed -> row, how many rows gave way to another of the same arm and seed)."""
    found, over = {}, 0
    for row in sorted(rows, key=lambda row: (row["state"] == "current", row["date"])):
        seeds = found.setdefault(json.dumps([row[name] for name in SHARED], sort_keys=True), {})
        over += row["seed"] in seeds
        seeds[row["seed"]] = row
    return found, over


def arm(a, b):
    """One arm that is on both sides: seed -> row each."""
    seeds = sorted(a.keys() & b.keys())
    status = [{seed: side[seed]["status"] for seed in seeds} for side in (a, b)]
    whole = [seed for seed in seeds if "failed" not in (status[0][seed], status[1][seed])]
    lost, gained = discordant(*({seed: side[seed] == "solved" for seed in whole} for side in status))
    theory = [said(side, seeds) for side in (a, b)]
    differs = {name: [values(side, seeds, name) for side in (a, b)] for name in ("task_version", "code")}
    failed = [[seed for seed in seeds if side[seed] == "failed"] for side in status]
    moved = None not in theory and theory[0] != theory[1]
    first = a[seeds[0]]
    return {
        **{name: first[name] for name in SHARED},
        "n": len(seeds),
        "solved": [sum(side[seed] == "solved" for seed in seeds) for side in status],
        "failed": failed,
        "lost": lost,
        "gained": gained,
        "p": two_sided(len(lost), len(gained)),
        "p_holm": None,
        "theory": theory,
        "theory_changed": moved,
        **{name: found if found[0] != found[1] else None for name, found in differs.items()},
        "changed": bool(lost or gained or moved or failed[0] != failed[1]),
    }


def two_sided(lost, gained):
    """The two-sided exact p of the sign test: no side is expected to be the better one.

    >>> two_sided(5, 0), two_sided(1, 1)
    (0.0625, 1.0)
    """
    return min(1.0, 2 * sign_test(max(lost, gained), min(lost, gained)))


def said(side, seeds):
    """What theory says of an arm on one side; None where no row has its word."""
    return next((side[seed]["theory"] for seed in seeds if side[seed]["theory"] is not None), None)


def values(side, seeds, name):
    """The values of a column, each once, in order."""
    return sorted({side[seed][name] for seed in seeds})


def alone(mine, theirs):
    """What of an arm is on one side alone."""
    first = next(iter(mine.values()))
    return {name: first[name] for name in SHARED} | {"seeds": sorted(mine.keys() - theirs.keys())}


def nearly(a, b):
    """The end of a message: what keeps the sides apart, where they have arms of the same name."""
    for place in a:
        mine = dict(zip(SHARED, json.loads(place), strict=True))
        for other in (dict(zip(SHARED, json.loads(text), strict=True)) for text in b):
            if all(mine[name] == other[name] for name in ("task", "arm", "head_dim")):
                apart = [name for name in SHARED if mine[name] != other[name]]
                how = f"with another {' and '.join(apart)}" if apart else "on other seeds"
                return f"; {mine['task']}, {mine['arm']}@{mine['head_dim']} is on both, {how}"
    return ""

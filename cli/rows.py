"""Stored results as flat rows: one a seed, or one an arm of a comparison. The columns are those of row_schema."""

from dataclasses import asdict

from attnprobe.cli.export import FLAT
from attnprobe.cli.row_schema import ARMS, SCHEMA, SEEDS


def seed_rows(holdings):
    """A dict of SEEDS' columns, then score:NAME of every score that any of them has, for each Holding with a record."""
    held = [one for one in holdings if one.record]
    scores = dict.fromkeys(f"score:{name}" for one in held for name in one.result["score"])
    said = {}
    return [ordered(seed_row(one, said)) | scores | {f"score:{name}": x for name, x in one.result["score"].items()} for one in held]


def seed_row(held, said):
    """SEEDS' columns of one Holding. said: keeps theory's word between calls."""
    known, result, recorded, failure = held.identity, held.result, held.recorded, held.result["failure"]
    return {
        "schema": SCHEMA,
        **{name: known[name] for name in ("task", "options")},
        "arm": known["arm_name"],
        **{name: known[name] for name in ("head_dim", "seed")},
        "status": result["status"],
        "state": held.state,
        "why": "; ".join(held.why) or None,
        **(judged(held, said) if held.state == "current" else dict.fromkeys(JUDGED)),
        "steps": result["steps"],
        "failure": f"{failure['quantity']} at step {failure['step']}" if failure else None,
        "recipe": known["recipe"],
        "task_version": known["version"],
        **{name: known[name] for name in ("num_heads", "layers", "dtype", "device")},
        **{name: recorded[name] for name in ("seconds", "date", "versions")},
        "data_hash": result["data_hash"],
        "code": known["code"],
        "key": held.record["key"],
    }


JUDGED = ("metric", "better", "threshold", "value", "realised", "ceiling", "theory", "claim")


def judged(held, said):
    """What today's task and theory say of a current result."""
    from attnprobe.cli.verdict import verdict
    from attnprobe.probes.run import Arm

    task, score, place = held.task, held.result["score"], (held.task, held.spec, held.identity["head_dim"])
    if place not in said:
        said[place] = verdict(task, Arm(str(held.spec), held.spec, held.identity["head_dim"]))
    return {
        "metric": task.metric,
        "better": task.better,
        "threshold": task.threshold,
        "value": score.get(task.metric),
        "realised": round(score["realised"] * task.sets) if task.sets and "realised" in score else None,
        "ceiling": said[place].ceiling,
        "theory": said[place].text,
        "claim": said[place].claim,
    }


def ordered(row):
    """A seed's row with its columns in the schema's order, the scores last."""
    return {name: row[name] for name in [*SEEDS, *(name for name in row if name not in SEEDS)]}


def arm_rows(comparison, report):
    """A dict of ARMS' columns for each arm of a Comparison. report: the Comparison's."""
    from attnprobe.cli.comparisons import command

    shared = {
        "schema": SCHEMA,
        "task": comparison.task.name,
        "options": asdict(comparison.task),
        "seeds": f"{comparison.seeds[0]}:{comparison.seeds[-1] + 1}",
        **{name: getattr(comparison.recipe, name) for name in ("steps", "lr", "batch")},
        "device": comparison.device,
        "reference": report["reference"],
    }
    rows = []
    for row, result in zip(report["arms"], comparison.results, strict=True):
        own = {name: read(row) for name, read in FLAT.items() if name in ARMS}
        own |= {"threshold": row["metric"]["threshold"], "claim": row["theory"]["claim"], "command": command(comparison, result)}
        rows.append({name: (shared | own)[name] for name in ARMS})
    return rows

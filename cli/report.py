"""A run as one value: the JSON of CONTRACT's `probe run`, from which every table is made."""

from dataclasses import asdict

from attnprobe.cli.load import unchecked
from attnprobe.cli.verdict import verdict
from attnprobe.probes.papers import figure
from attnprobe.probes.stats import clopper_pearson, discordant, holm, median, sign_test

SCHEMA = 1
NEAR = 0.05  # of the threshold, or of the error it allows: a seed this close is named, since another rule would judge it otherwise


def build(command, task, recipe, seeds, head_dim, device, reference, results):
    """The report of a run.

    Args: command: the command line; reference: Arm whose seeds the others are paired with (it need not be among the arms);
    results: ArmResults. A failed seed is no solved seed, and takes no part in a paired test.
    """
    rows = [arm_row(task, result) for result in results]
    paired = next((row for row, result in zip(rows, results, strict=True) if same(result.arm, reference)), None)
    family = [row for row in rows if paired and row is not paired and not row["control"]]
    for row in family:
        wins, losses = discordant(*common(paired, row))
        row["p"], row["discordant"] = sign_test(len(wins), len(losses)), {"reference": wins, "arm": losses}
    for row, p in zip(family, holm([row["p"] for row in family]), strict=True):
        row["p_holm"] = p
    return {
        "schema": SCHEMA,
        "command": command,
        "task": task.name,
        "config": {
            "options": asdict(task),
            "version": task.version,
            "recipe": asdict(recipe),
            "head_dim": head_dim,
            "seeds": list(seeds),
            "device": device,
            "draws": task.draws,
            "evaluated": "exhaustive" if task.exhaustive else "sampled",
            "rule": task.rule,
            "leave": task.leave,
            "chosen_on": [task.chosen_on.start, task.chosen_on.stop],
            "fresh": task.fresh,
            "near_threshold": near_threshold(rows),
            "unconfirmed": unconfirmed(rows) if task.leave else {},
            "unchecked": unchecked(task.name, [result.arm.spec for result in results]),
        },
        "versions": versions(results),
        "reference": paired["arm"] if paired else str(reference),
        "family": [row["arm"] for row in family],
        "correction": "holm",
        "side": "greater",
        "arms": rows,
    }


def with_grid(report, grid):
    """A report with the learning rates of its arms and the grid that they were chosen from; as it is where there was none (None)."""
    if grid is None:
        return report
    rates = {point["arm"]: point["lr"] for point in grid["points"] if point["chosen"]}
    config = report["config"] | {"recipe": report["config"]["recipe"] | {"lr": None}}
    return report | {"config": config, "lr_grid": grid, "arms": [row | {"lr": rates[row["arm"]]} for row in report["arms"]]}


def same(arm, reference):
    """Whether an arm is the reference, under whatever name."""
    return (arm.spec, arm.head_dim) == (reference.spec, reference.head_dim)


def arm_row(task, result):
    """One arm of the report, before any comparison."""
    arm, records = result.arm, result.records
    outcome = {seed: record["result"] for seed, record in records.items()}
    done = {seed: r for seed, r in outcome.items() if r["status"] != "failed"}
    values = [r["score"][task.metric] for r in done.values()]
    solved = sum(r["status"] == "solved" for r in outcome.values())
    said = verdict(task, arm)
    source = figure(task.name, asdict(task), str(arm.spec), arm.head_dim)
    return {
        "arm": str(arm),
        "mixer": str(arm.spec),
        "leaves": may_leave(task, arm.spec),
        "trained": str(arm.spec.trained),
        "head_dim": arm.head_dim,
        "control": arm.control,
        "n": len(outcome),
        "solved": solved,
        "failed": [seed for seed in outcome if seed not in done],
        "interval": list(clopper_pearson(solved, len(outcome))),
        "metric": {
            "name": task.metric,
            "better": task.better,
            "threshold": task.threshold,
            "median": median(values) if values else None,
            "worst": (max if task.better == "low" else min)(values) if values else None,
        },
        "scores": {name: median_of(name, done.values()) for name in task.shown},
        **realisation(task, done, said),
        "p": None,
        "p_holm": None,
        "discordant": None,
        "theory": {"kind": said.kind, "claim": said.claim, "text": said.text, "assumption": said.assumption},
        "source": {"value": source.value, "n": source.n, "where": source.where} if source else None,
        "seconds": sum(record["recorded"]["seconds"] for record in records.values()),
        "reused": result.reused,
        "steps": max(r["steps"] for r in outcome.values()),
        "seeds": [seed_row(task, record) for record in records.values()],
    }


def median_of(name, results):
    """The median over seeds of a score; None where no seed has it."""
    values = [r["score"][name] for r in results if name in r["score"]]
    return median(values) if values else None


def may_leave(task, spec):
    """Whether an arm's seeds are looked at in training and leave when they pass: not those of a swap, nor of a bias still changing."""
    transient = (mixer.intervention and mixer.intervention.transient for mixer in spec.of_layers(task.layers))
    return task.leave and spec.swap is None and not any(transient)


def realisation(task, done, said):
    """Realised: the most sets a seed realises; realisable: what that seed's keys and offsets could, by theory; and the ceiling."""
    count, best = best_of(task, done)
    head = done[best]["head"] if said.ceiling and best is not None else None
    return {"realised": count, "best_seed": best, "realisable": realisable(head), "ceiling": said.ceiling}


def best_of(task, done):
    """(the most sets that a seed realises, that seed), or Nones where no sets are counted. done: seed -> result of no failed seed."""
    if not task.sets or not done:
        return None, None
    counts = {seed: round(r["score"]["realised"] * task.sets) for seed, r in done.items()}
    best = max(counts, key=lambda seed: (counts[seed], -seed))
    return counts[best], best


def realisable(head):
    """How many sets a stored head could realise with a free query, exactly; None without a head."""
    if head is None:
        return None
    from attnprobe.theory.realisation import realise

    return realise(head["keys"], head["offsets"]).count


def seed_row(task, record):
    """One seed of the report."""
    result = record["result"]
    return {
        "seed": result["seed"],
        "status": result["status"],
        "metric": result["score"].get(task.metric),
        "score": result["score"],
        "steps": result["steps"],
        "key": record["key"],
        "data_hash": result["data_hash"],
        "failure": result["failure"],
        "curve": result["curve"],
        "traces": result["traces"],
    }


def common(reference, row):
    """seed -> solved on both sides, for the seeds that failed on neither."""
    sides = [{seed["seed"]: seed["status"] for seed in side["seeds"]} for side in (reference, row)]
    kept = [seed for seed in sides[0] if "failed" not in (sides[0][seed], sides[1].get(seed, "failed"))]
    return [{seed: side[seed] == "solved" for seed in kept} for side in sides]


def near_threshold(rows):
    """Seeds within NEAR of the threshold, as arm -> seeds; of a share that is to be high, NEAR of the error it allows."""
    found = {}
    for row in rows:
        limit = row["metric"]["threshold"]
        size = limit if row["metric"]["better"] == "low" else 1 - limit
        close = [s["seed"] for s in row["seeds"] if s["metric"] is not None and abs(s["metric"] - limit) <= NEAR * size]
        if close:
            found[row["arm"]] = close
    return found


def unconfirmed(rows):
    """Seeds that reached the threshold at an evaluation and never on fresh sequences, as arm -> seeds; of arms that may leave."""
    found = {}
    for row in rows:
        if not row["leaves"]:
            continue
        limit, low = row["metric"]["threshold"], row["metric"]["better"] == "low"
        for seed in row["seeds"]:
            values = [value for _, value in seed["curve"] if value is not None]
            if seed["status"] == "unsolved" and any(value <= limit if low else value >= limit for value in values):
                found.setdefault(row["arm"], []).append(seed["seed"])
    return found


def contradictions(report):
    """Arms whose best seed realises more sets than a theorem allows, as plain sentences."""
    return [
        too_many(row["arm"], row["best_seed"], row["realised"], row["theory"]["text"], row["ceiling"])
        for row in report["arms"]
        if row["ceiling"] is not None and row["realised"] is not None and row["realised"] > row["ceiling"]
    ]


def contradiction(task, result):
    """The same of one ArmResult, outside a report: a sentence, or None."""
    done = {seed: record["result"] for seed, record in result.records.items() if record["result"]["status"] != "failed"}
    said, (count, seed) = verdict(task, result.arm), best_of(task, done)
    if said.ceiling is None or count is None or count <= said.ceiling:
        return None
    return too_many(f"{task.name}, {result.arm}", seed, count, said.text, said.ceiling)


def too_many(arm, seed, count, text, ceiling):
    """The sentence that a seed does what a theorem rules out."""
    return f"{arm}: seed {seed} realises {count} sets, where theory ({text}) allows at most {ceiling}"


def versions(results):
    """The versions that the results were computed with; a list where a resumed run mixes them."""
    seen = {}
    for result in results:
        for record in result.records.values():
            for name, version in record["recorded"]["versions"].items():
                seen.setdefault(name, set()).add(version)
    return {name: found.pop() if len(found) == 1 else sorted(found) for name, found in seen.items()}

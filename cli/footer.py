"""The lines under a run's table: what is counted, how it is compared, on which seeds, and what to beware of."""

from pathlib import Path

from attnprobe.cli.lr_grid import line as grid_line
from attnprobe.cli.tables import columns_for
from attnprobe.probes.blocks import BLOCK
from attnprobe.probes.evaluation import CANDIDATE, CONFIRM
from attnprobe.probes.papers import SEEN
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.task import Task


def footer(report, console):
    """The lines under the table: what is counted, how it is compared, on which seeds; warnings last."""
    config = report["config"]
    yield f"solved: {config['rule']} {when_judged(report)}; 95 %: Clopper-Pearson"
    if any(row["realised"] is not None for row in report["arms"]):
        yield "sets: realised by the best seed / realisable with its keys and offsets, by theory / ceiling of any such head"
        if any(row["realised"] is not None and row["ceiling"] is not None and row["realisable"] is None for row in report["arms"]):
            yield "sets, a dash in the middle: that seed's offsets change with the word, so its head is no one arrangement of keys"
        yield "solved is about the mean over sets: a solved arm may stay below 'all sets'"
    if any(row["theory"]["assumption"] for row in report["arms"]):
        yield "theory, if ...: a trait of the loaded part, measured and not proved (probe check); hence no ceiling"
    if report["arms"][0]["scores"]:
        names = [report["arms"][0]["metric"]["name"], *report["arms"][0]["scores"]]
        yield f"{', '.join(names)}: the median over seeds; worst: the worst seed's {names[0]}"
    averaged = f"{report['arms'][0]['metric']['name']}{config['draws']}"
    if any(row["scores"].get(averaged) is not None for row in report["arms"]):
        yield f"random routings: scores are of one test-time draw; {averaged}: of the mean of class probabilities over {config['draws']}"
    if any(row["trained"] != row["mixer"] for row in report["arms"]):
        when = " where a seed of a leaves, or at the last step, on fresh sequences" if config["leave"] else ""
        yield f"a>b: trained as a with full routing, then judged under routing b, without training{when}"
    if report["family"]:
        pairs = f"{report['reference']} solves more, paired by seed"
        count = len(report["family"])
        controls = "; controls carry none" if any(row["control"] for row in report["arms"]) else ""
        yield f"p: one-sided exact sign test, {pairs}; Holm over {count} arm{'s' * (count > 1)}{controls}"
    elif report["reference"] in [row["arm"] for row in report["arms"]]:
        yield f"p: none, there is no other arm to compare {report['reference']} with"
    else:
        yield f"p: none, the reference {report['reference']} is not among the arms; --reference names another"
    if any(row["control"] for row in report["arms"]):
        yield "below the blank row: the control, the same arms at a head dimension that suffices"
    if any(row["source"] for row in report["arms"]):
        yield "source: " + "; ".join(dict.fromkeys(row["source"]["where"] for row in report["arms"] if row["source"]))
        yield from cut_lines(report)
    for name, path in config["unchecked"].items():
        yield f"{name}: loaded from {Path(path).name}, not checked here"
    yield seed_line(config["seeds"], range(*config["chosen_on"]), config["fresh"])
    if "lr_grid" in report:
        yield grid_line(report["lr_grid"])
    gone = columns_for(report, console)[1]
    if gone:
        yield f"not shown at this width: {', '.join(gone)} (--csv has every column)"
    for arm, seeds in config["near_threshold"].items():
        yield f"warning: {arm}: seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))} within 5 % of the threshold"
    for task, seeds, why in SEEN:
        if task == report["task"] and set(seeds) & set(config["seeds"]):
            yield f"warning: seeds {seeds.start}:{seeds.stop}: {why}"
    for arm, seeds in config["unconfirmed"].items():
        ids = ", ".join(map(str, seeds))
        yield f"warning: {arm}: seed{'s' if len(seeds) > 1 else ''} {ids} passed at an evaluation, not on the fresh sequences"
    for row in report["arms"]:
        for seed in row["seeds"]:
            if seed["failure"]:
                quantity, step = seed["failure"]["quantity"], seed["failure"]["step"]
                yield f"warning: {row['arm']}: seed {seed['seed']} failed, {quantity} not finite at step {step}"


def cut_lines(report):
    """That the source's figures are of more steps than a run's, where it was cut."""
    steps, usual = report["config"]["recipe"]["steps"], TASKS[report["task"]](**report["config"]["options"]).recipe.steps
    if steps < usual:
        yield f"source: of full training; this run was cut to {steps} of the recipe's {usual} steps"


def when_judged(report):
    """At which step, and on what, a seed of a run is judged."""
    config = report["config"]
    step = config["recipe"]["steps"]
    if not config["leave"]:
        return f"at step {step}, {config['evaluated']} evaluation"
    late = sorted({kind for row in report["arms"] for kind in ("off-until", "warmup") if f":{kind}=" in row["mixer"]})
    only = f" ({' and '.join(late)}: at step {step} alone)" if late else ""
    return f"at one of the evaluations every {BLOCK} steps up to {step} on {CANDIDATE} sequences{only}, then on {CONFIRM} fresh ones"


def seed_line(seeds, chosen_on, fresh):
    """Which seeds ran, and whether choices were made on them (a range) or better ones are there to report on."""
    name = f"seeds {seeds[0]}:{seeds[-1] + 1}"
    if set(seeds) & set(chosen_on):
        return f"{name}: recipes were chosen on {chosen_on.start}:{chosen_on.stop}; report on fresh ones: --seeds {fresh}"
    return f"{name}: no recipe was chosen on them"


def common_seed_line(seeds, names):
    """`seed_line` of several tasks, by name: what one of them was chosen on counts for all."""
    tasks = [TASKS[name] for name in dict.fromkeys(names) if name in TASKS]
    return seed_line(seeds, range(max((task.chosen_on.stop for task in tasks), default=Task.chosen_on.stop)), Task.fresh)


def discordant_lines(report):
    """For each compared arm, the seeds that decide its p."""
    for row in report["arms"]:
        if row["discordant"]:
            ours, theirs = (", ".join(map(str, row["discordant"][side])) or "none" for side in ("reference", "arm"))
            yield f"{row['arm']}: only {report['reference']} solves {ours}; only {row['arm']} solves {theirs}"

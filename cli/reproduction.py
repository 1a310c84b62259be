"""A reproduction as one value: which runs the sources' figures need, and each figure beside ours."""

import dataclasses

from attnprobe.cli import agreement, computed
from attnprobe.probes.papers.figure import COMPUTED, LOWER_IS_BETTER
from attnprobe.probes.run import Arm
from attnprobe.probes.spec import parse
from attnprobe.probes.stats import clopper_pearson, holm, mean_interval, sign_test

SCHEMA = 1


@dataclasses.dataclass(frozen=True)
class Run:
    """One run_probe: a task, the arms that its figures and their winners name, and the recipe; title: the task with the options given."""

    title: str
    task: object
    arms: tuple[Arm, ...]
    recipe: object

    def __str__(self):
        return self.title


@dataclasses.dataclass(frozen=True)
class Side:
    """An arm's outcome as one figure sees it: seed -> solved, or seed -> the score; seeds that failed apart."""

    values: dict
    failed: tuple
    seconds: float


def chosen(figures, sources, quick, tasks):
    """The Figures of some sources, of --quick, of some tasks; theory is among the tasks."""
    return [f for f in figures if f.source in sources and (f.quick or not quick) and f.task in tasks]


def arm_of(figure, spec=None):
    """The Arm of a figure, or another spec beside it."""
    spec = spec or figure.arm
    return Arm(spec, parse(spec), figure.head_dim)


def plan(figures, tasks, steps=None):
    """The Runs that figures need: one a task and options, over the union of arms. tasks: a Registry; steps: in place of a recipe's."""
    titles, arms = {}, {}
    for f in figures:
        if f.task != COMPUTED:
            task = tasks[f.task](**f.options)
            titles.setdefault(task, " ".join([f.task, *(f"{name}={value}" for name, value in f.options.items())]))
            arms.setdefault(task, {}).update(dict.fromkeys(arm_of(f, spec) for spec in (f.winner, f.arm) if spec))
    recipes = {task: dataclasses.replace(task.recipe, steps=steps or task.recipe.steps) for task in arms}
    return [Run(titles[task], task, tuple(own), recipes[task]) for task, own in arms.items()]


def run_of(figure, runs):
    """The Run that a figure belongs to: the one of its task whose options are the figure's."""
    task = next(type(run.task) for run in runs if run.task.name == figure.task)(**figure.options)
    return next(run for run in runs if run.task == task)


def rows(figures, results):
    """A row a figure. results: Run -> [ArmResult]."""
    made = [row(f, results) for f in figures]
    for table in dict.fromkeys((r["source"], r["table"]) for r in made):
        family = [r for r in made if (r["source"], r["table"]) == table and r["p"] is not None]
        for r, p in zip(family, holm([r["p"] for r in family]), strict=True):
            r["p_holm"] = p
    for f, r in zip(figures, made, strict=True):
        ours = r["ours"] / r["n"] if f.counts and r["n"] else r["ours"]
        ahead = r.pop("ahead")
        r["verdict"] = agreement.FAILED if r["failed"] else agreement.verdict(f, ours, r["interval"], ahead, r["p_holm"])
    return made


def row(figure, results):
    """One row, before the correction over its table and the verdict."""
    made = {
        "source": figure.source, "table": figure.table, "task": figure.task, "options": figure.options, "case": figure.case,
        "arm": figure.arm, "head_dim": figure.head_dim, "metric": figure.metric, "theirs": figure.value, "theirs_n": figure.n,
        "text": figure.text, "ours": None, "n": None, "interval": None, "winner": figure.winner, "p": None, "p_holm": None, "verdict": None,
        "seconds": 0.0, "note": figure.note, "always": figure.always, "where": figure.where, "failed": [], "ahead": None,
    }  # fmt: skip
    if figure.task == COMPUTED:
        return made | {"ours": computed.quantity(figure.arm)}
    found = {(r.arm.spec, r.arm.head_dim): r for r in results[run_of(figure, results)]}
    sides = {spec: side(figure, found[parse(spec), figure.head_dim]) for spec in (figure.arm, figure.winner) if spec}
    own = sides[figure.arm]
    made |= {"seconds": own.seconds, "failed": sorted({seed for s in sides.values() for seed in s.failed})}
    made |= ours(figure, own)
    if figure.winner:
        made |= compared(figure, sides[figure.winner], own)
    return made


def side(figure, result):
    """The Side of an ArmResult."""
    outcome = {seed: record["result"] for seed, record in result.records.items()}
    failed = tuple(seed for seed, r in outcome.items() if r["status"] == "failed")
    kept = {seed: r for seed, r in outcome.items() if seed not in failed}
    values = {seed: r["status"] == "solved" if figure.counts else r["score"][figure.metric] for seed, r in kept.items()}
    return Side(values, failed, sum(record["recorded"]["seconds"] for record in result.records.values()))


def ours(figure, own):
    """Our value, n and interval: seeds solved of all, failed ones included, or the mean score of those that did not fail."""
    n = len(own.values) + len(own.failed)
    if figure.counts:
        solved = sum(own.values.values())
        return {"ours": solved, "n": n, "interval": list(clopper_pearson(solved, n))}
    if not own.values:
        return {"n": n}
    mean, low, high = mean_interval(list(own.values.values()))
    return {"ours": mean, "n": n, "interval": None if low is None else [max(0.0, low), min(1.0, high)]}


def compared(figure, winner, own):
    """The paired p of the source's winner against the arm, seed by seed, and whether it is ahead at all."""
    sign = -1 if figure.metric in LOWER_IS_BETTER else 1
    gaps = [sign * (winner.values[seed] - own.values[seed]) for seed in own.values if seed in winner.values]
    return {"p": sign_test(sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)), "ahead": sum(gaps) > 0}

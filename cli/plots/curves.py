"""Learning curves: a panel an arm, every seed a thin line, their median bold, the other arms' medians behind it."""

from dataclasses import dataclass, fields

from attnprobe.cli.plots import curve_looks as looks
from attnprobe.cli.plots import style
from attnprobe.probes.stats import median

COLUMNS = 3
PANEL = 1.05  # inches, a panel's height
NAME = 15  # characters that a panel's title holds at the usual size
LOWEST = 1e-5  # a loss is drawn no lower: below it lies rounding


@dataclass(frozen=True)
class Seed:
    """One seed's curve: points ((step, value), ...), and whether it is solved; a failed seed has what came before."""

    seed: int
    status: str
    points: tuple


@dataclass(frozen=True)
class Arm:
    """One panel: the arm's name, its seeds, and the median over them at each step, a seed that left keeping its last value.

    median is empty where no seed has a point: all failed at the first step.
    """

    name: str
    seeds: tuple
    median: tuple

    @property
    def solved(self):
        return sum(seed.status == "solved" for seed in self.seeds)

    @property
    def failed(self):
        return sum(seed.status == "failed" for seed in self.seeds)


@dataclass(frozen=True)
class Curves:
    """What is drawn: the task and its options as a title, what the values are, and whether that is the metric, with its threshold."""

    title: str
    what: str
    better: str
    threshold: float | None
    arms: tuple
    cut: str = ""


def gather(task, records, cut=""):
    """Curves of a task's stored records, name of an arm -> {seed: record}; ValueError where no seed has a curve.

    cut: `60 steps` where training was for other steps than the recipe's.

    The task's metric where evaluations were made in training, else the training loss: what the store holds.
    """
    evaluated = any(record["result"]["curve"] for found in records.values() for record in found.values())
    arms = tuple(arm(name, found, "curve" if evaluated else "losses") for name, found in records.items())
    if not any(one.median for one in arms):
        raise ValueError(f"{task.name}: no stored seed has a learning curve")
    return Curves(
        title(task),
        task.metric if evaluated else "training loss (nats)",
        task.better if evaluated else "low",
        task.threshold if evaluated else None,
        arms,
        cut,
    )


def arm(name, found, kind):
    """One arm's curves."""
    seeds = tuple(
        Seed(seed, record["result"]["status"], tuple((at, value) for at, value in record["result"][kind] if value is not None))
        for seed, record in found.items()
    )
    steps = sorted({at for seed in seeds for at, _ in seed.points})
    drawn = [seed for seed in seeds if seed.points]
    return Arm(name, seeds, tuple((step, median([last(seed.points, step) for seed in drawn])) for step in steps))


def last(points, step):
    """The value at the last point up to a step, or at the first point."""
    return max(((at, value) for at, value in points if at <= step), default=points[0])[1]


def title(task):
    """A task, its first option, and the others where they are not the default."""
    options = [(field.name, getattr(task, field.name), field.default) for field in fields(task)]
    told = [f"{name.replace('_', ' ')} {value}" for at, (name, value, default) in enumerate(options) if not at or value != default]
    return ", ".join([task.name, *told])


def draw(data):
    """The figure of Curves."""
    with style.styled():
        columns = min(COLUMNS, len(data.arms))
        rows = -(-len(data.arms) // columns)
        figure = style.figure(PANEL * rows + 1.0, f"Learning curves, {data.title}: {data.what} by step. {summary(data)}")
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for panel, one in zip(axes, data.arms, strict=False):
            draw_arm(panel, one, data)
        for place, panel in enumerate(axes):
            panel.set_visible(place < len(data.arms))
            if place // columns == rows - 1:
                panel.set_xlabel("step")
        scale(axes[0], data)
        style.title(figure, style.listed(f"{data.title}: {style.seeds([len(one.seeds) for one in data.arms])}", data.cut))
        figure.supylabel(data.what, fontsize=style.SIZE)
        figure.legend(
            handles=looks.key(data), loc="outside lower center", ncols=2, frameon=False, fontsize=style.SIZE - 1, handlelength=2.2
        )
        return figure


def summary(data):
    """How many seeds of each arm are solved, and how many failed, in words."""
    return "; ".join(f"{one.name} {one.solved} of {len(one.seeds)} seeds solved{failures(one)}" for one in data.arms)


def failures(one):
    """`, 2 failed`, or nothing."""
    return f", {one.failed} failed" if one.failed else ""


def draw_arm(panel, one, data):
    """One panel."""
    for other in data.arms:
        if other is not one and other.median:
            panel.plot(*xy(other.median, data), **looks.OTHERS)
    for seed in one.seeds:
        if seed.points:
            look = looks.SOLVED if seed.status == "solved" else looks.UNSOLVED
            panel.plot(*xy(seed.points, data), **look)
            panel.plot(*xy(seed.points[-1:], data), **look | looks.END[seed.status])
    if one.median:
        panel.plot(*xy(one.median, data), **looks.MEDIAN)
    else:
        told = f"{one.failed} of {len(one.seeds)} failed" if one.failed else "no curve"
        panel.text(0.5, 0.5, told, transform=panel.transAxes, ha="center", va="center", fontsize=style.SIZE - 1, color=style.BAD)
    if data.threshold is not None:
        panel.axhline(data.threshold, **looks.THRESHOLD)
    panel.set_title(one.name, pad=11, fontsize=style.fitted(one.name, style.SIZE, NAME))
    count = f"{one.solved}/{len(one.seeds)} solved{failures(one)}"
    panel.annotate(
        count, (0.5, 1), xytext=(0, 3), xycoords="axes fraction", textcoords="offset points",
        ha="center", fontsize=style.SIZE - 1, color=style.QUIET,
    )  # fmt: skip


def xy(points, data):
    """Steps and values of points; on a logarithmic scale no value is lower than LOWEST."""
    steps, values = zip(*points, strict=True)
    return steps, [max(value, LOWEST) for value in values] if data.better == "low" else values


def scale(panel, data):
    """The scales that all panels share."""
    if data.better == "low":
        panel.set_yscale("log")
    else:
        panel.set_ylim(0, 1.03)
    panel.set_xlim(left=0)
    panel.locator_params(axis="x", nbins=3)

"""Seconds of training a seed against the size of a task: one line an arm, on logarithmic scales."""

import math
from dataclasses import dataclass

from attnprobe.cli.plots import style

MOST_TICKS = 8  # labels under the panel
CROWDED = 12  # from this ratio of the ends of a logarithmic scale on, only its powers of ten are labelled


@dataclass(frozen=True)
class Arm:
    """An arm's ((size, seconds a seed), ...); place: in the order asked for, which gives it its colour."""

    place: int
    name: str
    points: tuple


@dataclass(frozen=True)
class Sizes:
    """What is drawn: which option of which task is the size, how many seeds stand behind a point, and what they ran on."""

    task: str
    by: str
    seeds: tuple
    hosts: tuple
    arms: tuple
    cut: str = ""


def gather(task, by, found, cut=""):
    """The Sizes of stored records: name of an arm -> size -> records of its seeds, whose mean is drawn.

    cut: `60 steps` where training was for other steps than the recipe's.

    Raises ValueError where no arm is stored at two sizes or more.
    """
    arms = tuple(
        Arm(place, name, tuple((at, mean(records)) for at, records in sorted(sizes.items())))
        for place, (name, sizes) in enumerate(found.items())
        if sizes
    )
    if not any(len(arm.points) > 1 for arm in arms):
        raise ValueError(f"seconds against {by} need one arm at two values of it or more, and stored is {stored(arms)}")
    groups = [records for sizes in found.values() for records in sizes.values()]
    hosts = {(record["recorded"]["stack_size"], record["identity"]["device"]) for records in groups for record in records}
    return Sizes(task, by, (min(map(len, groups)), max(map(len, groups))), tuple(sorted(hosts)), arms, cut)


def mean(records):
    """Mean seconds of training a seed."""
    return sum(record["recorded"]["seconds"] for record in records) / len(records)


def stored(arms):
    """What there is, in words."""
    return "; ".join(f"{arm.name} at {', '.join(str(size) for size, _ in arm.points)}" for arm in arms) or "none"


def draw(data):
    """The figure of Sizes."""
    from matplotlib.ticker import NullFormatter, NullLocator, StrMethodFormatter

    with style.styled():
        told = "; ".join(f"{arm.name} " + ", ".join(f"{seconds:.2g} s at {size}" for size, seconds in arm.points) for arm in data.arms)
        figure = style.figure(2.5, f"Seconds of training a seed of {data.task}, by {data.by}: {told}")
        panel = figure.subplots()
        for arm in data.arms:
            panel.plot(*zip(*arm.points, strict=True), **style.series(arm.place))
        panel.set_xscale("log")
        panel.set_yscale("log")
        sizes = sorted({size for arm in data.arms for size, _ in arm.points})
        ticks = style.thinned(sizes, MOST_TICKS, math.log)
        panel.set_xticks(ticks, [str(size) for size in ticks])
        panel.xaxis.set_minor_locator(NullLocator())
        for which in (panel.yaxis.set_major_formatter, panel.yaxis.set_minor_formatter):
            which(StrMethodFormatter("{x:g}"))
        if panel.get_ylim()[1] / panel.get_ylim()[0] > CROWDED:
            panel.yaxis.set_minor_formatter(NullFormatter())
        panel.grid(axis="y")
        panel.set_xlabel(f"{data.by.replace('_', ' ')} of {data.task}")
        panel.set_ylabel("seconds a seed")
        style.title(figure, style.listed(f"{data.task}: training time, {seeds(data)}", data.cut))
        style.name_ends(panel, [(arm.place, arm.name, arm.points[-1][1]) for arm in data.arms])
        return figure


def seeds(data):
    """How many seeds stand behind a point, and how they ran."""
    low, high = data.seeds
    count = f"{low}" if low == high else f"{low} to {high}"
    stacks = sorted({size for size, _ in data.hosts})
    devices = sorted({device for _, device in data.hosts})
    together = f"{stacks[0]}" if len(stacks) == 1 else f"{stacks[0]} to {stacks[-1]}"
    return f"{count} seeds, stacks of {together}, {' and '.join(devices)}"

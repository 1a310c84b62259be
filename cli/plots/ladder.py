"""The ladder by its number of rungs: how many seeds are solved, how many sets a head realises, and how many theory allows."""

from dataclasses import dataclass

from attnprobe.cli.plots import style
from attnprobe.probes.stats import clopper_pearson
from attnprobe.theory.rank import bound, ceiling

DODGE = 0.1  # rungs between the arms' marks at one r
NEAR = 4  # rungs beside those measured, up to which the axis reaches to hold a limit
MOST_TICKS = 10  # labels under a panel
THEORY = {
    f"no bias: all sets iff d ≥ r {style.MINUS} 1 (T5), else ≤ curve (T6)": (1, 1.2),
    f"offsets: all sets iff d ≥ r {style.MINUS} 2 (T5), else ≤ curve (T6)": (4, 1.2),
}


@dataclass(frozen=True)
class Point:
    """An arm at one r: seeds solved of n, the 95 % interval of that share, and the share of sets that the best seed realises, or None."""

    r: int
    solved: int
    n: int
    interval: tuple
    realised: float | None


@dataclass(frozen=True)
class Arm:
    """An arm's points by r; place: in the order asked for, which gives it its colour."""

    place: int
    name: str
    points: tuple


@dataclass(frozen=True)
class Ladder:
    """What is drawn: the arms at one head dimension and, at each r, the share of sets that any head with and without offsets can realise.

    limits: the largest r at which some head realises all sets, of a head without offsets (d = r - 1) and with (d = r - 2), by T5.
    ceilings: r -> (without, with), the shares of T6; None on the plain slot, where a forget gate sees the dips.
    """

    head_dim: int
    arms: tuple
    limits: tuple | None
    ceilings: dict | None
    cut: str = ""


def gather(found, head_dim, slot="balanced", cut=""):
    """The Ladder of stored records: name of an arm -> r -> records of its seeds. Raises ValueError where there are none.

    cut: `60 steps` where training was for other steps than the recipe's.
    """
    arms = tuple(
        Arm(place, name, tuple(point(r, records) for r, records in sorted(by_r.items())))
        for place, (name, by_r) in enumerate(found.items())
        if by_r
    )
    if not arms:
        raise ValueError(f"no result of the ladder is stored at head dimension {head_dim} on the {slot} slot")
    rungs = [one.r for arm in arms for one in arm.points]
    limits = ceilings = None
    if slot == "balanced":
        limits = tuple(max(r for r in range(1, head_dim + 3) if bound(r, offsets) <= head_dim) for offsets in (False, True))
        ceilings = {r: shares(r, head_dim) for r in span(rungs, limits)}
    return Ladder(head_dim, arms, limits, ceilings, cut)


def span(rungs, limits):
    """The range of rungs that a figure shows: those measured, two at least, and the limits with the rung after each, where they are NEAR.

    >>> span([4], (5, 6)), span([6, 10], (5, 6)), span([4, 10], (65, 66)), span([9], (5, 6))
    (range(4, 8), range(5, 11), range(4, 11), range(5, 10))
    """
    low, high = min(rungs), max(rungs)
    ends = [end for limit in limits or () for end in (limit, limit + 1) if low - NEAR <= end <= high + NEAR]
    low, high = min([low, *ends]), max([high, *ends])
    return range(low, max(high, low + bool(limits)) + 1)


def shares(r, head_dim):
    """The share of all sets that a head without offsets, and with, can realise at most."""
    return tuple(ceiling(r, head_dim, offsets) / 2 ** (r - 1) for offsets in (False, True))


def point(r, records):
    """One arm's Point at r."""
    results = [record["result"] for record in records]
    solved, n = sum(result["status"] == "solved" for result in results), len(results)
    shares = [result["score"]["realised"] for result in results if result["status"] != "failed" and counted(r)]
    return Point(r, solved, n, tuple(clopper_pearson(solved, n)), max(shares, default=None))


def counted(r):
    """Whether all words of an r are evaluated, so that the share of realised sets is one of all sets."""
    from attnprobe.probes.tasks.ladder import EXHAUSTIVE

    return r <= EXHAUSTIVE


def draw(data):
    """The figure of a Ladder."""
    with style.styled():
        figure = style.figure(4.0, description(data))
        top, bottom = figure.subplots(2, 1, sharex=True)
        for at, arm in enumerate(data.arms):
            draw_arm(top, bottom, arm, DODGE * (at - (len(data.arms) - 1) / 2))
        draw_theory(top, bottom, data)
        top.set_ylabel("seeds solved (%)")
        bottom.set_ylabel("sets realised (%),\nbest seed")
        for panel in (top, bottom):
            panel.set_ylim(-4, 104)
            panel.grid(axis="y")
        rungs = span([one.r for arm in data.arms for one in arm.points], data.limits)
        bottom.set_xticks(style.thinned(rungs, MOST_TICKS))
        bottom.set_xlim(rungs[0] - 0.5, rungs[-1] + 0.5)
        bottom.set_xlabel("rungs r (2ʳ⁻¹ alive sets)")
        ends = [(arm.place, arm.name, arm.points[-1]) for arm in data.arms]
        style.name_ends(top, [(place, name, 100 * end.solved / end.n) for place, name, end in ends])
        style.name_ends(bottom, [(place, name, 100 * end.realised) for place, name, end in ends if end.realised is not None])
        counts = [one.n for arm in data.arms for one in arm.points]
        said = f"ladder, head dimension {data.head_dim}, {style.seeds(counts)}"
        style.title(figure, style.listed(said, data.cut, "whiskers: 95 %, Clopper-Pearson"))
        return figure


def description(data):
    """The figure in words."""
    told = "; ".join(f"{arm.name} " + ", ".join(f"{one.solved}/{one.n} at r = {one.r}" for one in arm.points) for arm in data.arms)
    return f"The ladder at head dimension {data.head_dim}, seeds solved by number of rungs: {told}"


def draw_arm(top, bottom, arm, aside):
    """One arm in both panels, moved aside a little so that no mark hides another."""
    look = style.series(arm.place)
    x = [one.r + aside for one in arm.points]
    share = [100 * one.solved / one.n for one in arm.points]
    around = [[y - 100 * one.interval[0] for y, one in zip(share, arm.points, strict=True)],
              [100 * one.interval[1] - y for y, one in zip(share, arm.points, strict=True)]]  # fmt: skip
    top.errorbar(x, share, around, fmt="none", ecolor=look["color"], elinewidth=0.6, capsize=1.2, capthick=0.6, alpha=0.7)
    top.plot(x, share, **look)
    counted = [(at, 100 * one.realised) for at, one in zip(x, arm.points, strict=True) if one.realised is not None]
    if counted:
        bottom.plot(*zip(*counted, strict=True), **look)


def draw_theory(top, bottom, data):
    """Where T5 ends what all heads of a kind can do, and the most that they can beyond it, by T6."""
    if data.ceilings is None:
        return
    handles = []
    for kind, (limit, (said, dashes)) in enumerate(zip(data.limits, THEORY.items(), strict=True)):
        look = {"color": style.QUIET, "linewidth": 0.8, "dashes": dashes, "zorder": 1}
        for panel in (top, bottom):
            panel.axvline(limit + 0.5, **look)
        rungs, shares = zip(*((r, 100 * both[kind]) for r, both in data.ceilings.items()), strict=True)
        handles += bottom.plot(rungs, shares, label=said, **look)
    top.figure.legend(handles=handles, loc="outside lower center", frameon=False, fontsize=style.SIZE - 1, handlelength=2.2)

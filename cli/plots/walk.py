"""The walk of the ladder, its dips, levels and live keys, over the attention maps of trained heads on the same word."""

import math
from dataclasses import dataclass

from attnprobe.cli.plots import style
from attnprobe.probes.walk import Walk as Line

WALK, MAP = 1.35, 0.95  # inches, the heights of the panels
RAMP = ("#ffffff", "#b9d3ea", "#5e9ccb", "#1f66a5", "#08306b")
TARGET = "#d55e00"
MOST_TICKS = 12  # rungs that are numbered


@dataclass(frozen=True)
class Map:
    """A head's map: the arm's name, weights on the r rungs if asked at each of T positions, and its KL from the target at the query."""

    name: str
    weights: tuple
    kl: float


@dataclass(frozen=True)
class Walk:
    """What is drawn: the number of rungs, the seed, the word's walk, and the maps."""

    r: int
    seed: int
    line: Line
    maps: tuple
    cut: str = ""


def gather(task, word, seed, found, cut=""):
    """The Walk of a word of the ladder, a text of 0 and 1, 1 where a rung dips. found: name of an arm -> its map (T, S) as lists.

    cut: `60 steps` where training was for other steps than the recipe's.
    """
    (line,) = task.walks(example(task, word))
    maps = tuple(one_map(name, weights, line) for name, weights in found.items())
    return Walk(task.r, seed, line, maps, cut)


def example(task, word):
    """The numpy Batch of one word. Raises ValueError where it is none of the task's."""
    import numpy as np

    if len(word) != task.r - 1 or set(word) - {"0", "1"}:
        raise ValueError(f"--word takes {task.r - 1} digits 0 or 1, 1 where a rung dips and dies, not {word!r}")
    return task.encode(np.array([[int(bit) for bit in word]], dtype=np.uint8))


def one_map(name, weights, line):
    """The columns of the keys alone; KL(uniform over the alive || last row), infinite where an alive key has weight 0."""
    rows = tuple(tuple(row[key.at] for key in line.keys) for row in weights)
    last = [rows[-1][i] for i, key in enumerate(line.keys) if line.end(key) is None]
    n = len(last)
    kl = math.inf if min(last) <= 0 else -math.log(n) - sum(math.log(w) for w in last) / n
    return Map(name, rows, kl)


def draw(data):
    """The figure of a Walk."""
    with style.styled():
        heights = [WALK] + [MAP] * len(data.maps)
        figure = style.figure(sum(heights) + 0.95, description(data))
        grid = figure.subplots(len(heights), 2, sharex="col", height_ratios=heights, width_ratios=[4.4, 1], squeeze=False)
        draw_walk(grid[0, 0], data.line)
        explain(grid[0, 1])
        for (panel, side), one in zip(grid[1:], data.maps, strict=True):
            image = draw_map(panel, one, data)
            draw_query(side, one, data)
        grid[0, 0].set_xlim(-0.7, len(data.line.field) - 0.3)
        every = -(-data.r // MOST_TICKS)
        ticks = [(key.at, key.name) for key in data.line.keys[:-1:every]] + [(len(data.line.field) - 1, "?")]
        grid[-1, 0].set_xticks(*zip(*ticks, strict=True))
        grid[-1, 0].set_xlabel("sequence (number: rung, ?: query)")
        grid[-1, 1].set_xlabel("weight at ?", fontsize=style.SIZE - 1)
        bar = figure.colorbar(image, ax=list(grid[1:].ravel()), location="bottom", shrink=0.7, aspect=40, ticks=[0, 0.5, 1, 1.5])
        bar.set_label(f"weight if asked then, {style.TIMES} number of live keys")
        bar.outline.set_visible(False)
        style.title(figure, style.listed(f"ladder, r = {data.r}, one word, seed {data.seed}", data.cut))
        return figure


def description(data):
    """The figure in words."""
    names = ", ".join(key.name for key in data.line.alive)
    told = "; ".join(f"{one.name} at the query has KL {one.kl:.2g} nats from it" for one in data.maps)
    return f"A word of the ladder with {data.r} rungs, of which {names} stay alive. The target is uniform over them. {told}"


def draw_walk(panel, line):
    """Levels from each key to its end or to the query, the field, dips marked."""
    T = len(line.field)
    for key in line.keys:
        end = line.end(key)
        alive = end is None
        look = {"color": style.GOOD, "linewidth": 1.3} if alive else {"color": style.QUIET, "linewidth": 0.8, "dashes": (2, 1.5)}
        panel.plot([key.at, T - 1 if alive else end], [key.level] * 2, zorder=2, **look)
        if not alive:
            panel.plot(end, key.level, marker="x", markersize=3.5, color=TARGET, zorder=4)
    panel.plot(range(T), line.field, color=style.INK, linewidth=0.8, zorder=3)
    for key in line.keys:
        alive = line.end(key) is None
        panel.plot(
            key.at, key.level, marker="o", markersize=4, zorder=5, markeredgewidth=0.8,
            color=style.GOOD if alive else "white", markeredgecolor=style.GOOD if alive else style.QUIET,
        )  # fmt: skip
    panel.set_ylabel("level")
    panel.yaxis.get_major_locator().set_params(integer=True)


def explain(panel):
    """What the marks of the walk mean, beside it."""
    looks = {
        "live": {"marker": "o", "color": style.GOOD, "linewidth": 1.3},
        "dead": {"marker": "o", "markerfacecolor": "white", "color": style.QUIET, "dashes": (2, 1.5), "linewidth": 0.8},
        "killed": {"marker": "x", "color": TARGET, "linewidth": 0},
        "field": {"color": style.INK, "linewidth": 0.8},
        "target": {"marker": "|", "color": TARGET, "linewidth": 0, "markersize": 6},
    }
    panel.axis("off")
    handles = [panel.plot([], [], label=name, **{"markersize": 3.5} | look)[0] for name, look in looks.items()]
    panel.legend(handles=handles, loc="center", frameon=False, fontsize=style.SIZE - 1, handlelength=1.6, borderpad=0)


def draw_map(panel, one, data):
    """One head's map, keys upwards, positions rightwards; each key's life outlined."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    line = data.line
    shares = [[weight * len(alive_at(line, t)) for weight in row] for t, row in enumerate(one.weights)]
    columns = [[share if key.at <= t else math.nan for key, share in zip(line.keys, row, strict=True)] for t, row in enumerate(shares)]
    ramp = LinearSegmentedColormap.from_list("weight", RAMP).with_extremes(bad="#efefef")
    image = panel.imshow(
        list(zip(*columns, strict=True)), origin="lower", aspect="auto", cmap=ramp, vmin=0, vmax=1.5, interpolation="nearest",
        extent=(-0.5, len(columns) - 0.5, 0.5, data.r + 0.5),
    )  # fmt: skip
    for i, key in enumerate(line.keys, 1):
        end = len(line.field) if line.end(key) is None else line.end(key)
        panel.add_patch(Rectangle((key.at - 0.5, i - 0.5), end - key.at, 1, fill=False, edgecolor=TARGET, linewidth=0.7, zorder=3))
    panel.set_yticks([1, data.r])
    panel.set_ylabel("key")
    panel.text(0.015, 0.96, f"{one.name}: KL {one.kl:.2g} nats", transform=panel.transAxes, va="top", fontsize=style.SIZE - 1)
    return image


def draw_query(panel, one, data):
    """The row that was trained: the weights at the query, beside the target, which is even over the live keys."""
    keys = range(1, data.r + 1)
    live = {key.name for key in data.line.alive}
    target = [(key.name in live) / len(live) for key in data.line.keys]
    panel.barh(keys, one.weights[-1], height=0.75, color=RAMP[3], zorder=2)
    panel.scatter(target, keys, marker="|", s=26, linewidths=1.1, color=TARGET, zorder=3)
    panel.set_ylim(0.5, data.r + 0.5)
    panel.set_yticks([])
    panel.set_xticks([0, 1 / len(live)], ["0", f"1/{len(live)}" if len(live) > 1 else "1"])
    panel.set_xlim(0, 1.25 * max([*target, *one.weights[-1]]))


def alive_at(line, t):
    """The keys that are alive if asked at position t."""
    return [key for key in line.keys if key.at <= t and (line.end(key) is None or line.end(key) > t)]

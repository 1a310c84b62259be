"""How every figure looks: the size of a journal's column, colours that the colour-blind and greyscale tell apart, direct labels."""

import contextlib
import textwrap

COLUMN = 3.4  # inches, a journal's column
SIZE, SMALLEST = 8, 5  # points
NAME = 14  # letters of a name beside a panel at its usual size
MINUS, TIMES, GAP = "\u2212", "\u00d7", "\u2003"  # GAP: an em space, which a browser keeps
LETTERS = 16  # an inch of such text
INK, QUIET, GRID = "#1a1a1a", "#6e6e6e", "#e4e4e4"
GOOD, BAD = "#0072b2", "#d55e00"  # Okabe and Ito's blue and vermillion
# (colour, marker, dashes) of series by place: Okabe and Ito's colours, each also told by its marker and dashes
SERIES = (
    ("#0072b2", "o", ()),
    ("#d55e00", "s", (4, 1.5)),
    ("#2b2b2b", "^", (1, 1)),
    ("#009e73", "D", (6, 1.5, 1, 1.5)),
    ("#cc79a7", "v", (3, 1, 1, 1, 1, 1)),
    ("#56b4e9", "P", (8, 2)),
    ("#e69f00", "X", (2, 2)),
    ("#8c6d1f", "<", (5, 1, 2, 1)),
)
RC = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib, so that text has one width everywhere
    "font.size": SIZE,
    "axes.titlesize": SIZE,
    "axes.labelsize": SIZE,
    "xtick.labelsize": SIZE - 1,
    "ytick.labelsize": SIZE - 1,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "attnprobe",
}


@contextlib.contextmanager
def styled():
    """The settings above on matplotlib's own defaults, whatever the user's are; ValueError, with what to install, without matplotlib."""
    matplotlib = library()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        yield


def library():
    """matplotlib, imported now."""
    try:
        import matplotlib
    except ImportError:
        raise ValueError("figures need matplotlib, which is not installed here: pip install 'attnprobe[plot]'") from None
    return matplotlib


def figure(height, what, width=COLUMN):
    """An empty Figure, inches; `what` says in a sentence what it shows, for those who cannot see it."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained", label=what)
    made.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.02, hspace=0.02)
    return made


def title(figure, text):
    """A title over the whole figure, folded to its width."""
    figure.suptitle("\n".join(textwrap.wrap(text, int(figure.get_figwidth() * LETTERS))), fontsize=SIZE)


def listed(*parts):
    """Parts of a title, those that are not empty, joined by commas."""
    return ", ".join(part for part in parts if part)


def cut(steps, usual):
    """`60 steps` where training was for other steps than the usual ones, else nothing; steps None is the usual."""
    return f"{steps} steps" if steps not in (None, usual) else ""


def note(figure, items):
    """Small print under the whole figure: items, as many on a line as fit."""
    lines, room = [""], int(figure.get_figwidth() * LETTERS * SIZE / (SIZE - 1))
    for item in items:
        joined = f"{lines[-1]}{GAP}{item}" if lines[-1] else item
        if len(joined) <= room:
            lines[-1] = joined
        else:
            lines.append(item)
    figure.supxlabel("\n".join(lines), fontsize=SIZE - 1, color=QUIET)


def seeds(counts):
    """How many seeds arms have, in words: `15 seeds an arm`, `2-3 seeds an arm`."""
    low, high = min(counts), max(counts)
    return f"{low if low == high else f'{low}-{high}'} seed{'s' * (high != 1)} an arm"


def series(place):
    """Line2D settings of the series at a place."""
    colour, marker, dashes = SERIES[place % len(SERIES)]
    return {"color": colour, "marker": marker, "dashes": dashes or (None, None), "markeredgecolor": "white", "markeredgewidth": 0.4}


def fitted(name, size, letters):
    """The size of a name's type: `size`, or smaller where it has more letters than there is room for, but never under SMALLEST."""
    return max(SMALLEST, size * min(1, letters / len(name)))


def thinned(values, most, scale=float):
    """Those of sorted values that are far enough apart for labels, from the last one down, if `most` fit on an axis of that scale."""
    gap = (scale(values[-1]) - scale(values[0])) / most
    kept = [values[-1]]
    for value in reversed(values[:-1]):
        if scale(kept[-1]) - scale(value) >= gap:
            kept.append(value)
    return kept[::-1]


def spread(values, gap, low, high):
    """`values` moved apart, as little as that takes, until neighbours are `gap` from each other and all lie in low..high.

    Where they do not all fit they stand closer. Groups that would overlap are set around their mean: an isotonic regression of what
    is left of each value after its place in line, solved by pooling neighbours that are in the wrong order.
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    gap = min(gap, (high - low) / max(1, len(values) - 1))
    pools = []  # [how many, their sum]
    for place, i in enumerate(order):
        pools.append([1, values[i] - gap * place])
        while len(pools) > 1 and pools[-1][1] / pools[-1][0] < pools[-2][1] / pools[-2][0]:
            count, total = pools.pop()
            pools[-1] = [pools[-1][0] + count, pools[-1][1] + total]
    starts = [min(max(total / count, low), high - gap * (len(values) - 1)) for count, total in pools for _ in range(count)]
    placed = {i: starts[place] + gap * place for place, i in enumerate(order)}
    return [placed[i] for i in range(len(values))]


def name_ends(panel, ends):
    """Write names, each after its mark, at the right of a panel, at their heights, moved apart where they would overlap.

    ends: (place, name, height).
    """
    from matplotlib.transforms import ScaledTranslation

    panel.figure.get_layout_engine().execute(panel.figure)  # so that the panel has its height
    gap = 1.15 * (SIZE - 1) / 72 / (panel.get_position().height * panel.figure.get_figheight())
    x = panel.get_xlim()[0]
    heights = [panel.transAxes.inverted().transform(panel.transData.transform((x, height)))[1] for *_, height in ends]
    beside = panel.transAxes + ScaledTranslation(5 / 72, 0, panel.figure.dpi_scale_trans)
    for (place, name, _), height in zip(ends, spread(heights, gap, 0, 1), strict=True):
        panel.plot(1, height, transform=beside, clip_on=False, **series(place))
        panel.annotate(
            name, (1, height), xycoords="axes fraction", xytext=(10, 0), textcoords="offset points",
            va="center", color=SERIES[place % len(SERIES)][0], annotation_clip=False, fontsize=fitted(name, SIZE - 1, NAME),
        )  # fmt: skip

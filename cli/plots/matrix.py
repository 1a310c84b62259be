"""The matrix as a heat map: solved seeds in every cell, what theory says of it, and where a task refuses a mechanism."""

from dataclasses import dataclass

from attnprobe.cli.plots import style

SIDE = 0.19  # inches, a cell's height
THEORY = {"can": "+", "cannot": style.MINUS}
RAMP = ("#f3f1ea", "#d9e2ec", "#9fbfdc", "#4f8fc4", "#0f4c81")  # one hue, from none solved to all: lightness tells it in grey


@dataclass(frozen=True)
class Cell:
    """A cell: the share solved, or None where nothing is stored or the task refuses; its text; its mark of theory."""

    share: float | None
    text: str
    theory: str
    refused: bool


@dataclass(frozen=True)
class Matrix:
    """What is drawn: tasks by mechanisms, a Cell each."""

    tasks: tuple
    mixers: tuple
    cells: tuple
    seeds: int
    missing: int
    cut: str = ""


def gather(made, cut=""):
    """The Matrix of what `probe matrix` makes (its JSON); a cell that it lacks is nothing stored.

    cut: `60 steps` where training was for other steps than the recipes'.
    """
    try:
        places = {(cell["task"], cell["mixer"]): cell for cell in made["cells"]}
        mixers = tuple(mixer["name"] for mixer in made["mixers"])
        rows = tuple(tuple(read(places.get((task, name)), len(made["seeds"])) for name in mixers) for task in made["tasks"])
        missing = sum(cell.share is None and not cell.refused for row in rows for cell in row)
        return Matrix(tuple(made["tasks"]), mixers, rows, len(made["seeds"]), missing, cut)
    except (KeyError, TypeError) as error:
        raise ValueError(f"this is not the JSON of probe matrix: {error} is missing or of another kind") from None


def read(cell, seeds):
    """One Cell; k alone where all seeds are there, k/n where some are."""
    if cell is None:
        return Cell(None, "", "", False)
    if cell["refused"]:
        return Cell(None, "·", "", True)
    count = str(cell["solved"]) if cell["n"] == seeds else f"{cell['solved']}/{cell['n']}"
    text = count + "!" * bool(cell["failed"])
    return Cell(cell["solved"] / cell["n"], text, THEORY.get(cell["theory"], ""), False)


def draw(data):
    """The figure of a Matrix."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    with style.styled():
        figure = style.figure(SIDE * len(data.tasks) + 1.35, description(data))
        panel = figure.subplots()
        ramp = LinearSegmentedColormap.from_list("solved", RAMP)
        for y, row in enumerate(data.cells):
            for x, cell in enumerate(row):
                blank = {"facecolor": "white", "edgecolor": style.GRID, "linewidth": 0.6}
                look = blank if cell.share is None else {"facecolor": ramp(cell.share), "edgecolor": "white", "linewidth": 0.8}
                panel.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, **look))
                write(panel, x, y, cell)
        panel.set_xlim(-0.5, len(data.mixers) - 0.5)
        panel.set_ylim(len(data.tasks) - 0.5, -0.5)
        panel.set_aspect("equal", anchor="S")
        panel.set_yticks(range(len(data.tasks)), data.tasks)
        panel.set_xticks(range(len(data.mixers)), data.mixers, rotation=55, ha="left", rotation_mode="anchor")
        panel.xaxis.tick_top()
        panel.tick_params(length=0, pad=2)
        for side in panel.spines.values():
            side.set_visible(False)
        style.note(figure, legend(data))
        return figure


def write(panel, x, y, cell):
    """A cell's text in its middle, smaller the longer it is, theory's mark at its upper right."""
    colour = "white" if cell.share is not None and cell.share > 0.6 else style.INK
    aside = 0.07 * len(cell.text) * bool(cell.theory)
    panel.text(x - aside, y, cell.text, ha="center", va="center_baseline", fontsize=style.SIZE - min(3, len(cell.text)), color=colour)
    panel.text(x + 0.46, y - 0.02, cell.theory, ha="right", va="bottom", fontsize=style.SIZE - 3, color=colour)


def legend(data):
    """What stands under the map, item by item."""
    cells = [cell for row in data.cells for cell in row]
    items = {
        f"number: seeds solved, of {data.seeds}": True,
        f"trained for {data.cut}": data.cut,
        "+ theory: some head can do all of it": any(cell.theory == "+" for cell in cells),
        f"{style.MINUS} theory: none can": any(cell.theory == style.MINUS for cell in cells),
        "· refused: it makes no sense there": any(cell.refused for cell in cells),
        "blank: nothing stored": data.missing,
        "! some seeds failed": any("!" in cell.text for cell in cells),
    }
    return [text for text, there in items.items() if there]


def description(data):
    """The figure in words."""
    told = (
        f"{task}: " + ", ".join(f"{name} {cell.text}" for name, cell in zip(data.mixers, row, strict=True) if cell.share is not None)
        for task, row in zip(data.tasks, data.cells, strict=True)
    )
    return f"Seeds solved of {data.seeds}, tasks by mechanisms. {'; '.join(told)}"

"""`probe show TASK`: one example, decoded and drawn."""

import re
from typing import Annotated

import typer

from attnprobe.cli.task_command import TaskGroup, task_options, typer_command
from attnprobe.probes.tasks import TASKS

GAP = re.compile(r"(?<=\S) {4,}(?=\S)")  # between a drawing and the words beside it
UNDER = " " * 8  # before such words, where they stand below


class ShowGroup(TaskGroup):
    """`probe show`."""

    def command_of(self, name):
        """The command that draws one example of a task."""
        task = TASKS[name]
        own = task_options(task)

        def body(seed, **options):
            show(task(**options), seed)

        seed = {"seed": (Annotated[int, typer.Option(help="The seed whose first training example is drawn.")], 0)}
        return typer_command(name, body, {**own, **seed}, f"[bold]probe show {name}[/bold]\n\nDraw one training example of {name}.")


def show(task, seed):
    """Print the first training example of a seed, and the task's own account of itself."""
    import inspect

    from attnprobe.cli.shell import console
    from attnprobe.probes.streams import stream

    if seed < 0:
        raise ValueError(f"--seed must be 0 or more, not {seed}")
    out = console()
    out.print(f"{task.name}, seed {seed}, first training example\n", style="bold", highlight=False)
    batch = task.sample(stream(seed, "train", 0), 1)
    for line in drawn(list(task.picture(batch)), task.walks(batch), out.width, out.options.ascii_only):
        out.print(line, highlight=False, markup=False)
    out.print(folded(inspect.getdoc(type(task)), out.width), highlight=False, markup=False)


def folded(text, width):
    """A docstring's paragraphs folded to a width; one that is indented is a drawing, whose rows stay whole."""
    import textwrap

    def fold(part):
        return aside(part, width) if "\n " in f"\n{part}" else textwrap.fill(part, width, break_on_hyphens=False)

    return "\n\n".join(map(fold, text.split("\n\n")))


def aside(drawing, width):
    """A drawing; where a row is too wide, what stands after a gap in it, as words beside it, follows below the drawing."""
    import textwrap

    rows, words = [], []
    for row in drawing.split("\n"):
        left, gap, right = row.partition(gaps[0]) if len(row) > width and (gaps := GAP.findall(row)) else (row, "", "")
        rows.append(left)
        words += textwrap.wrap(right, width, initial_indent=UNDER, subsequent_indent=UNDER) if gap else []
    return "\n".join([*rows, *words])


def drawn(rows, walks, width, ascii_only):
    """Walks, and below them rows of (label, cells), as lines: cells in equal columns, folded into bands where the width holds no more."""
    from attnprobe.cli.walk_text import LABEL, caption, marks, walk_lines

    cell = 1 + max(len(text) for _, cells in rows for text in cells)
    count = len(rows[0][1])
    bands = -(-count // max(1, (width - LABEL) // cell))
    fit = -(-count // bands)  # so that no band is a short rest
    use = marks(ascii_only)
    for first in range(0, count, fit):
        for walk in walks:
            if walk.name:
                yield walk.name
            yield from walk_lines(walk, first, min(first + fit, count), cell, use)
        for label, cells in rows:
            line = f"{label:<{LABEL}}" + "".join(f"{text:<{cell}}" for text in cells[first : first + fit])
            yield line.rstrip()
        yield ""
    if walks:
        yield caption(walks[0], use)
        yield ""

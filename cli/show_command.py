"""`probe show TASK`: one example, decoded and drawn."""

from typing import Annotated

import typer

from attnprobe.cli.task_command import TaskGroup, task_options, typer_command
from attnprobe.probes.tasks import TASKS

LABEL = 8  # columns that row labels take


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
    for line in drawn(list(task.picture(task.sample(stream(seed, "train", 0), 1))), out.width):
        out.print(line, highlight=False, markup=False)
    out.print(inspect.getdoc(type(task)), highlight=False, markup=False)


def drawn(rows, width):
    """Rows of (label, cells) as lines: cells in equal columns, folded into bands where the width does not hold them all."""
    cell = 1 + max(len(text) for _, cells in rows for text in cells)
    count = len(rows[0][1])
    fit = max(1, (width - LABEL) // cell)
    for first in range(0, count, fit):
        for label, cells in rows:
            line = f"{label:<{LABEL}}" + "".join(f"{text:<{cell}}" for text in cells[first : first + fit])
            yield line.rstrip()
        yield ""

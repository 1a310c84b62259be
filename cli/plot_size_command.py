"""`probe plot size TASK`: seconds of training against an option of the task, from every value of it that is stored."""

import dataclasses
from pathlib import Path

from attnprobe.cli.plot_options import asked, option, reading, run_options, shown
from attnprobe.cli.task_command import TaskGroup, task_options, typer_command
from attnprobe.probes.tasks import TASKS


class SizeGroup(TaskGroup):
    """`probe plot size`."""

    def list_commands(self, ctx):
        """The tasks that have a size."""
        return [name for name in super().list_commands(ctx) if sizes(TASKS[name])]

    def command_of(self, name):
        """The command that draws a task's seconds against a size."""
        task = TASKS[name]
        own = task_options(task)
        first = sizes(task)[0]

        def body(**options):
            draw_size(task, {field: options.pop(field) for field in own}, **options)

        by = {"by": option(str, first, f"The option to draw against: {', '.join(sizes(task))}.")}
        examples = f"""[bold]probe plot size {name} --by {first} --out size.svg[/bold]

        Draw the seconds a seed's training took against --by, from every value of it that is stored, other options as given."""
        return typer_command(name, body, own | by | reading(task, "size"), examples)


def sizes(task):
    """A task's options that are whole numbers."""
    return [field.name for field in dataclasses.fields(task) if isinstance(field.default, int) and not isinstance(field.default, bool)]


def draw_size(task, options, *, by, arm, seeds, store, out, **given):
    """Read every stored value of the option, draw."""
    from attnprobe.cli.plots import output, size, stored
    from attnprobe.probes.registry import nearest

    output.check_path(out)
    by = by.replace("-", "_")
    if by not in sizes(task):
        raise ValueError(f"--by {by}: {task.name} has no such size{nearest(by, sizes(task))}")
    at = task(**options)
    question = asked(at, given, arm, seeds, free=by)
    found = stored.find(store, question)
    if not Path(store).exists():
        line = stored.run_line(["run"], at, run_options(at, given, arm, seeds, store))
        raise ValueError(f"{stored.absent([found], store, 'seed')}; {line} makes one")
    by_size = {
        shown(one, question.head_dim): {value: list(held.values()) for value, held in found.records(one).items()} for one in found.arms
    }
    try:
        data = size.gather(task.name, by, by_size, found.cut)
    except ValueError as error:
        line = stored.run_line(["run"], at, {by: 2 * options[by], **run_options(at, given, arm, seeds, store)})
        beside = f" (beside it {others})" if (others := stored.others([found])) else ""
        raise ValueError(f"{error}{beside}; another run is {line}") from None
    stored.tell([found], store)
    output.made(size.draw(data), out)

"""`probe plot field TASK`: receptive fields by layer, measured now or read from what `probe field` printed."""

import json

from attnprobe.cli.plot_options import option
from attnprobe.cli.task_command import TaskGroup, task_options, typer_command
from attnprobe.probes.tasks import TASKS


class FieldFigureGroup(TaskGroup):
    """`probe plot field`."""

    family = "E"

    def command_of(self, name):
        """The command that draws the receptive fields of a task's arms."""
        from attnprobe.cli.field_command import measuring

        task = TASKS[name]
        own = task_options(task)

        def body(**options):
            draw_field(task(**{field: options.pop(field) for field in own}), **options)

        more = {
            "source": option(str | None, None, "Draw what probe field --json printed; measure nothing.", "--from", metavar="FILE"),
            "quiet": option(bool, False, "No estimate and no progress on stderr.", "--quiet", "-q"),
            "out": option(str, "field.png", "The figure's file, .png or .svg.", metavar="FILE"),
        }
        examples = f"""[bold]probe plot field {name} --arm rope+sa --untrained --out field.svg[/bold]

        [bold]probe plot field {name} --from field.json[/bold]

        Measured now, after training as probe field does it, unless --untrained or --from says otherwise."""
        return typer_command(name, body, own | measuring(task) | more, examples)


def draw_field(task, *, source, out, **asked):
    """Read or measure, draw."""
    from attnprobe.cli.field_command import measured
    from attnprobe.cli.plots import field, output

    output.check_path(out)
    result = measured(task, **asked) if source is None else printed(source)
    data = field.gather(result)
    if result["task"] != task.name:
        raise ValueError(f"--from {source}: it is of {result['task']}, not of {task.name}; use probe plot field {result['task']}")
    output.made(field.draw(data), out)


def printed(path):
    """The JSON of a file. Raises ValueError where it holds none."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except ValueError as error:
        raise ValueError(f"--from {path} holds no JSON of probe field: {error}") from None

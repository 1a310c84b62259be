"""`probe plot curves TASK`: the learning curves of what `probe run TASK` stored, with the same options."""

from attnprobe.cli.plot_options import asked, reading, run_options, shown
from attnprobe.cli.task_command import TaskGroup, task_options, typer_command
from attnprobe.probes.tasks import TASKS


class CurvesGroup(TaskGroup):
    """`probe plot curves`."""

    def command_of(self, name):
        """The command that draws a task's learning curves."""
        task = TASKS[name]
        own = task_options(task)

        def body(**options):
            draw_curves(task(**{field: options.pop(field) for field in own}), **options)

        examples = f"""[bold]probe plot curves {name} --out curves.svg[/bold]

        Draw what probe run {name} stored, with the same options: a thin line a seed, the median bold, a panel an arm."""
        return typer_command(name, body, own | reading(task, "curves"), examples)


def draw_curves(task, *, arm, seeds, store, out, **given):
    """Read, draw."""
    from attnprobe.cli.plots import curves, output, stored

    output.check_path(out)
    question = asked(task, given, arm, seeds)
    line = stored.run_line(["run"], task, run_options(task, given, arm, seeds, store))
    found = stored.find(store, question)
    if not found.held:
        raise ValueError(f"{stored.absent([found], store, 'seed of this run')}; {line} makes it")
    held = {shown(one, question.head_dim): found.records(one)[None] for one in found.arms}
    data = curves.gather(task, held, found.cut)
    stored.tell([found], store)
    output.lacking([str(one) for one in question.arms or () if one not in found.arms], line)
    output.made(curves.draw(data), out)

"""`probe plot curves TASK`: the learning curves of what `probe run TASK` stored, with the same options."""

import dataclasses

from attnprobe.cli.plot_options import reading, shown
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


def draw_curves(task, *, arm, head_dim, seeds, steps, lr, batch, device, store, out):
    """Read, draw."""
    from attnprobe.cli import inputs
    from attnprobe.cli.plots import curves, output, stored

    output.check_path(out)
    arms = inputs.arms(task, arm, inputs.head_dim(head_dim, "--head-dim"), None, control=False)
    recipe = dataclasses.replace(task.recipe, steps=steps, lr=lr, batch=batch)
    found = stored.pick(stored.told(store, task.name), task, arms, inputs.seeds(seeds), recipe, device)
    usual = {name: getattr(task.recipe, name) for name in ("steps", "lr", "batch")} | {"head_dim": task.head_dim, "device": "cpu"}
    given = {"steps": steps, "lr": lr, "batch": batch, "head_dim": head_dim, "device": device}
    changed = {name: value for name, value in given.items() if value != usual[name]}
    line = stored.run_line(["run"], task, {"arm": arm or [], **changed, "seeds": seeds, "store": store})
    if not found:
        raise ValueError(f"{store} holds no seed of this run; {line} makes it")
    output.lacking([str(one) for one in arms if one not in found], line)
    output.made(curves.draw(curves.gather(task, {shown(one, head_dim): held for one, held in found.items()})), out)

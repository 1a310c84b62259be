"""Commands that every task has: a group whose subcommands are the registered tasks, each with the task's fields as options."""

import dataclasses
import inspect
from typing import Annotated

import typer

from attnprobe.cli.load import LoadOption
from attnprobe.cli.shell import Group, command, unfolded
from attnprobe.probes.fields import declared
from attnprobe.probes.registry import nearest
from attnprobe.probes.tasks import TASKS


def task_options(task):
    """A task's own fields as name -> (annotation, default)."""
    hints, panel = declared(task), f"The {task.name} task"
    return {
        f.name: (
            Annotated[hints[f.name], typer.Option(f"--{f.name.replace('_', '-')}", help=f.metadata.get("help"), rich_help_panel=panel)],
            f.default,
        )
        for f in dataclasses.fields(task)
    }


def typer_command(name, body, options, help_text):
    """A command whose options are name -> (annotation, default) and whose body takes them as keywords; --load is an option of each."""

    def wrapped(load=None, **values):  # whose files are loaded by now
        return command(body)(**values)

    options = {**options, "load": (LoadOption, None)}

    parameters = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, annotation=a, default=d) for key, (a, d) in options.items()]
    wrapped.__signature__ = inspect.Signature(parameters)
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    wrapped.__doc__ = unfolded(help_text)
    app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    settings = {"help_option_names": ["-h", "--help"]}
    app.command(name, context_settings=settings, short_help=TASKS.entries[name].summary)(wrapped)
    return typer.main.get_command(app)


class TaskGroup(Group):
    """A group of one command a task; a task's file is imported when its command is used. Subclasses say what the command is.

    family: the tasks it is for, by the start of their family; all by default.
    """

    family = ""

    def list_commands(self, ctx):
        """The registered tasks of the family."""
        return [name for name, entry in TASKS.entries.items() if entry.facts.get("family", "").startswith(self.family)]

    def format_help(self, ctx, formatter):
        """Help that names the tasks without importing them: of each its name and summary."""
        ctx.meta["listed"] = True
        super().format_help(ctx, formatter)

    def get_command(self, ctx, cmd_name):
        """The command of a task; an unknown name ends with one line and exit 2; None in completion."""
        if ctx.meta.get("listed"):
            return typer.core.TyperCommand(cmd_name, short_help=TASKS.entries[cmd_name].summary)
        names = self.list_commands(ctx)
        if cmd_name not in names and ctx.resilient_parsing:  # a shell completes
            return None
        if cmd_name not in names:
            ctx.fail(f"unknown task {cmd_name!r}{nearest(cmd_name, names)}")
        return self.command_of(cmd_name)

    def command_of(self, name):
        """The typer command of a registered task."""
        raise NotImplementedError

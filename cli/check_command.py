"""`probe check`: a mechanism or a task, tested before anyone trains it."""

import json
import re
import shlex
import sys
from typing import Annotated

import typer

from attnprobe.cli import completion
from attnprobe.cli.load import LoadOption
from attnprobe.cli.shell import command

EXIT_FAILED = 1
WORD = re.compile(r"[\w-]+")  # a lone name
SCHEMA = 1


@command
def check(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="SPEC|TASK|FILE",
            help="Mechanisms, tasks, or Python files that register some.",
            autocompletion=completion.tasks_and_arms,
        ),
    ],
    load: LoadOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")] = False,
):
    """[bold]probe check mine.py[/bold]                    everything that a file registers

    [bold]probe check rope+mine --load mine.py[/bold]   a mechanism of several parts

    [bold]probe check fpa[/bold]                        a mechanism of the suite

    [bold]probe check copy[/bold]                       a task

    Ask of a mechanism whether it is causal, keeps examples and seeds apart, and has the right shapes, types, gradients and ranges; measure
    what it has in common with known ones. Ask of a task whether its data leak, collide or depend on more than their seed, and whether its
    readers score what they are stated to. A line each: ok, FAIL, or note where something could not be asked. Exit code 1 if any fails.
    """
    from attnprobe.cli.check_tables import lines
    from attnprobe.cli.shell import console

    made = [examine(name) for name in named(what)]
    if as_json:
        print(json.dumps({"schema": SCHEMA, "command": shlex.join(["probe", *sys.argv[1:]]), "subjects": made}))
    else:
        out = console()
        for subject in made:
            for line in lines(subject):
                out.print(line, highlight=False)
    if any(one["status"] == "FAIL" for subject in made for one in subject["checks"]):
        raise typer.Exit(EXIT_FAILED)


def named(what):
    """What is to be checked, by name: the names that a file registers stand for the file."""
    from attnprobe.probes.loading import load

    found = []
    for text in what:
        found += load(text) if text.endswith(".py") else [text]
    return list(dict.fromkeys(found))


def examine(name):
    """One subject's findings as JSON data. Raises ValueError where there is no such task or mechanism."""
    import dataclasses

    import torch

    from attnprobe.probes.registry import nearest
    from attnprobe.probes.spec import aliases, axis_of
    from attnprobe.probes.tasks import TASKS

    known = [*TASKS, *axis_of(), *aliases()]
    if WORD.fullmatch(name) and name not in known:
        raise ValueError(f"unknown task or mechanism {name!r}{nearest(name, known)}")
    torch.set_num_threads(1)
    made = findings(name)
    plain = {key: [dataclasses.asdict(one) for one in made[key]] for key in ("checks", "traits", "theory")}
    return {"subject": name, "kind": "task" if name in TASKS else "mechanism", **plain, "alike": made["alike"]}


def findings(name):
    """A task's or a mechanism's findings; one that a user's code keeps from being built, or from any check, has that as its only one."""
    from attnprobe.probes.checks.findings import FAIL, Finding, described
    from attnprobe.probes.tasks import TASKS

    try:
        return task_findings(TASKS[name]()) if name in TASKS else mixer_findings(name)
    except (Exception, SystemExit) as error:
        if not of_a_user(error, name):
            raise
        return {"checks": [Finding("construction", FAIL, described(error))], "traits": [], "theory": [], "alike": []}


def of_a_user(error, name):
    """Whether an error is of a loaded task or part that a subject names, and not of how the subject was typed."""
    from attnprobe.probes.loading import PREFIX, blame
    from attnprobe.probes.spec import REGISTRIES
    from attnprobe.probes.tasks import TASKS

    entries = [entry for registry in (TASKS, *REGISTRIES.values()) for entry in registry.entries.values()]
    loaded = {entry.name for entry in entries if entry.module.startswith(PREFIX)}
    refused = isinstance(error, ValueError) and "(" in name  # a value that was typed
    return name in loaded or (blame(error) is not None and not refused)


def task_findings(task):
    """A task's findings."""
    from attnprobe.probes.checks.task import check_task

    return {"checks": check_task(task), "traits": [], "theory": [], "alike": []}


def mixer_findings(text):
    """A mechanism's findings; of several layers, each that is another's equal once."""
    from attnprobe.probes.checks.findings import run
    from attnprobe.probes.checks.mixer import check_mixer
    from attnprobe.probes.checks.traits import alike, traits
    from attnprobe.probes.spec import parse

    spec = parse(text)
    if spec.swap or any(layer.intervention for layer in spec.layers):
        raise ValueError(f"{text}: check the mechanism without its swap or intervention, which change nothing that is asked here")
    if len(spec.layers) > 1:
        raise ValueError(f"{text}: check one layer at a time: {' '.join(dict.fromkeys(map(str, spec.layers)))}")
    (mixer,) = spec.layers
    checks = check_mixer(mixer)
    measured = {"traits": [], "theory": [], "alike": []}

    def measure():
        measured.update(traits=traits(mixer), theory=list(theory(text, spec)), alike=alike(mixer))

    if any(one.status == "FAIL" for one in checks):
        return {"checks": checks, **measured}
    return {"checks": [*checks, *(one for one in run({"measured": measure}) if one.status == "FAIL")], **measured}


def theory(text, spec):
    """What theory says of a mechanism, by task: of one it knows, or, if what was measured of a loaded part holds, of that."""
    import dataclasses

    from attnprobe.cli.check_tables import Said
    from attnprobe.cli.verdict import verdict
    from attnprobe.probes.run import Arm
    from attnprobe.probes.tasks import TASKS

    for name in ("ladder", "two-walks", "duration"):
        task = TASKS[name]()
        arm = Arm(text, spec, task.head_dim)
        try:
            task.check(spec, arm.head_dim)
        except ValueError:
            continue  # refused there: nothing to say
        said = verdict(task, arm)
        if said.kind != "none":
            yield Said(name, dataclasses.asdict(task), arm.head_dim, said.text, said.claim, said.assumption)

"""Reads what a user types for arms and seeds."""

from dataclasses import replace

from attnprobe.probes.arm import Arm, arm, head_dim, once, seeds
from attnprobe.probes.registry import nearest
from attnprobe.probes.spec import REGISTRIES, Spec, number, parse_intervention, show, swappable

__all__ = ["arm", "arms", "head_dim", "intervened", "number", "once", "ranges", "seeds", "takes_swaps", "with_swaps"]


def ranges(seeds):
    """Seeds, in order, as the half-open ranges without a gap that they are.

    >>> ranges([0, 1, 2, 100, 101])
    [(0, 3), (100, 102)]
    """
    found = []
    for seed in seeds:
        if found and seed == found[-1][1]:
            found[-1] = (found[-1][0], seed + 1)
        else:
            found.append((seed, seed + 1))
    return found


def arms(task, texts, dim, reference, control):
    """The Arms to run: those asked for, or the task's; then, as controls, every one but the reference at task.control_dim."""
    asked = [arm(text, dim) for text in texts or task.arms]
    if control and task.control_dim is not None:
        asked += [Arm(a.name, a.spec, task.control_dim, control=True) for a in asked if a.spec != reference]
    return once(asked)


def intervened(task, arms, texts):
    """For each intervention `KIND=VALUE`, every one of `arms` that has FPA's bias in all layers, again with it on layer 1."""
    if texts and task.layers == 1:
        raise ValueError(f"--intervene: interventions ask what layer 1 does to the layers above it, and {task.name} has one layer here")
    made = []
    for text in texts:
        change = parse_intervention(text, f"--intervene {text}")
        for a in arms:
            first, *above = a.spec.of_layers(task.layers)
            if all(mixer.bias.field and not mixer.intervention for mixer in (first, *above)) and not a.control:
                spec = Spec((replace(first, intervention=change), *above))
                made.append(Arm(str(spec), spec, a.head_dim))
        if not made:
            raise ValueError(f"--intervene {text}: none of the arms has FPA's bias, as yet unchanged, in every layer; give --arm fpa")
    return [a for a in dict.fromkeys(made) if (a.spec, a.head_dim) not in {(b.spec, b.head_dim) for b in arms}]


def with_swaps(arms, names, window):
    """The Arms, each one of full routing followed by itself judged under the routings named (`swa,sa`) for a window. Raises ValueError."""
    asked = [name.strip() for name in names.split(",")]
    for name in asked:
        if name not in REGISTRIES["routing"]:
            raise ValueError(f"--swap: unknown routing {name!r}{nearest(name, swappable())}")
    routings = [REGISTRIES["routing"][name].of_window(window) for name in asked]
    if not any(takes_swaps(a) for a in arms):
        raise ValueError(f"--swap is of arms trained with full routing, and none of {', '.join(str(a) for a in arms)} is")
    made = []
    for a in arms:
        made.append(a)
        if takes_swaps(a):
            made += [replace(a, name=f"{a.name}>{show(routing)}", spec=replace(a.spec, swap=routing)) for routing in routings]
    return once(made)


def takes_swaps(arm):
    """Whether every layer of an arm is trained and judged with full routing."""
    return not any(layer.routing.hides for layer in arm.spec.judged.layers)

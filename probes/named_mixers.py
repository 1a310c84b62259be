"""Mechanisms by a short name, as one table, and the form that each takes in a task."""

from __future__ import annotations

from dataclasses import dataclass, replace

from attnprobe.probes.run import Arm, check
from attnprobe.probes.spec import parse


@dataclass(frozen=True)
class Named:
    """A mechanism under a name, in one or several forms (specs), the usual one first."""

    name: str
    forms: tuple[str, ...]
    what: str


NAMED = (
    Named("softmax", ("softmax",), "scores alone"),
    Named("rope", ("rope",), "rotary positions"),
    Named("alibi", ("alibi",), "decay with age, learned slopes"),
    Named("fox", ("fox",), "forget gates"),
    Named("fpa", ("fpa",), "the minimum of a path"),
    Named("fpa-sum", ("fpa-sum",), "the sum of a path's dips"),
    Named("selective", ("selective", "selective(maps=own)"), "a mask of pairs; by maps of its own where scores do not serve"),
    Named("pn_fir_tau", ("pn_fir_tau", "fir+power-tau(tau0=-3)"), "filtered keys and a learned threshold, which starts lower among decoys"),
    Named("rope+sa", ("rope+sa",), "windows over shuffled tokens"),
    Named("fir+fpa+power-tau", ("fir+fpa+power-tau",), "pn_fir_tau with a path's minimum: of no paper"),
    Named("fpa+sa", ("fpa+sa",), "a path's minimum in shuffled windows: of no paper"),
    Named("fpa-clamped", ("fpa:clamp=0.3/fpa", "fpa:clamp=0.3/fpa/fpa"), "layer 1's bias at least -0.3: of no paper"),
)


def named(text):
    """The mechanism of a name, or of a spec under its own text. Raises ValueError."""
    found = next((mixer for mixer in NAMED if mixer.name == text), None)
    if found is None:
        parse(text)
    return found or Named(text, (text,), "as asked for")


def form(mixer, task):
    """The Spec of a mechanism in a task: the first of its forms among the task's own arms, else the first that the task does not refuse.

    In a task of several layers whose model has no positions, layers with neither a position nor a bias get rotary ones: by scores alone
    they tell no order. Raises the first form's ValueError if the task refuses them all.
    """
    own = {parse(arm) for arm in task.arms}
    found, refused = [], []
    for text in mixer.forms:
        try:
            spec = with_positions(parse(text), task)
            check(task, Arm(text, spec, task.head_dim))
            found.append(spec)
        except ValueError as error:
            refused.append(error)
    if not found:
        raise refused[0]
    return next((spec for spec in found if spec in own), found[0])


def with_positions(spec, task):
    """A Spec with rotary positions in its layers that have neither a position nor a bias, where the task has layers and no positions."""
    if task.layers == 1 or task.model.positions != "none":
        return spec
    rotary = parse("rope").layers[0].position

    def rotated(layer):
        return replace(layer, position=rotary) if layer.position.name == "nope" and layer.bias.name == "none" else layer

    return replace(spec, layers=tuple(map(rotated, spec.layers)))

"""A part whose calls are watched: none may write into what it is given."""

from __future__ import annotations

import functools
import inspect

import torch

from attnprobe.probes.checks.case import moved, told
from attnprobe.probes.checks.findings import Failed
from attnprobe.probes.mixers.attention import AXES


class Watched:
    """A part as its axis names it; a call of it, or of a method, raises Failed where it writes into a tensor that it is given."""

    def __init__(self, part, axis):
        self.part, self.axis = part, axis

    def __getattr__(self, name):
        value = getattr(self.part, name)
        return functools.partial(guarded, value, f"{self.axis}.{name}()") if callable(value) else value

    def __call__(self, *given):
        """What the part gives."""
        return guarded(self.part, self.axis, *given)


def watched(case):
    """The case with the parts of its layer watched."""
    fresh = case.of()
    for axis in AXES:
        setattr(fresh.layer, axis, Watched(getattr(fresh.layer, axis), axis))
    return fresh


def guarded(function, what, *given):
    """What a function gives. Raises Failed where one of the tensors it is given is another after the call."""
    names = inspect.signature(function).parameters
    held = {name: tensor for argument, value in zip(names, given, strict=False) for name, tensor in tensors(argument, value)}
    copies = {name: tensor.clone() for name, tensor in held.items()}
    result = function(*given)
    for name, tensor in held.items():
        if found := moved(copies[name], tensor):
            where = f"{name} at index {list(found[0])}"
            raise Failed(f"a call of {what} writes into {where}, {told(found)}: what comes in must stay as it is")
    return result


def tensors(name, value):
    """(name, tensor) of each tensor that an argument holds: itself, a layer's input, a mapping's or a list's."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from tensors(f"{name}[{key!r}]", one)
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value):
            yield from tensors(f"{name}[{at}]", one)
    elif hasattr(value, "dense"):
        yield name, value.dense()

"""Fields of frozen values, held to their declared types, so that a wrong one is said in a line and not found in the middle of a run."""

from __future__ import annotations

import functools
import types
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from attnprobe.probes.registry import nearest

LARGEST = 2**1000  # an integer below this is a float too
KINDS = {int: "an integer", float: "a number", bool: "True or False", str: "a text", type(None): "None"}


def check_types(value: Any) -> None:
    """Raise ValueError, with the type and what was given, where a field of a dataclass is not what it is declared to be.

    Looked at are int, float, bool, str, Literal, and unions of these and None; other annotations are left alone. True is no integer;
    an integer in a float's place becomes a float, so that equal values have one name.
    """
    cls: Any = type(value)
    hints = declared(cls)
    for field in fields(value):
        given, hint = getattr(value, field.name), hints[field.name]
        if not fits(given, hint):
            near = nearest(given, get_args(hint)) if get_origin(hint) is Literal and isinstance(given, str) else ""
            raise ValueError(f"{field.name} must be {told(hint)}, not {given!r}{near if 'did you mean' in near else ''}")
        if type(given) is int and float in alternatives(hint):
            object.__setattr__(value, field.name, float(given))


@functools.cache
def declared(cls: Any) -> dict[str, Any]:
    """Each field's type; ValueError where an annotation names what its module has no name for when it runs."""
    try:
        return get_type_hints(cls)
    except NameError as error:
        raise ValueError(
            f"{cls.__name__}'s annotations must be names that its module has when it runs, "
            f"not under TYPE_CHECKING or inside a function alone, and {error}"
        ) from None


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The types that a declared type is the union of."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def fits(given: Any, hint: Any) -> bool:
    """Whether a value is of a declared type, or the declared type is none that is looked at."""
    return any(of_kind(given, one) for one in alternatives(hint))


def of_kind(given: Any, one: Any) -> bool:
    """`fits` for a type that is no union: an integer that a float can hold is a number."""
    if get_origin(one) is Literal:
        return any(type(choice) is type(given) and choice == given for choice in get_args(one))
    return one not in KINDS or type(given) is one or (one is float and type(given) is int and abs(given) < LARGEST)


def told(hint: Any) -> str:
    """A declared type in words: `an integer or None`, `balanced or plain`."""
    words = []
    for one in alternatives(hint):
        words += map(str, get_args(one)) if get_origin(one) is Literal else [KINDS[one]]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)

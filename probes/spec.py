"""MixerSpec, an attention mechanism as one value per axis, and the grammar `rope+softmax/fir+fpa` that names it."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from attnprobe.probes.fields import declared
from attnprobe.probes.mixers.attention import AXES
from attnprobe.probes.mixers.intervention import KINDS, Intervention
from attnprobe.probes.mixers.parts import Bias, Dims, KeyFilter, Normaliser, Part, Position, Routing
from attnprobe.probes.registry import Registry, nearest

DEFAULTS = {"key_filter": "none", "position": "nope", "bias": "none", "normaliser": "softmax", "routing": "full"}
PART = re.compile(r"(?P<name>[a-z0-9_-]+)(?:\((?P<arguments>[^()]*)\))?(?::(?P<intervention>.*))?", re.IGNORECASE)
PLUS = re.compile(r"\+(?![^()]*\))")  # a + outside parentheses
MIXERS = Path(__file__).parent / "mixers"
REGISTRIES = {axis: Registry(MIXERS / axis, f"attnprobe.probes.mixers.{axis}", axis.replace("_", " ")) for axis in AXES}


@functools.cache
def axis_of():
    """Part name -> axis, for every part that a spec may name; `none` is what an axis has when no part is named."""
    found = {}
    for axis, registry in REGISTRIES.items():
        for name in registry:
            if name == "none":
                continue
            if name in found:
                raise ValueError(f"part name {name!r} stands on two axes, {found[name]} and {axis}; names are unique over all axes")
            found[name] = axis
    return found


@functools.cache
def aliases():
    """Names for several parts at once, as a part's file declares them: @register(..., aliases={"name": "part+part"})."""
    return {
        alias: spec
        for registry in REGISTRIES.values()
        for entry in registry.entries.values()
        for alias, spec in entry.facts.get("aliases", {}).items()
    }


@dataclass(frozen=True)
class MixerSpec:
    """One attention layer's mechanism: a part on each axis, and an intervention on its bias, if any."""

    key_filter: KeyFilter
    position: Position
    bias: Bias
    normaliser: Normaliser
    routing: Routing
    intervention: Intervention | None = None

    def parts(self) -> dict[str, Part]:
        """The parts in canonical order, by axis."""
        return {axis: getattr(self, axis) for axis in AXES}

    def __str__(self) -> str:
        named = {axis: show(part) for axis, part in self.parts().items() if show(part) != DEFAULTS[axis]}
        if self.intervention:
            named["bias"] += f":{self.intervention}"
        return "+".join(named.values()) or "softmax"

    def full(self) -> str:
        """The mechanism with every axis and every parameter written out: what a stored result is named by."""
        parts = "+".join(f"{axis}={show(part, every=True)}" for axis, part in self.parts().items())
        return parts + (f"+intervention={self.intervention}" if self.intervention else "")


@dataclass(frozen=True)
class Spec:
    """One MixerSpec for all layers, or one a layer; with a swap, trained so and judged under that routing in every layer."""

    layers: tuple[MixerSpec, ...]
    swap: Routing | None = None

    def __post_init__(self) -> None:
        if self.swap is None:
            return
        for layer in self.layers:
            if layer.routing.hides:
                raise ValueError(f"spec {str(self)!r}: a swap is of a model trained with full routing, not with {layer.routing.name}")
        if not self.swap.hides:
            raise ValueError(f"spec {str(self)!r}: {self.swap.name} is what it is trained with; swap another routing in")
        if self.swap.parameters(Dims(1, 1, 1)):
            raise ValueError(f"spec {str(self)!r}: {self.swap.name} has parameters to train, and a swap trains nothing")

    def __str__(self) -> str:
        return "/".join(str(layer) for layer in self.layers) + (f">{show(self.swap)}" if self.swap else "")

    def full(self) -> str:
        """Every axis and every parameter of every layer."""
        return "/".join(layer.full() for layer in self.layers) + (f">routing={show(self.swap, every=True)}" if self.swap else "")

    @property
    def trained(self) -> Spec:
        """What is trained: the spec without its swap."""
        return Spec(self.layers)

    @property
    def judged(self) -> Spec:
        """What the trained weights are judged under: the spec with the swapped routing in its layers."""
        return Spec(tuple(replace(layer, routing=self.swap) for layer in self.layers)) if self.swap else self

    def of_layers(self, count: int) -> tuple[MixerSpec, ...]:
        """The MixerSpecs of a model of `count` layers; ValueError if the spec names another number of them."""
        if len(self.layers) not in (1, count):
            raise ValueError(f"spec {str(self)!r} names {len(self.layers)} layers and the model has {count}; give one for all, or {count}")
        return self.layers * count if len(self.layers) == 1 else self.layers


def show(part, every=False):
    """A part as the grammar writes it, with the parameters that differ from their defaults, or with every one."""
    values = [(f.name, getattr(part, f.name)) for f in fields(part) if every or getattr(part, f.name) != f.default]
    return part.name + (f"({','.join(f'{name}={value}' for name, value in values)})" if values else "")


def parse(text: str) -> Spec:
    """Read a spec such as `rope`, `fir(taps=5)+fpa`, `fpa:clamp=0.3/fpa`, or `rope>sa(w=8)`: trained as rope, judged under sa.

    Raises ValueError with one line: an unknown part or parameter with the nearest one, a value of the wrong type or out of
    bounds, two parts on one axis, an empty layer, a swap that is no routing, trains parameters or is not of full routing.

    >>> str(parse("fpa+fir(taps=7)"))
    'fir+fpa'
    """
    layers, swapped, routing = text.partition(">")
    trained = Spec(tuple(parse_layer(layer.strip(), text) for layer in layers.split("/")))
    return replace(trained, swap=parse_swap(routing.strip(), text)) if swapped else trained


def parse_swap(piece, text):
    """The routing after `>`."""
    name = PART.fullmatch(piece)
    if not name or name["name"] not in REGISTRIES["routing"]:
        raise ValueError(f"spec {text!r}: after > stands one routing, not {piece!r}{nearest(piece, swappable())}")
    return parse_part(piece, text)[0]


def swappable():
    """The routings that can be swapped in: those that hide keys and train nothing."""
    routings = {name: REGISTRIES["routing"][name] for name in REGISTRIES["routing"]}
    return [name for name, cls in routings.items() if cls.hides and not cls().parameters(Dims(1, 1, 1))]


def parse_layer(layer, text):
    """One MixerSpec from `part+part+...`; `text` is the whole spec, for messages."""
    parts, intervention = {}, None
    pieces = [aliases().get(piece.strip(), piece) for piece in PLUS.split(layer)]
    for piece in PLUS.split("+".join(pieces)):
        part, changed = parse_part(piece.strip(), text)
        axis = axis_of()[part.name]
        if axis in parts:
            what = axis.replace("_", " ")
            raise ValueError(f"spec {text!r}: {parts[axis].name!r} and {part.name!r} are both a {what}; a layer takes at most one")
        parts[axis], intervention = part, changed or intervention
    defaults = {axis: REGISTRIES[axis][name]() for axis, name in DEFAULTS.items() if axis not in parts}
    return MixerSpec(**defaults, **parts, intervention=intervention)


def parse_part(piece, text) -> tuple[Part, Intervention | None]:
    """One part from `name` or `name(key=value,...)`, of a bias with `:kind=value` or `:kind` after it an intervention too."""
    match = PART.fullmatch(piece)
    if not match:
        raise ValueError(f"spec {text!r}: {piece!r} is no part; write name or name(key=value,...), joined by + and, between layers, /")
    name = match["name"]
    if name not in axis_of():
        raise ValueError(f"spec {text!r}: unknown part {name!r}{nearest(name, [*axis_of(), *aliases()])}")
    cls = REGISTRIES[axis_of()[name]][name]
    types = {f.name: declared(cls)[f.name] for f in fields(cls)}
    arguments = {}
    for argument in match["arguments"].split(",") if match["arguments"] else []:
        key, equals, value = (word.strip() for word in argument.partition("="))
        if key not in types:
            known = nearest(key, types) if types else "; it takes none"
            raise ValueError(f"spec {text!r}: {name} has no parameter {key!r}{known}")
        if not equals or key in arguments:
            raise ValueError(f"spec {text!r}: write {name}({key}=value), once")
        arguments[key] = number(types[key], value, f"spec {text!r}: {name}({key}=...)")
    return cls(**arguments), intervention_on(cls, match["intervention"], text)


def intervention_on(cls, written, text):
    """The intervention `written` after a part of class `cls`, None if there is none. Raises ValueError."""
    if written is None:
        return None
    if axis_of()[cls.name] != "bias" or not cls.field:
        raise ValueError(f"spec {text!r}: {written!r} is no intervention on {cls.name}: interventions are on FPA's bias, with a field")
    return parse_intervention(written, f"spec {text!r}")


def parse_intervention(text, where):
    """An Intervention from `kind=value`, or `kind` where it takes none. Raises ValueError that opens with `where`.

    >>> str(parse_intervention("clamp=.3", "here"))
    'clamp=0.3'
    """
    kind, equals, value = (word.strip() for word in text.partition("="))
    if kind not in KINDS:
        raise ValueError(f"{where}: unknown intervention {kind!r}{nearest(kind, KINDS)}")
    if bool(equals) != (KINDS[kind] is not None):
        raise ValueError(f"{where}: write {kind + '=value' if KINDS[kind] else kind}, not {text!r}")
    return Intervention(kind, number(KINDS[kind], value, f"{where}: {kind}") if equals else None)


def number(kind: type, text: str, where: str) -> Any:
    """`text` as an int or a float in plain ASCII digits, or as it is where kind is str. Raises ValueError that opens with `where`."""
    if kind is str or (text.isascii() and "_" not in text):
        try:
            return kind(text)
        except ValueError:
            pass
    raise ValueError(f"{where} takes {kind.__name__}, not {text!r}")

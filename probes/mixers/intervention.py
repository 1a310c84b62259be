"""Interventions: FPA's bias with one thing about it changed, to ask what it does in training."""

from __future__ import annotations

from dataclasses import dataclass, replace

from attnprobe.probes.mixers.parts import Bias

KINDS = {
    "clamp": float,
    "off-until": int,
    "warmup": int,
    "freeze": None,
    "zero-own": None,
    "only-own": None,
    "zero-offset": int,
    "const": float,
    "field-scale": float,
}  # kind -> the type of its value
LARGEST = 10**6
OWN = ("zero-own", "only-own", "const")  # about values and their own keys


@dataclass(frozen=True)
class Intervention:
    """What is changed: a kind and its value, None for a kind without one.

    clamp=c: max(b, -c). off-until=K: 0 for steps < K. warmup=K: b min(1, step / K). freeze: its parameters keep their start.
    zero-own, only-own: b is zeroed, or kept only, from a value to its own key, just before it. zero-offset=j: b_{t,t-j} = 0.
    const=c: the bias is dropped, and -c stands from a value to its own key. field-scale=a: field init times a.
    """

    kind: str
    value: float | None = None

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"intervention must be one of {', '.join(KINDS)}, not {self.kind!r}")
        least = 1 if self.kind in ("warmup", "zero-offset") else 0
        if KINDS[self.kind] is None and self.value is not None:
            raise ValueError(f"intervention {self.kind} takes no value, not {self.value}")
        if KINDS[self.kind] and (self.value is None or not least <= self.value <= LARGEST):
            raise ValueError(f"intervention {self.kind} takes a number from {least} to {LARGEST}, not {self.value}")

    def __str__(self):
        return self.kind if self.value is None else f"{self.kind}={str(self.value).removesuffix('.0')}"

    @property
    def transient(self):
        """Whether it changes in training, so that a seed is judged at the last step alone."""
        return self.kind in ("off-until", "warmup")


@dataclass(frozen=True)
class Intervened(Bias):
    """`bias` under an intervention; own: positions of the values whose own key stands just before them.

    A test-time step counts the finished steps, so that at the last one off-until and warmup are in their final state.
    """

    bias: Bias
    change: Intervention
    own: tuple[int, ...] = ()

    @property
    def name(self):
        return f"{self.bias.name}:{self.change}"

    @property
    def every_row(self):
        return self.bias.every_row

    def parameters(self, dims):
        if self.change.kind == "const":
            return {}
        scale = self.change.value if self.change.kind == "field-scale" else 1.0
        frozen = self.change.kind == "freeze"
        return {name: replace(init, std=init.std * scale, frozen=frozen) for name, init in self.bias.parameters(dims).items()}

    def __call__(self, p, x, scores, draw):
        import torch

        kind, value = self.change.kind, self.change.value
        T, S = scores.shape[-2:]
        key = torch.arange(S, device=scores.device)
        distance = key[S - T :, None] - key  # (T, S)
        if kind == "const":
            return -value * self.at_own_key(distance).to(scores.dtype)
        b = self.bias(p, x, scores, draw)
        return {
            "clamp": lambda: b.clamp(min=-value),
            "off-until": lambda: b * float(draw.step >= value),
            "warmup": lambda: b * min(1.0, draw.step / value),
            "freeze": lambda: b,
            "zero-own": lambda: torch.where(self.at_own_key(distance), 0, b),
            "only-own": lambda: torch.where(self.at_own_key(distance), b, 0),
            "zero-offset": lambda: torch.where(distance == value, 0, b),
            "field-scale": lambda: b,
        }[kind]()

    def at_own_key(self, distance):
        """True where the query is a value and the key its own: (T, S) from t - s."""
        import torch

        T, S = distance.shape
        of_value = torch.zeros(S, dtype=torch.bool, device=distance.device)
        of_value[list(self.own)] = True
        return (distance == 1) & of_value[S - T :, None]


def check(task, spec, steps=None):
    """Raise ValueError, with the reason, where a spec intervenes on anything but layer 1's bias in a task of more than one layer, or
    where an intervention that ends, so that a seed is judged in its final state, does not end within `steps`, if given."""
    layers = spec.of_layers(task.layers)
    for i, mixer in enumerate(layers, 1):
        change = mixer.intervention
        if change is None:
            continue
        if task.layers == 1:
            raise ValueError(f"{change}: interventions ask what layer 1 does to the layers above it, and {task.name} has one layer here")
        if i > 1:
            rest = "/".join([mixer.bias.name] * (task.layers - 1))
            raise ValueError(f"{change}: an intervention is on layer 1 alone; give each layer, as in {mixer.bias.name}:{change}/{rest}")
        if steps is not None and change.transient and change.value >= steps:
            raise ValueError(f"{change}: it must end before the last step, of {steps}; a seed is judged in its final state")
        shape = task.model
        if change.kind in OWN and not shape.own:
            raise ValueError(f"{change} is about a value and its own key just before it, and {task.name} has none")
        if change.kind == "zero-offset" and change.value >= shape.seq_len:
            raise ValueError(f"zero-offset must be below {shape.seq_len}, the sequence's length, not {change.value}")

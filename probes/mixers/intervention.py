"""Interventions: a bias part with one thing about it changed, to ask what it does in training."""

from __future__ import annotations

from dataclasses import dataclass, replace

from attnprobe.probes.mixers.parts import Bias

KINDS = ("clamp", "off-until", "warmup", "zero-offset", "const", "field-scale")


@dataclass(frozen=True)
class Intervened(Bias):
    """`bias` with an intervention of `kind` and `value`.

    clamp=c: max(b, -c). off-until=K: 0 for steps < K. warmup=K: b min(1, step / K). zero-offset=j: b_{t,t-j} = 0.
    const=c: the bias is dropped and -c stands at distance 1 in its place. field-scale=a: field init times a.
    A test-time step is the last one, so off-until and warmup are judged in their final state.
    """

    bias: Bias
    kind: str
    value: float

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"intervention must be one of {', '.join(KINDS)}, not {self.kind!r}")
        if not self.value >= 0:
            raise ValueError(f"intervention {self.kind} takes a number >= 0, not {self.value}")

    @property
    def name(self):
        return self.bias.name

    @property
    def every_row(self):
        return self.bias.every_row

    def parameters(self, dims):
        scale = self.value if self.kind == "field-scale" else 1.0
        return {name: replace(init, std=init.std * scale) for name, init in self.bias.parameters(dims).items()}

    def __call__(self, p, x, scores, draw):
        import torch

        b = self.bias(p, x, scores, draw)
        T, S = scores.shape[-2:]
        distance = torch.arange(S - T, S, device=scores.device)[:, None] - torch.arange(S, device=scores.device)
        return {
            "clamp": lambda: b.clamp(min=-self.value),
            "off-until": lambda: b * float(draw.step >= self.value),
            "warmup": lambda: b * min(1.0, draw.step / self.value) if self.value else b,
            "zero-offset": lambda: torch.where(distance == self.value, 0, b),
            "const": lambda: -self.value * (distance == 1).to(scores.dtype),
            "field-scale": lambda: b,
        }[self.kind]()

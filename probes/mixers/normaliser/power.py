"""The power norm over a fixed, a centred and a learned threshold: rows are silent where no score exceeds it."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import FusedNormaliser, Init, Normaliser, floored_log
from attnprobe.probes.registry import register


@register("power", paper="Zhukov 2026, pn_fir_tau without its learned threshold")
@dataclass(frozen=True)
class Power(FusedNormaliser):
    """gamma(R) u / sum u, u = (r / R)^10, r = relu(x - tau), R = max r, gamma(R) = 1 - e^-R; tau is fixed."""

    tau: float = 0.0

    def __post_init__(self):
        finite("power", "tau", self.tau)

    def parameters(self, dims):
        return {}

    def __call__(self, p, scores, mask):
        from attnprobe.kernels.power_norm import power_norm

        return power_norm(scores, mask, self.tau, "exp")

    def log(self, p, scores, mask):
        return floored_log(self(p, scores, mask))

    def finish(self, p, output):
        return output

    def settings(self, p, shift):
        """The threshold, over scores before the shift, and the gate."""
        return (), {"tau": self.tau + shift, "gate": "exp"}


@register("power-centred", paper="Zhukov 2026, pn_fir_tau with the row's mean as its threshold")
@dataclass(frozen=True)
class PowerCentred(Normaliser):
    """The power norm over tau = the mean of the row's allowed scores."""

    def parameters(self, dims):
        return {}

    def __call__(self, p, scores, mask):
        from attnprobe.kernels.power_norm import power_norm

        mean = scores.masked_fill(~mask, 0).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True)
        return power_norm(scores, mask, mean, "exp")

    def log(self, p, scores, mask):
        return floored_log(self(p, scores, mask))

    def finish(self, p, output):
        return output


@register("power-tau", paper="Zhukov 2026, pn_fir_tau", aliases={"pn_fir_tau": "fir+power-tau"})
@dataclass(frozen=True)
class PowerTau(FusedNormaliser):
    """The power norm over a learned threshold a layer, from tau0; gate exp: 1 - e^-R, rate: R / (1 + R).

    tau0 is to be negative: a row with no score above tau has no gradient, tau's included.
    """

    tau0: float = -2.0
    gate: str = "exp"

    def __post_init__(self):
        finite("power-tau", "tau0", self.tau0)
        if self.gate not in ("exp", "rate"):
            raise ValueError(f"power-tau: gate must be exp (1 - e^-R) or rate (R / (1 + R)), not {self.gate!r}")

    def parameters(self, dims):
        return {"tau": Init((), value=self.tau0)}

    def __call__(self, p, scores, mask):
        from attnprobe.kernels.power_norm import power_norm

        return power_norm(scores, mask, p["tau"].view(-1, 1, 1, 1, 1), self.gate)

    def log(self, p, scores, mask):
        return floored_log(self(p, scores, mask))

    def finish(self, p, output):
        return output

    def settings(self, p, shift):
        """The layer's threshold (N, 1, 1), over scores before the shift, and the gate."""
        return (p["tau"].view(-1, 1, 1) + shift,), {"gate": self.gate}


def finite(part, name, value):
    """ValueError unless a threshold is a finite number."""
    if not abs(value) < float("inf"):
        raise ValueError(f"{part}: {name} must be finite, not {value}")

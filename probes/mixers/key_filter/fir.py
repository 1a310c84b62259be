"""A causal FIR filter along the key axis: a key carries part of the keys before it."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import KeyFilter
from attnprobe.probes.registry import register

MOST_TAPS = 1024
LEAST_SIGMA, MOST_SIGMA = 0.1, 1e6  # below, e^{-50} is left of the second tap; above, taps differ by less than rounding


def half_gaussian(taps, sigma):
    """h_i = e^{-i^2 / (2 sigma^2)} / sum_j e^{-j^2 / (2 sigma^2)}, i = 0..taps-1: a list that sums to 1."""
    import math

    raw = [math.exp(-(i**2) / (2 * sigma**2)) for i in range(taps)]
    return [h / sum(raw) for h in raw]


@register("fir", paper="Zhukov 2026, pn_fir_tau; unit sum and filter before position are ours")
@dataclass(frozen=True)
class Fir(KeyFilter):
    """k~_s = sum_{i=0..taps-1} h_i k_{s-i} with half-Gaussian h of unit sum; k_{<0} = 0, taps not renormalised at the start."""

    taps: int = 7
    sigma: float = 2.0

    def __post_init__(self):
        if not 1 <= self.taps <= MOST_TAPS:
            raise ValueError(f"fir: taps must be from 1 (tap 0 is the key itself) to {MOST_TAPS}, not {self.taps}")
        if not LEAST_SIGMA <= self.sigma <= MOST_SIGMA:
            raise ValueError(f"fir: sigma must be from {LEAST_SIGMA} (the key alone) to {MOST_SIGMA:g} (flat taps), not {self.sigma}")

    def parameters(self, dims):
        return {}

    def __call__(self, p, k):
        import torch

        S = k.shape[-2]
        h = half_gaussian(self.taps, self.sigma)
        lag = torch.arange(S, device=k.device)[:, None] - torch.arange(S, device=k.device)  # (S, S): s - source
        taps = k.new_tensor([*h, 0.0])[lag.clamp(min=-1, max=self.taps)]  # lags outside 0..taps-1 read the last entry, 0
        return taps @ k  # (N, B, H, S, D)

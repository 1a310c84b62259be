"""Stochastic attention: a window over shuffled positions, alone, beside a sliding window behind gates, or united with one."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import FusedRouting, Init, OnePath
from attnprobe.probes.mixers.routing.window import at_least, back, sliding, within
from attnprobe.probes.registry import register

GATE_STD = 0.1  # of the gates' linear maps at the start, ours


@register("sa", paper="stochastic attention; two-sided window, no wrap, causal in the original order: ours")
@dataclass(frozen=True)
class Sa(OnePath, FusedRouting):
    """The keys within a two-sided window of w positions of a random order, those later in the sequence left out.

    sigma is a permutation of the S positions; t sees s iff sigma(t) - sigma(s) is in [-hi, lo] and s <= t, with
    lo = floor((w-1)/2) and hi = w - 1 - lo. w counts the token itself, before the causal test: about w/2 keys are left.
    Positions (RoPE) stay those of the sequence. draw=fresh: an order of its own for each seed, layer and step, and at test time
    for each of the draws 1..8; draw=fixed: that of step 0, always.
    """

    w: int = 16
    draw: str = "fresh"

    content_free = True

    def __post_init__(self):
        at_least(self.name, self.w, 1)
        if self.draw not in ("fresh", "fixed"):
            raise ValueError(f"sa: draw must be fresh or fixed, not {self.draw!r}")

    @property
    def random(self):
        return self.draw == "fresh"

    @classmethod
    def of_window(cls, w):
        return cls(w)

    def fits(self, seq_len):
        within(self.name, self.w, seq_len)

    def masks(self, q, k, draw):
        return [shuffled(self.w, q.shape[-2], k, draw.order(k.shape[-2], fixed=not self.random))]

    def windows(self, k, draw):
        return [of_slots(self.w, k, draw.order(k.shape[-2], fixed=not self.random))]


@register("gated", paper="stochastic attention; two paths of w/2 keys, sigmoid gates that need not sum to 1")
@dataclass(frozen=True)
class Gated(FusedRouting):
    """Stochastic attention and a sliding window of half of w each (odd: the window has one more), each behind a trained gate.

    y_t = sigmoid(A x_t + a) o_sa + sigmoid(C x_t + c) o_swa, a scalar a head and path, a = c = 0 at the start; queries, keys
    and values are the same on both paths.
    """

    w: int = 16

    content_free = True
    random = True

    def __post_init__(self):
        at_least(self.name, self.w, 2)

    @classmethod
    def of_window(cls, w):
        return cls(w)

    def fits(self, seq_len):
        within(self.name, self.w, seq_len)

    def parameters(self, dims):
        maps = {f"{path}_gate": Init((dims.model_dim, dims.num_heads), std=GATE_STD) for path in ("sa", "swa")}
        return maps | {f"{path}_offset": Init((1, 1, dims.num_heads)) for path in ("sa", "swa")}

    def masks(self, q, k, draw):
        return halves(self.w, q.shape[-2], k, draw)

    def windows(self, k, draw):
        from attnprobe.kernels import stochastic

        of_shuffled, of_sliding = stochastic.halves(self.w)
        return [of_slots(of_shuffled, k, draw.order(k.shape[-2])), sliding(of_sliding)]

    def combine(self, p, x, paths):
        gates = ((x.linear(p[f"{path}_gate"]) + p[f"{path}_offset"]).sigmoid() for path in ("sa", "swa"))  # (N, B, T, H) each
        sa, swa = (gate.transpose(2, 3)[..., None] * o for gate, o in zip(gates, paths, strict=True))
        return sa + swa


@register("union", paper="stochastic attention; the two windows of `gated` under one normaliser, for swaps without training")
@dataclass(frozen=True)
class Union(OnePath):
    """The keys of stochastic attention or of a sliding window, half of w each (odd: the window has one more), as one set."""

    w: int = 16

    content_free = True
    random = True

    def __post_init__(self):
        at_least(self.name, self.w, 2)

    @classmethod
    def of_window(cls, w):
        return cls(w)

    def fits(self, seq_len):
        within(self.name, self.w, seq_len)

    def masks(self, q, k, draw):
        sa, swa = halves(self.w, q.shape[-2], k, draw)
        return [sa | swa]


def shuffled(w, T, k, order):
    """The window of w over slots order (N, S), cut to s <= t: (N, 1, 1, T, S) for the last T positions."""
    import torch

    from attnprobe.kernels.stochastic import allowed, window_of

    return allowed(torch.as_tensor(order, device=k.device), window_of(w), T)[:, None, None]


def of_slots(w, k, order):
    """What a fused kernel takes of `shuffled`: the position in each slot (N, 1, S), and how many slots before and after it a query sees."""
    import torch

    from attnprobe.kernels.stochastic import window_of

    return (torch.as_tensor(order.argsort(-1), device=k.device)[:, None],), {"window": window_of(w), "trusted": True}


def halves(w, T, k, draw):
    """The masks of stochastic attention over w // 2 keys and of a sliding window over the rest of w."""
    from attnprobe.kernels import stochastic

    (of_shuffled, of_sliding), S = stochastic.halves(w), k.shape[-2]
    return [shuffled(of_shuffled, T, k, draw.order(S)), back(of_sliding, T, S, k.device)]

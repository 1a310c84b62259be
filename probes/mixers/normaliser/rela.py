"""Rectified linear attention: weights without a sum, and a norm on the output in its place."""

from __future__ import annotations

from dataclasses import dataclass

from attnprobe.probes.mixers.parts import Init, Normaliser, floored_log
from attnprobe.probes.registry import register

INSIDE_ROOT = 1e-6  # of the output's norm


@register("rela", paper="Zhang, Titov & Sennrich 2021; the published gated form is left out")
@dataclass(frozen=True)
class Rela(Normaliser):
    """relu(x), then o / sqrt(mean(o^2) + 1e-6) times a gain: learned, or D^(-1/2) (unit length, ours) where a task trains none."""

    def parameters(self, dims):
        return {"gain": Init((dims.num_heads, 1, dims.head_dim), value=1.0)} if dims.gain else {}

    def __call__(self, p, scores, mask):
        return scores.relu().masked_fill(~mask, 0)

    def log(self, p, scores, mask):
        """Of the row's shares: `finish` removes the scale of the weights, so they are divided by their sum (ours)."""
        weights = self(p, scores, mask)
        total = weights.sum(-1, keepdim=True)
        return floored_log(weights / (total + (total == 0)))

    def finish(self, p, output):
        unit = output.shape[-1] ** -0.5
        gain = p["gain"][:, None] if "gain" in p else unit  # (N, 1, H, 1, D)
        return output * (output.square().mean(-1, keepdim=True) + INSIDE_ROOT).rsqrt() * gain

"""Whether a mechanism is sound, as a list of findings."""

from __future__ import annotations

from attnprobe.probes.checks.case import fitting
from attnprobe.probes.checks.findings import run
from attnprobe.probes.checks.layer import batch, causality, rows, seeds, shapes
from attnprobe.probes.checks.numbers import deterministic, dtypes, extremes, gradients, head_dims
from attnprobe.probes.checks.parts import bias, declared, parameters, weights

CHECKS = {
    "parameters": parameters,
    "shapes": shapes,
    "causality": causality,
    "batch": batch,
    "seeds": seeds,
    "rows": rows,
    "head_dim": head_dims,
    "dtype": dtypes,
    "deterministic": deterministic,
    "gradients": gradients,
    "extremes": extremes,
    "bias": bias,
    "weights": weights,
    "declared": declared,
}


def check_mixer(mixer):
    """The Findings on a MixerSpec. Raises ValueError where no sequence is long enough for its routing."""
    return run(CHECKS, fitting(mixer))

"""Whether a mechanism is sound, as a list of findings."""

from __future__ import annotations

from attnprobe.probes.checks.case import Case, fitting
from attnprobe.probes.checks.findings import FAIL, NOTE, Finding, run
from attnprobe.probes.checks.layer import batch, causality, rows, seeds, shapes
from attnprobe.probes.checks.numbers import deterministic, dtypes, extremes, gradients, head_dims
from attnprobe.probes.checks.parts import bias, declared, parameters, weights

FIRST = {"parameters": parameters, "shapes": shapes, "deterministic": deterministic}
# what compares two calls, and means nothing where two equal calls differ
COMPARING = {"causality": causality, "batch": batch, "seeds": seeds, "rows": rows, "dtype": dtypes, "gradients": gradients}
ONE_CALL = {"head_dim": head_dims, "extremes": extremes, "bias": bias, "weights": weights, "declared": declared}
CHECKS = FIRST | COMPARING | ONE_CALL


def check_mixer(mixer):
    """The Findings on a MixerSpec. Raises ValueError where no sequence is long enough for its routing."""
    case = fitting(mixer)
    found = run(FIRST, case)
    if run({"output": Case.output}, case)[0].status == FAIL:
        return [*found, *(Finding(name, NOTE, "not asked: a call gives no output, see shapes") for name in COMPARING | ONE_CALL)]
    if found[-1].status == FAIL:
        return [
            *found,
            *(Finding(name, NOTE, "not asked: it compares calls, see deterministic") for name in COMPARING),
            *run(ONE_CALL, case),
        ]
    return found + run(COMPARING | ONE_CALL, case)

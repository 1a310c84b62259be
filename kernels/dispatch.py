"""Chooses, once and at construction, between a fused kernel and the reference formula."""

import os

CHOICES = ("auto", "reference", "fused")

# (bias, normaliser, routing) part names -> the fused operator that computes the same attention
FUSED = {}

NATIVE = {("none", "softmax")}  # (bias, normaliser) that torch's own attention computes, on any device
LONG = 64  # positions from which that is the faster: 1.9 times at 128, forward and backward, head dimension 16


def choose(device_type, bias, normaliser, routing, weights_wanted):
    """The fused operator for these parts, or None for the reference formula.

    Args: device_type "cpu" | "cuda"; bias, normaliser, routing: part names; weights_wanted: the caller reads
    attention weights, which no fused operator materialises. The environment variable PROBE_KERNELS forces
    `reference` or `fused`; the latter raises ValueError where it cannot be obeyed.
    """
    if (forced := asked()) == "reference":
        return None
    fused = FUSED.get((bias, normaliser, routing))
    obstacle = (
        f"no fused kernel computes {bias}+{normaliser}+{routing}" if fused is None
        else "a fused kernel needs a CUDA device" if device_type != "cuda"
        else "a fused kernel does not give the attention weights that this task reads" if weights_wanted
        else None
    )  # fmt: skip
    if forced == "fused" and obstacle:
        raise ValueError(f"PROBE_KERNELS=fused cannot be obeyed: {obstacle}; use PROBE_KERNELS=reference")
    return None if obstacle else fused


def native(bias, normaliser, seq_len, weights_wanted):
    """Whether torch's own attention stands in for the reference formula: long sequences, whose weights nobody reads.

    PROBE_KERNELS=reference forbids it.
    """
    return (bias, normaliser) in NATIVE and seq_len >= LONG and not weights_wanted and asked() != "reference"


def asked():
    """What PROBE_KERNELS says."""
    forced = os.environ.get("PROBE_KERNELS", "auto")
    if forced not in CHOICES:
        raise ValueError(f"PROBE_KERNELS must be one of {', '.join(CHOICES)}, not {forced!r}")
    return forced

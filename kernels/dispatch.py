"""Chooses, once and at construction, between a fused kernel and the reference formula."""

import importlib
import os

CHOICES = ("auto", "reference", "fused")

# (bias, normaliser, routing) part names -> the module whose `attention(q, k, v, *fields, scale=, ...)` computes the same, causal
FUSED = {
    ("none", "softmax", "full"): "attnprobe.kernels.softmax.fused",
    ("fox", "softmax", "full"): "attnprobe.kernels.fox.fused",
    ("fpa", "softmax", "full"): "attnprobe.kernels.fpa.fused",
    ("none", "power", "full"): "attnprobe.kernels.power_norm.fused",
    ("none", "power-tau", "full"): "attnprobe.kernels.power_norm.fused",
    ("none", "softmax", "swa"): "attnprobe.kernels.stochastic.fused",
    ("none", "softmax", "sa"): "attnprobe.kernels.stochastic.fused",
    ("none", "softmax", "gated"): "attnprobe.kernels.stochastic.fused",
}

# why a part is in none of them though a kernel is near
UNSERVED = {
    "power-centred": "its threshold is a row's mean, and the kernel takes one of each head",
    "union": "it is two windows under one softmax, and the kernel takes one",
}
TOGETHER = "a kernel is of a bias, a threshold or a window, not of two"

NATIVE = {("none", "softmax")}  # (bias, normaliser) that torch's own attention computes, on any device
LONG = 64  # positions from which that is the faster: 1.9 times at 128, forward and backward, head dimension 16
NO_DEVICE = "a fused kernel needs a CUDA device, or TRITON_INTERPRET=1 on a CPU"


def choose(device_type, bias, normaliser, routing, weights_wanted, unfit=None):
    """The fused module for these parts, or None for the reference formula.

    Args: device_type "cpu" | "cuda"; bias, normaliser, routing: part names; weights_wanted: the caller reads
    attention weights, which no fused operator materialises; unfit: another reason of the caller's, or None. The environment
    variable PROBE_KERNELS forces `reference` or `fused`; the latter raises ValueError where it cannot be obeyed. Triton's
    interpreter runs on a CPU, many times slower than the reference: there alone `fused` means that.
    """
    if (forced := asked()) == "reference" or (forced == "auto" and device_type != "cuda"):
        return None
    fused = FUSED.get((bias, normaliser, routing))
    obstacle = (
        unserved(bias, normaliser, routing) if fused is None
        else NO_DEVICE if not runs_on(device_type)
        else "a fused kernel does not give the attention weights that this task reads" if weights_wanted
        else unfit
    )  # fmt: skip
    if forced == "fused" and obstacle:
        raise ValueError(f"PROBE_KERNELS=fused cannot be obeyed: {obstacle}; use PROBE_KERNELS=reference")
    return None if obstacle else fused


def unserved(*parts):
    """What to say of a bias, normaliser and routing that no kernel computes."""
    alone = all(any(part == served[axis] for served in FUSED) for axis, part in enumerate(parts))
    why = [UNSERVED[part] for part in parts if part in UNSERVED] or [TOGETHER] * alone
    return f"no fused kernel computes {'+'.join(parts)}" + "".join(f" ({reason})" for reason in why)


def operator(module):
    """The operator of a module that `choose` gave."""
    return importlib.import_module(module).attention


def fused_on(device_type):
    """Whether an operator that has a fused kernel for every argument uses it: on CUDA unless PROBE_KERNELS says otherwise."""
    forced = asked()
    if forced == "fused" and not runs_on(device_type):
        raise ValueError(f"PROBE_KERNELS=fused cannot be obeyed: {NO_DEVICE}; use PROBE_KERNELS=reference")
    return forced == "fused" or (forced == "auto" and device_type == "cuda")


def runs_on(device_type):
    """Whether a fused kernel can run on this device: CUDA, or the CPU where triton is interpreted."""
    return device_type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"


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

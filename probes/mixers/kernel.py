"""Attention by a fused kernel in training: which one, and the stack of seeds folded into its batch."""

from __future__ import annotations

from attnprobe.kernels import dispatch

WIDEST = 128  # head dimensions, as kernels.launch says, which loads triton


def chosen(mixer, shape, head_dim, device_type):
    """The module of the fused kernel that a layer trains with, or None. mixer: a MixerSpec; shape: a ModelSpec."""
    width = shape.value_dim or head_dim
    unfit = (
        f"a fused kernel takes values as wide as keys, and here they are {width} and {head_dim}" if width != head_dim
        else f"a fused kernel takes a head_dim of up to {WIDEST}, not {head_dim}" if head_dim > WIDEST
        else None
    )  # fmt: skip
    bias = f"{mixer.bias.name}:{mixer.intervention}" if mixer.intervention else mixer.bias.name
    parts = bias, mixer.normaliser.name, mixer.routing.name
    return dispatch.choose(device_type, *parts, weights_wanted=shape.values != "learned", unfit=unfit)


def modules(task, spec, head_dim, device_type):
    """The modules of every fused kernel that an arm trains with."""
    if not dispatch.fused_on(device_type):
        return []
    return sorted({m for mixer in spec.trained.of_layers(task.layers) if (m := chosen(mixer, task.model, head_dim, device_type))})


def suits(q, batch):
    """Whether a call goes to the kernel that its layer has, else to the formula: not in float64, in which weights are judged, not
    where some position is no key, and not for a last row alone, which costs the formula O(S), unless PROBE_KERNELS=fused asks."""
    import torch

    forced = dispatch.asked() == "fused"
    if forced and not batch.every_key:
        raise ValueError(
            "PROBE_KERNELS=fused cannot be obeyed: some positions of this task are no keys, and a fused kernel is causal over all; "
            "use PROBE_KERNELS=reference"
        )
    return q.dtype != torch.float64 and batch.every_key and (forced or q.shape[-2] > 1)


def attention(operator, q, k, v, fields, settings, scale):
    """The last rows of causal attention: (N, B, H, rows, D).

    Shapes: q (N, B, H, rows, D), k and v (N, B or 1, H, S, D), fields (N, B or 1, ...), what the operator takes after v; settings: its
    keywords. Rows before the last are computed with a query of 0 and left out.
    """
    import torch

    N, B, _, rows, _ = q.shape
    q = torch.nn.functional.pad(q, (0, 0, k.shape[-2] - rows, 0))
    q, k, v, *fields = (x.expand(N, B, *x.shape[2:]).flatten(0, 1) for x in (q, k, v, *fields))
    return operator(q, k, v, *fields, scale=scale, **settings).unflatten(0, (N, B))[..., -rows:, :]

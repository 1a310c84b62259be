"""Traces: the bias and the attention between fixed positions, followed through training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Trace:
    """The mean, over examples, heads and pairs, of a layer's bias and attention from queries[i] to keys[i]; layers count from 1."""

    name: str
    layer: int
    queries: tuple[int, ...]
    keys: tuple[int, ...]


def followed(model, p, batches, draw, traces):
    """`NAME bias`, where the layer has one, and `NAME attention` of each Trace: name -> (N,), the mean over stacked Batches."""
    total, seen = {}, 0
    for batch in batches:
        n = batch.tokens.shape[1]
        for trace in traces:
            found = zip(("bias", "attention"), model.look(p, batch, draw, trace.layer), strict=True)
            for what, value in found:
                if value is not None:
                    cells = value[..., list(trace.queries), list(trace.keys)]  # (N, B, H, pairs)
                    name = f"{trace.name} {what}"
                    total[name] = total.get(name, 0) + cells.mean((1, 2, 3)) * n
        seen += n
    return {name: value / seen for name, value in total.items()}

"""Weights at keys that stand at every third position, as a layer gives them: what readers of the ladder and its kin answer in."""

from __future__ import annotations

NEVER = 1e-30  # a weight whose logarithm is finite


def log_weights(at_keys, seq_len):
    """at_keys (n, H, keys), in proportion to the weights -> their logarithms at every position (n, H, 1, T)."""
    import numpy as np

    weights = np.zeros((*at_keys.shape[:2], 1, seq_len))
    weights[:, :, 0, : 3 * at_keys.shape[2] - 2 : 3] = at_keys / at_keys.sum(-1, keepdims=True)
    return np.log(np.maximum(weights, NEVER))

"""Masked softmax: the definition."""


def masked_softmax(scores, mask):
    """Weights e^{x_s} / sum over allowed s of e^{x_s}; a masked key has weight 0.

    Shapes: scores (..., T, S); mask boolean, broadcastable to it, True = may attend, at least one in each row.
    """
    return scores.masked_fill(~mask, -float("inf")).softmax(-1)  # (..., T, S)


def masked_log_softmax(scores, mask):
    """The logarithm of `masked_softmax`, computed without exponentials of the weights; a masked key has -inf."""
    return scores.masked_fill(~mask, -float("inf")).log_softmax(-1)  # (..., T, S)

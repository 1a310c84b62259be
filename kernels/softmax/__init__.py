"""Masked softmax over the key axis."""

from attnprobe.kernels.softmax.reference import masked_log_softmax, masked_softmax

__all__ = ["masked_log_softmax", "masked_softmax"]

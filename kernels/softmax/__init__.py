"""Masked softmax over the key axis, and attention by it."""

from attnprobe.kernels.softmax.reference import attention, masked_log_softmax, masked_softmax

__all__ = ["attention", "masked_log_softmax", "masked_softmax"]

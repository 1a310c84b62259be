"""FPA's path bias, its sum ablation, and the suffix minimum behind its last row."""

from attnprobe.kernels.fpa.reference import path_bias, path_sum_bias
from attnprobe.kernels.fpa.suffix import suffix_min

__all__ = ["path_bias", "path_sum_bias", "suffix_min"]

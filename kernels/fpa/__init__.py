"""FPA's path bias and its range minimum."""

from attnprobe.kernels.fpa.reference import path_bias, path_sum_bias
from attnprobe.kernels.fpa.tables import range_min, suffix_min

__all__ = ["path_bias", "path_sum_bias", "range_min", "suffix_min"]

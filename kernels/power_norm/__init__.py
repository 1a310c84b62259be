"""The power norm: weights by the tenth power of what a score exceeds a threshold by, silent where none does."""

from attnprobe.kernels.power_norm.reference import GATES, filtered, power_norm

__all__ = ["GATES", "filtered", "power_norm"]

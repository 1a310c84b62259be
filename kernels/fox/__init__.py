"""FoX's forget bias."""

from attnprobe.kernels.fox.reference import forget_bias

__all__ = ["forget_bias"]

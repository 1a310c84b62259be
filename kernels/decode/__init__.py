"""Decoding: one query row at a time against a cache of keys, under softmax, FoX or FPA."""

from attnprobe.kernels.decode.cache import Cache

__all__ = ["Cache"]

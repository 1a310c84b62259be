"""Keeps freed memory in the process: a training step frees what the next one asks for again."""

import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # malloc.h, M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
LARGEST = 2**25  # bytes, the largest threshold that glibc takes: below, memory comes from the heap


def keep_freed_memory():
    """Where the C library is glibc, tell it not to give freed memory back, so that each step does not fault its pages in anew.

    Elsewhere nothing is changed: no result depends on it.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # musl has none
        library.mallopt(TRIM_THRESHOLD, 2**31 - 1)
        library.mallopt(MMAP_THRESHOLD, LARGEST)

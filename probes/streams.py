"""Every random number of the suite comes from a stream named by a seed and a path, and from nothing else."""

import zlib

import numpy as np


def stream(seed, *path):
    """A generator that depends on (seed, path) alone: PCG64 seeded by the crc32 of each path element.

    Args: seed: int >= 0; path: strings or integers, for instance ("train", 3) or ("init", "layer1.key").
    """
    spawn_key = tuple(zlib.crc32(str(part).encode()) for part in path)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=spawn_key)))

"""Streams depend on their name alone."""

import numpy as np

from attnprobe.probes.streams import stream


def test_a_stream_is_named_by_seed_and_path():
    first = stream(3, "train", 0).integers(0, 1 << 30, 8)
    assert np.array_equal(first, stream(3, "train", 0).integers(0, 1 << 30, 8))
    others = [stream(4, "train", 0), stream(3, "train", 1), stream(3, "test"), stream(3, "train"), stream(3, "train", 0, 0)]
    assert all(not np.array_equal(first, other.integers(0, 1 << 30, 8)) for other in others)


def test_a_stream_is_the_one_that_the_definition_names():
    """PCG64(SeedSequence(seed, spawn_key=crc32 of each path element));"""
    import zlib

    key = (zlib.crc32(b"train"), zlib.crc32(b"7"))
    expected = np.random.Generator(np.random.PCG64(np.random.SeedSequence(5, spawn_key=key)))
    assert stream(5, "train", 7).bit_generator.state == expected.bit_generator.state


def test_drawing_from_one_stream_leaves_numpy_s_global_generator_alone():
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    stream(0, "init", "x").standard_normal(100)
    assert np.array_equal(before, np.random.get_state()[1])

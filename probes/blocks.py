"""Training data a block at a time: what one sample() call draws for one seed, the same for every arm."""

from __future__ import annotations

import functools

from attnprobe.probes.streams import stream

BLOCK = 50  # steps whose data one sample() call draws; part of every task's version
KEPT, KEPT_TOKENS = 512, 1 << 17  # blocks that a process keeps for its next arms, and the tokens of the largest that it keeps


@functools.lru_cache(maxsize=KEPT)
def kept_block(task, seed, index, rows):
    """Block `index` of a seed's training data: drawn once for all arms that this process trains."""
    return task.sample(stream(seed, "train", index), rows)


def blocks(task, seeds, index, rows, seq_len):
    """Block `index` of `rows` examples of each seed: numpy Batches, kept where they are small."""
    draw = kept_block if rows * seq_len <= KEPT_TOKENS else kept_block.__wrapped__
    return [draw(task, seed, index, rows) for seed in seeds]

"""The figures of stochastic attention: accuracies of large language models, read on three layers and two tasks of ours, and graphs."""

from attnprobe.probes.papers.figure import COMPUTED, Figure

HEAD_DIM = 16  # of latch and topic
SWAPPED = "Qwen3-30B-A3B without training, window 64: mean accuracy"
TRAINED = "360 M parameters from scratch: mean zero-shot accuracy"
NEEDLE = "one token holds the answer, and MoBA's blocks find it; stochastic attention equals MoBA on diffuse evidence alone"
EASY = "full attention is at the ceiling of this task: nothing can be ahead of it"
OTHER_SIZE = "other tasks and sizes: the accuracies are not meant to agree, the order is"


def figures():
    """Every Figure: training-free swaps, training from scratch, theory."""
    for task in ("topic", "latch"):
        for arm, value, winner in (("rope>sa", 0.732, None), ("rope>swa", 0.470, "rope>sa"), ("rope>moba", 0.663, "rope>sa")):
            note = NEEDLE if (arm, task) == ("rope>moba", "latch") else OTHER_SIZE
            yield figure("swapped in without training", task, arm, value, SWAPPED, winner, note, task == "topic")
    for task in ("topic", "latch"):
        for arm, value, winner in (("rope+gated", 0.359, None), ("rope+swa", 0.351, "rope+gated"), ("rope", 0.349, "rope+gated")):
            note = EASY if arm == "rope" else OTHER_SIZE
            yield figure("trained from scratch", task, arm, value, TRAINED, winner, note, False)
    yield from computed()


def figure(table, task, arm, value, where, winner, note, quick):
    """A Figure of an accuracy."""
    source = f"SA, {where}"
    return Figure("stochastic", table, task, arm, HEAD_DIM, value, None, source, {}, task, "accuracy", winner, note, quick)


def computed():
    """What windows see, and the mean path of a graph of the fly's size."""
    causal = "a causal token meets its neighbour by a direct edge alone: (n / w) ln n layers; O(log n) is of windows without causality"
    for arm, case, value, where, note in (
        ("receptive field of a sliding window", "10 layers of w = 64", 640, "l w", None),
        ("chance of a pair in a layer", "n = 4096, w = 64", 0.015625, "about w / n", None),
        ("layers to full coverage, causal", "n = 16384, w = 64", 2.33, "O(log_w n), read with the constant 1", causal),
        ("mean path, window and shortcuts", "n = 131072, degree 26", 4.4, "the connectome of a fly", None),
    ):
        yield Figure("stochastic", "theory", COMPUTED, arm, None, value, None, f"SA, {where}", case=case, note=note, quick=True)

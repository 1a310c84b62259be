"""What no kernel can beat: time floors on an H200 from its numbers and from the instructions of a compiled hot loop. A prediction.

A pass takes at least what its matrix products, its traffic to memory, its transcendental instructions and the issue of its hot
loop's instructions take, each alone and at full speed, without tails, launches or the tiles at the edge of what is seen counted apart.
What is pruned is counted where no tile is dead, and of a window's two loops the longer.
"""

from dataclasses import dataclass

from attnprobe.kernels.stochastic import window_of

PEAK = 989e12  # dense bf16 operations a second, NVIDIA's data sheet of the H200 SXM
BANDWIDTH = 4.8e12  # bytes a second, the same
PROCESSORS = 132  # multiprocessors
CLOCK = 1.755e9  # a second, under load
ISSUED = 4  # instructions of a warp a clock and multiprocessor
TRANSCENDENTAL = 16  # lanes a clock and multiprocessor
LANES = 32
PRODUCTS = {"forward": 2, "key_gradients": 4, "query_gradients": 3}  # matrix products a pair of positions
ROWS = {"forward": 4, "key_gradients": 6, "query_gradients": 5}  # of D elements read or written a position
SCALARS = {"forward": 1, "key_gradients": 2, "query_gradients": 2}  # of 4 bytes: log-sum-exp, and delta backward
ROWS_OF_NORM = ROWS | {"forward": 6}  # the mean in fp32 too
SCALARS_OF_NORM = {"forward": 3, "key_gradients": 5, "query_gradients": 6}  # top, total, tile, order, index, what `row_terms` makes
FIELDS = {"softmax": 0, "fox": 2, "fpa": 2, "power_norm": 0, "stochastic": 1, "sliding": 0}  # of 4 bytes a position
FIELDS |= {"fox pruned": FIELDS["fox"], "fpa pruned": FIELDS["fpa"]}
TABLES = {"forward": 1, "key_gradients": 2.5, "query_gradients": 2.5}  # a level and position; backward half of the cells is written


@dataclass(frozen=True)
class Shape:
    """B sequences of T positions under H heads of dimension D, causal, or in a window of slots, in elements of two bytes."""

    B: int = 8
    H: int = 12
    T: int = 2048
    D: int = 64
    window: int = 256


def floors(name, use, constants, options, shape):
    """{mma, memory, mufu, issue, floor} in microseconds and what `bound`s it, or None for a kernel that is no pass.

    Args: name: "fpa key_gradients"; use: what `compile.measured` found; constants, options: those of its listing.
    """
    kind, _, step = name.rpartition(" ")
    if step not in PRODUCTS or kind not in FIELDS or not use["loop"]:
        return None
    heads = shape.B * shape.H
    rows, columns = tile(constants)
    pairs = heads * seen(shape.T, kind, shape.window)
    warps = pairs / (rows * columns) * options.get("num_warps", 4)  # iterations of the loop, times warps
    levels = (shape.T - 1).bit_length() if kind.startswith("fpa") else 0
    of_rows, scalars = (ROWS_OF_NORM, SCALARS_OF_NORM) if kind == "power_norm" else (ROWS, SCALARS)
    moved = 2 * of_rows[step] * shape.D + 4 * (scalars[step] + FIELDS[kind] + TABLES[step] * levels)
    found = {
        "mma": 2 * PRODUCTS[step] * shape.D * pairs / PEAK,
        "memory": heads * shape.T * moved / BANDWIDTH,
        "mufu": warps * use["mufu"] * LANES / TRANSCENDENTAL / PROCESSORS / CLOCK,
        "issue": warps * use["loop"] / ISSUED / PROCESSORS / CLOCK,
    }
    bound = max(found, key=found.get)
    return {part: 1e6 * seconds for part, seconds in found.items()} | {"floor": 1e6 * found[bound], "bound": bound}


def seen(T, kind, window):
    """Pairs a head: of all slots within the window, and s <= t where there is none, or where it is the positions before a query."""
    sides = window_of(window) if kind == "stochastic" else (window - 1, 0) if kind == "sliding" else (T - 1, 0)
    left, right = (min(side, T - 1) for side in sides)
    return T * (left + right + 1) - left * (left + 1) / 2 - right * (right + 1) / 2


def tile(constants):
    """Rows and columns of the pairs that one iteration of the loop covers."""
    sizes = [constants[name] for name in ("M", "N") if name in constants]
    return sizes[0], sizes[-1]


def ratios(rows):
    """Predicted ratios of two kinds' floors, [{kind, over, head_dim, forward, both}], from rows {kernel, head_dim, floors}."""
    sums = {}
    for row in rows:
        if row["floors"]:
            kind, _, step = row["kernel"].rpartition(" ")
            sums.setdefault((row["head_dim"], kind), {})[step] = row["floors"]["floor"]
    return [
        {"kind": kind, "over": over, "head_dim": D, "forward": ratio(own, of, ["forward"]), "both": ratio(own, of, PRODUCTS)}
        for (D, kind), own in sums.items()
        for over in ("softmax", "fox")
        if kind not in (over, "softmax") and (of := sums.get((D, over)))
    ]


def ratio(own, of, steps):
    """The ratio of the sums over steps."""
    return sum(own[step] for step in steps) / sum(of[step] for step in steps)

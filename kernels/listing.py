"""What the compile gate is told of a kernel: its name, how it is launched, and the types of its arguments.

A fused module (`*/fused*.py`) defines `kernels(head_dim, dtype)`, which yields one Listed for each kernel it launches.
"""

import re
from dataclasses import dataclass, field

from attnprobe.kernels import launch, loop

BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}
OF_DTYPE = {"Q", "K", "V", "O", "REST", "DO", "DQ", "DK", "DV"}
LISTS = dict.fromkeys(("AT", "FIRST", "ALIVE", "COUNT"), "*i32")
SMALL = {"H", "GROUP", "LEVELS"}


@dataclass(frozen=True)
class Listed:
    """A kernel as it is launched at one head dimension and dtype.

    constants: its constexprs; options: num_warps and num_stages; types: of the arguments whose names do not tell, as
    triton writes them ("*i32", "i32"; "i32:16" is a multiple of 16).
    """

    name: str
    kernel: object
    constants: dict
    options: dict = field(default_factory=dict)
    types: dict = field(default_factory=dict)

    def type_of(self, name, dtype):
        """The type of an argument: T, P and strides are multiples of 16, other integers need not be, pointers are to fp32 or q's dtype."""
        if name in self.types:
            return self.types[name]
        if name in OF_DTYPE:
            return "*" + dtype
        if name in SMALL:
            return "i32"
        if name in ("T", "P") or re.fullmatch("s[qkvogd][bht]", name):
            return "i32:16"
        return "fp32" if name.startswith("scale") else "*fp32"


def of_loop(name, kind, head_dim, dtype, skip=False, exact=True):
    """The three passes of the loop with one KIND of bias; skip: walking lists of live tiles; exact: as in `loop.lean`."""
    tiles = launch.tiles_for(head_dim, BYTES[dtype])
    shape = {"D": head_dim, "WIDE": launch.wide(head_dim), "KIND": kind, "WIDEN": False, "SKIP": skip}
    ahead = {"M": tiles.queries, "N": tiles.keys, "WITHIN": launch.log2(tiles.queries), "ROUNDED": dtype != "fp32"}
    within, back = {"WITHIN": launch.log2(tiles.block), "EXACT": exact}, backward_options(tiles)
    yield Listed(f"{name} forward", loop.forward, shape | ahead, forward_options(tiles), LISTS)
    yield Listed(f"{name} key_gradients", loop.key_gradients, shape | within | {"N": tiles.block}, back, LISTS)
    yield Listed(f"{name} query_gradients", loop.query_gradients, shape | within | {"M": tiles.block}, back, LISTS)


def of_row_dots(head_dim, dtype):
    """The pass over rows that every softmax shares."""
    block = launch.tiles_for(head_dim, BYTES[dtype]).block
    constants = {"D": head_dim, "WIDE": launch.wide(head_dim), "M": block, "ROUNDED": dtype != "fp32"}
    yield Listed("row_dots", loop.row_dots, constants)


def forward_options(tiles):
    return {"num_warps": tiles.forward_warps, "num_stages": tiles.forward_stages}


def backward_options(tiles):
    return {"num_warps": tiles.backward_warps, "num_stages": tiles.backward_stages}

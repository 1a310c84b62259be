"""Cross-compiles the fused kernels for GPUs that need not be there, and holds what comes out to a budget.

`python -m attnprobe.kernels.compile` compiles for sm_80 and sm_90 with the tools inside triton's wheel and prints, of each kernel,
registers a thread, bytes of stack and of shared memory, and of its hot loop the instructions a warp: all, those on the matrix
units, special functions (mufu), asynchronous copies and spills. Nothing runs, so nothing is timed. Exit 1: a hot loop spills,
shared memory exceeds the GPU's, or the loop is longer than budget.json, our own measurements, allows. Another minor version of
triton makes other loops: their lengths are printed and not held to the budget. Addresses, T and strides are compiled as multiples
of 16.

Which kernels there are, and how each is launched, its own fused module says (`listing`).
"""

import argparse
import importlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

os.environ.pop("TRITON_INTERPRET", None)  # the interpreter's kernels cannot be compiled
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # a multiplication and an addition are one instruction, in every version

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from attnprobe.kernels.listing import BYTES
from attnprobe.kernels.versions import numbers

TOOLS = Path(triton.__file__).parent / "backends/nvidia/bin"
SHARED = {80: 163 * 1024, 90: 227 * 1024}  # bytes a block may have
COLUMNS = ("registers", "stack", "shared", "loop", "mma", "mufu", "async", "spills")
COUNTED = {"mma": ("HMMA", "HGMMA", "DMMA"), "spills": ("LDL", "STL"), "mufu": ("MUFU",), "async": ("LDGSTS", "UBLKCP")}
SLACK = 1.1  # a longer loop by more than this fails: another ptxas schedules a few per cent differently


def main():
    parser = argparse.ArgumentParser(
        prog="python -m attnprobe.kernels.compile", description="Cross-compile the fused kernels, without a GPU."
    )
    parser.add_argument("--arch", type=int, choices=SHARED, action="append", help="80 or 90; both unless given")
    parser.add_argument("--all", action="store_true", help="every dtype and head dimensions 16, 64, 128, instead of bf16 and 64")
    parser.add_argument("--kernel", metavar="TEXT", default="", help="only kernels whose names contain this: `fpa forward`")
    parser.add_argument("--write-budget", action="store_true", help="write the loop lengths found as the new budget")
    chosen = parser.parse_args()
    allowed = json.loads(resources.files("attnprobe.kernels").joinpath("budget.json").read_text())
    held = numbers(triton.__version__) == numbers(allowed["triton"])
    if chosen.write_budget and not held and (chosen.arch or chosen.kernel or not chosen.all):
        parser.error(f"--write-budget would mix triton {triton.__version__} with the budget's {allowed['triton']}: measure --all, alone")
    print(heading(triton.__version__, allowed["triton"]))
    print(f"{'kernel':<44}{'budget':>8}" + "".join(f"{column:>{len(column) + 3}}" for column in COLUMNS))
    cases = itertools.product(chosen.arch or SHARED, BYTES if chosen.all else ("bf16",), (16, 64, 128) if chosen.all else (64,))
    failures = []
    for arch, dtype, head_dim in cases:
        for listed in kernels(head_dim, dtype):
            if chosen.kernel not in listed.name:
                continue
            label = f"sm_{arch} {dtype} {head_dim} {listed.name}"
            use = measured(listed, dtype, arch)
            if chosen.write_budget:
                allowed["loops"][label] = use["loop"]
            budget = allowed["loops"].get(label)
            failures += [f"{label}: {reason}" for reason in broken(use, budget, SHARED[arch], held)]
            found = "".join(f"{use[column]:>{len(column) + 3}}" for column in COLUMNS)
            print(f"{label:<44}{'-' if budget is None else budget:>8}{found}", flush=True)
    if chosen.write_budget:
        text = json.dumps(allowed | {"triton": triton.__version__}, indent=1) + "\n"
        Path(__file__).with_name("budget.json").write_text(text)
    for failure in failures:
        print(f"failed: {failure}")
    sys.exit(1 if failures else 0)


def heading(ours, budgets):
    """What is held against what, in one line."""
    if numbers(ours) == numbers(budgets):
        return f"triton {ours}; loops are held to a budget measured with triton {budgets}"
    return f"triton {ours}; loops are NOT held to the budget, which is triton {budgets}'s: spills, shared memory and compiling are"


def broken(use, budget, shared, held=True):
    """Why a kernel that uses this much is refused; held: whether its loop's length counts."""
    if use["spills"]:
        yield f"{use['spills']} spills in the hot loop"
    if use["shared"] > shared:
        yield f"{use['shared']} bytes of shared memory, of {shared}"
    if held and budget is None:
        yield "no budget; measure one by --write-budget"
    elif held and use["loop"] > SLACK * budget:
        yield f"{use['loop']} instructions in the hot loop, of {budget} and a tenth"
    elif budget and not use["loop"]:
        yield f"no hot loop found, of {budget} instructions by the budget"


def kernels(head_dim, dtype):
    """Every Listed of every fused module at this head dimension."""
    folder = Path(__file__).parent
    for path in sorted(folder.glob("*/fused*.py")):
        yield from importlib.import_module(f"attnprobe.kernels.{path.parent.name}.{path.stem}").kernels(head_dim, dtype)


def measured(listed, dtype, arch):
    """What one compiled kernel uses: registers, stack, shared, and loop, mma, spills of its hot loop (0 where it has none)."""
    kernel, constants, options = listed.kernel, listed.constants, listed.options
    types = {name: "constexpr" if name in constants else listed.type_of(name, dtype) for name in kernel.arg_names}
    signature = {name: kind.removesuffix(":16") for name, kind in types.items()}
    aligned = [(at,) for at, kind in enumerate(types.values()) if kind[0] == "*" or kind.endswith(":16")]
    attributes = {at: [["tt.divisibility", 16]] for at in aligned}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    binary = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernel.cubin"
        cubin.write_bytes(binary.asm["cubin"])
        usage, listing = tool("cuobjdump", "--dump-resource-usage", cubin), tool("nvdisasm", "-c", cubin)
    registers, stack = re.search(r"REG:(\d+).*?STACK:(\d+)", usage).groups()
    body = hot_loop(listing)
    count = {name: sum(opcode.startswith(kinds) for opcode in body) for name, kinds in COUNTED.items()}
    return {"registers": int(registers), "stack": int(stack), "shared": binary.metadata.shared, "loop": len(body)} | count


def tool(name, *arguments):
    return subprocess.run([TOOLS / name, *arguments], capture_output=True, text=True, check=True).stdout


def hot_loop(listing):
    """The opcodes of the innermost loop with the most instructions on the matrix units, then the most; nothing where no loop is.

    A branch to itself, which ends every kernel, is no loop.
    """
    opcodes, labels, loops = [], {}, []
    for line in map(str.strip, listing.splitlines()):
        if label := re.match(r"(\.L_x_\d+):", line):
            labels[label[1]] = len(opcodes)
        elif found := re.match(r"/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([\w.]+)(.*);", line):
            opcodes.append(found[1])
            target = re.search(r"\.L_x_\d+", found[2])
            if found[1].startswith("BRA") and target and labels.get(target[0], len(opcodes)) < len(opcodes) - 1:
                loops.append((labels[target[0]], len(opcodes)))
    inner = [(a, b) for a, b in loops if not any(a <= c and d <= b and (c, d) != (a, b) for c, d in loops)]
    bodies = [opcodes[a:b] for a, b in inner]
    return max(bodies, key=lambda body: (sum(opcode.startswith(COUNTED["mma"]) for opcode in body), len(body)), default=[])


if __name__ == "__main__":
    main()

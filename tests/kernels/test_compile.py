"""The compile gate: what it reads of a listing, what it refuses, and that every fused kernel passes it without a GPU."""

import subprocess
import sys

import pytest

FUSED = {"softmax", "fox", "fpa", "power_norm", "stochastic", "sliding"}
LISTING = """
.L_x_0:
        /*0000*/                   LDG.E R1, desc[UR4][R2.64] ;
.L_x_1:
        /*0010*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;
        /*0020*/                   STL [R1+0x4], R5 ;
        /*0030*/              @!P0 MUFU.EX2 R6, R6 ;
        /*0040*/               @P1 BRA `(.L_x_1) ;
.L_x_2:
        /*0050*/                   FADD R1, R1, R2 ;
        /*0060*/               @P2 BRA `(.L_x_2) ;
        /*0070*/               @P3 BRA `(.L_x_0) ;
        /*0080*/                   EXIT ;
.L_x_3:
        /*0090*/                   BRA `(.L_x_3);
"""
SCRIPT = """
import sys
from attnprobe.kernels import compile
listing = sys.stdin.read()
print(*compile.hot_loop(listing))
print(*compile.hot_loop(listing.replace("HMMA", "FFMA").replace("FADD", "HFMA2.MMA")))  # moves a constant, on no matrix unit
use = {"spills": 0, "shared": 100, "loop": 110}
for changed, budget in (({}, 100), ({"loop": 111}, 100), ({"spills": 1}, 100), ({"shared": 101}, 100), ({"loop": 0}, 100), ({}, None)):
    print(*compile.broken(use | changed, budget, 100), sep="; ")
"""
OTHER_VERSION = """
from attnprobe.kernels import compile
for ours in ("3.9.1", "3.6.0", "3.10.0"):
    print(compile.heading(ours, "3.9.0"))
use = {"spills": 0, "shared": 100, "loop": 200}
for changed, budget in (({}, 100), ({}, None), ({"spills": 1}, 100), ({"shared": 101}, 100), ({"loop": 0}, 100)):
    print(*compile.broken(use | changed, budget, 100, held=False), sep="; ")
compile.triton.__version__ = "3.6.0"
compile.sys.argv[1:] = ["--write-budget", "--arch", "90", "--all"]
compile.main()
"""


def test_the_hot_loop_is_the_innermost_one_with_matrix_instructions_and_each_excess_is_named():
    """In a process of its own: the compiler and the interpreter cannot share one."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], input=LISTING, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "HMMA.16816.F32.BF16 STL MUFU.EX2 BRA",
        "FFMA.16816.F32.BF16 STL MUFU.EX2 BRA",
        "",
        "111 instructions in the hot loop, of 100 and a tenth",
        "1 spills in the hot loop",
        "101 bytes of shared memory, of 100",
        "no hot loop found, of 100 instructions by the budget",
        "no budget; measure one by --write-budget",
    ]


def test_another_version_of_triton_is_said_and_only_the_lengths_of_loops_are_let_go():
    done = subprocess.run([sys.executable, "-c", OTHER_VERSION], capture_output=True, text=True)
    assert done.returncode == 2
    assert "--write-budget would mix triton 3.6.0 with the budget's 3.9.0: measure --all, alone" in done.stderr
    assert done.stdout.splitlines() == [
        "triton 3.9.1; loops are held to a budget measured with triton 3.9.0",
        "triton 3.6.0; loops are NOT held to the budget, which is triton 3.9.0's: spills, shared memory and compiling are",
        "triton 3.10.0; loops are NOT held to the budget, which is triton 3.9.0's: spills, shared memory and compiling are",
        "",
        "",
        "1 spills in the hot loop",
        "101 bytes of shared memory, of 100",
        "no hot loop found, of 100 instructions by the budget",
    ]


def plain(line):
    """Whether a kernel has no products of matrices."""
    return {"row_dots", "row_terms", "table", "combine"} & set(line)


@pytest.mark.slow
def test_every_fused_kernel_compiles_for_sm_80_and_sm_90_within_its_budget():
    done = subprocess.run([sys.executable, "-m", "attnprobe.kernels.compile"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("sm_")]
    assert {line[0] for line in lines} == {"sm_80", "sm_90"}
    assert {line[3] for line in lines if not plain(line)} == FUSED
    assert all(int(line[-4]) > 0 for line in lines if not plain(line)), "each uses the matrix units"
    assert all(int(line[-2]) > 0 for line in lines if "pruned" in line), "lists leave the asynchronous copies in"

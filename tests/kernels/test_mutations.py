"""The tests of the Triton loop notice when it is wrong: each of these faults, put into a copy of it, makes a few of them fail."""

import subprocess
import sys
from pathlib import Path

import pytest

from attnprobe.kernels import loop

HERE = Path(__file__).parent
TESTS = [
    *(f"test_fused.py::test_output_and_every_gradient_equal_float64[100-16-{kind}]" for kind in ("softmax", "fox", "fpa")),
    "test_fused.py::test_special_fields_equal_float64[rising-wide queries]",
    "test_skip.py::test_output_and_gradients_are_those_of_the_function_without_the_dead_tiles[fpa-wide queries]",
    "test_skip.py::test_tiles_without_a_bias_beside_dead_and_mixed_ones_change_nothing[wide queries]",
]
SCRIPT = """
import importlib.util, os, sys
os.environ["TRITON_INTERPRET"] = "1"
import attnprobe.kernels, pytest
spec = importlib.util.spec_from_file_location("attnprobe.kernels.loop", sys.argv[1])
sys.modules[spec.name] = attnprobe.kernels.loop = loop = importlib.util.module_from_spec(spec)
spec.loader.exec_module(loop)
sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *sys.argv[2:]]))
"""
GATE = "passed = tl.where(depth < 0.0, ds, 0.0)"
FAULTS = {  # what stands in the loop, what is put in the place of its n-th occurrence
    "share swapped": ("tl.exp2(other - own)", "tl.exp2(own - other)", 0),
    "gate of the keys dropped": (GATE, "passed = ds", 0),
    "gate of the keys' own block dropped": (GATE, "passed = ds", 1),
    "gate of the queries dropped": (GATE, "passed = ds", 2),
    "level off by one, forward": ("LOWEST + (run + WITHIN) * P", "LOWEST + (run + WITHIN - 1) * P", 0),
    "level off by one, keys": ("level = (run + WITHIN) * P", "level = (run + WITHIN - 1) * P", 0),
    "level off by one, queries": ("level = (run + WITHIN) * P", "level = (run + WITHIN - 1) * P", 1),
    "levels within a block off by one": ("for l in range(WITHIN):", "for l in range(WITHIN - 1):", 0),
    "run of keys off by one": ("stop = start + (((i >> l) & 1) << l)", "stop = start + (((i >> l) & 1) << l) - 1", 0),
    "run of queries off by one": ("stop = blocks", "stop = blocks - 1", 0),
    "dyadic run of queries off by one": ("((1 - ((j >> l) & 1)) << l), blocks)", "((1 - ((j >> l) & 1)) << l), blocks - 1)", 0),
    "list off by one": ("start = tl.load(FIRST + run)", "start = tl.load(FIRST + run) + 1", 0),
    "list of tiles without a bias off by one, forward": ("tl.load(COUNT + bh * (P // M) + i)", "tl.load(COUNT + bh * (P // M) + i) - 1", 0),
    "list of tiles without a bias off by one, keys": ("tl.load(COUNT + bh * (P // N) + j)", "tl.load(COUNT + bh * (P // N) + j) - 1", 0),
    "list of tiles without a bias off by one, queries": ("tl.load(COUNT + bh * (P // M) + i)", "tl.load(COUNT + bh * (P // M) + i) - 1", 1),
    "rescale of the output dropped": ("out * kept[:, None]", "out", 0),
    "rescale of the total dropped": ("total * kept", "total", 0),
    "own key masked, forward": ("t[:, None] >= s[None, :]", "t[:, None] > s[None, :]", 0),
    "order compare flipped, keys": ("s[None, :] >= s[:, None]", "s[None, :] <= s[:, None]", 0),
    "order compare flipped, queries": ("t[:, None] >= t[None, :]", "t[:, None] <= t[None, :]", 0),
    "row dots dropped, keys": ("- delta[None, :]", "", 0),
    "row dots dropped, queries": ("- delta[:, None]", "", 0),
    "outer minimum dropped": ("tl.minimum(tl.load(level + s) - psi, 0.0)", "tl.load(level + s) - psi", 0),
    "roles of the cells swapped": ("& 1) == OF_QUERY", "& 1) != OF_QUERY", 0),
    "gradient of the level not summed over runs": ("given += opened", "given = opened", 0),
    "forget bias reversed": ("f_t[:, None] - tl.load(F + s)[None, :] - lse", "tl.load(F + s)[None, :] - f_t[:, None] - lse", 0),
    "scale of dk wrong": ("dk * scale", "dk * scale2", 0),
}


def with_fault(source, old, new, at):
    """The source with its `at`-th `old` made `new`."""
    pieces = source.split(old)
    assert len(pieces) > at + 1, f"the loop no longer holds {old!r} {at + 1} times"
    return old.join(pieces[: at + 1]) + new + old.join(pieces[at + 1 :])


def run_with(source, folder):
    """The exit status of the tests with this text as the loop."""
    (folder / "loop.py").write_text(source)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, folder / "loop.py", *(f"{HERE}/{test}" for test in TESTS)], capture_output=True, text=True
    )
    return done.returncode, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.slow
def test_a_copy_of_the_loop_without_a_fault_passes(tmp_path):
    status, said = run_with(Path(loop.__file__).read_text(), tmp_path)
    assert status == 0, said
    assert f"{len(TESTS)} passed" in said


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_in_the_loop_is_noticed(fault, tmp_path):
    status, said = run_with(with_fault(Path(loop.__file__).read_text(), *FAULTS[fault]), tmp_path)
    assert status == 1, said
    assert "1 failed" in said, said
    assert "AssertionError" in said or "assert " in said, said

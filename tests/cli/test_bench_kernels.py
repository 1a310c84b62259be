"""`probe bench kernels` without a GPU: what is compiled is told, nothing is timed, and bad options are refused in one line."""

import json
import os
import subprocess
import sys
from io import StringIO

import pytest
import torch
from rich.console import Console

from attnprobe.cli import bench_tables

PLAIN = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}


def run(*options, **environment):
    """In a process of its own: the compiler and the interpreter cannot share one."""
    command = [sys.executable, "-m", "attnprobe.cli", "bench", "kernels", *options]
    return subprocess.run(command, capture_output=True, text=True, env=PLAIN | environment)


@pytest.mark.slow
def test_without_a_gpu_every_kernel_is_compiled_and_no_row_carries_a_time():
    done = run("--head-dim", "64", "--length", "1024", "--dead", "0.5", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["device"] is None
    kernels = {row["kernel"]: row for row in found["compiled"]}
    assert {"fpa forward", "fox key_gradients", "fpa decode_partials", "table mass_cells"} <= set(kernels)
    assert kernels["fpa forward"]["floors"]["floor"] > kernels["softmax forward"]["floors"]["floor"] > 0
    assert all(kernels[name]["async"] > 0 for name in ("fpa forward", "fpa decode_partials")), "keys are loaded ahead"
    assert {row["kind"] for row in found["predicted"]} == {"fox", "fox pruned", "fpa", "fpa pruned", "power_norm", "stochastic", "sliding"}
    assert {row["provider"] for row in found["timed"]} >= {
        "sdpa flash",
        "flex fpa",
        "fpa pruned",
        "selective",
        "power norm",
        "sa",
        "swa",
        "gated",
    }
    assert all(row["measured"] is False and row["why"] == "no CUDA device" and "median" not in row for row in found["timed"])


BESIDE = """
import json
from attnprobe.cli.bench_kernels import beside, compiled_at
rows, done = beside([16], lambda: "done")
print(json.dumps([rows, done, compiled_at(16)]))
"""


@pytest.mark.slow
def test_a_session_compiles_beside_what_it_checks():
    """In a process that can compile; a second time, the compiler finds what it wrote."""
    done = subprocess.run([sys.executable, "-c", BESIDE], capture_output=True, text=True, env=PLAIN)
    assert done.returncode == 0, done.stderr
    beside, work, alone = json.loads(done.stdout)
    assert beside == alone
    assert work == "done"
    assert {row["head_dim"] for row in beside} == {16}


REFUSED = {
    "--session measures on a GPU, and there is no CUDA device": ["--session"],
    "--length must be from 64 to 131072, not 5": ["--length", "5"],
    "--dead must be from 0 to 0.99, not 1.0": ["--dead", "1"],
    "--head-dim must be 16, 32, 64 or 128": ["--head-dim", "48"],
    "--minutes must be from 0 to 60, not 100": ["--minutes", "100"],
    "--rounds must be from 1 to 1000, not 0": ["--rounds", "0"],
}


@pytest.mark.parametrize("message", REFUSED)
def test_bad_options_are_refused_in_one_line(message):
    if "--session" in REFUSED[message] and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = run(*REFUSED[message])
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_interpreted_triton_is_refused():
    done = run("--static", TRITON_INTERPRET="1")
    assert done.returncode == 2
    assert "TRITON_INTERPRET=1 is set" in done.stderr


USE = {"loop": 348, "registers": 120, "spills": 0, "stack": 0, "shared": 65536, "mma": 8, "mufu": 34, "async": 4}
FOUND = {
    "torch": "2", "triton": "3", "device": "a GPU",
    "predicted": [{"kind": "fpa", "over": "fox", "head_dim": 64, "forward": 1.24, "both": 1.73}],
    "compiled": [
        {"kernel": "softmax forward", "head_dim": 64, **USE, "floors": {"floor": 73.9, "bound": "issue"}},
        {"kernel": "row_dots", "head_dim": 64, **USE, "floors": None},
    ],
    "checked": [{"provider": "fpa", "of": "d phi", "T": T, "D": 64, "measured": True, "error": e} for T, e in ((129, 1e-3), (520, 2e-3))],
    "swept": [
        {"provider": "fpa", "mode": "both", "D": 64, "tiles": {"queries": 128, "keys": 64}, "measured": True, "median": 0.5},
    ],
    "timed": [
        {"provider": "fpa", "mode": "both", "T": 2048, "D": 64, "dead_tiles": 0.9, "measured": True, "median": 1.25, "p20": 1, "p80": 2,
         "peak_bytes": 2**21, "of_softmax": 2.0, "of_fox": 1.5, "of_fpa": 1.0},
        {"provider": "fpa pruned", "mode": "both", "T": 2048, "D": 64, "dead_tiles": 0.9, "measured": True, "median": 0.25, "p20": 1,
         "p80": 2, "peak_bytes": 2**22, "of_softmax": 0.4, "of_fox": 0.3, "of_fpa": 0.2},
        {"provider": "selective", "mode": "both", "T": 32768, "D": 64, "measured": False, "why": "a mask of pairs takes 64 GiB here"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("width", [80, 120])
def test_what_a_gpu_measured_is_shown_ratios_first_and_whole(width, monkeypatch):
    out = StringIO()
    monkeypatch.setattr(bench_tables, "console", lambda: Console(width=width, file=out))
    bench_tables.show(FOUND)
    text = out.getvalue()
    assert "…" not in text
    assert all(len(line) <= width for line in text.splitlines())
    rows = [line.split() for line in text.splitlines()]
    assert ["fpa", "/", "fox", "64", "1.24", "1.73"] in rows
    assert ["fpa", "d", "phi", "2.0e-03"] in rows
    assert ["fpa", "both", "64", "128x64", "0.500"] in rows
    assert "forward and backward, T 2048, D 64, dead tiles 0.90" in text
    assert ["provider", "/", "softmax", "/", "fox", "/", "fpa", "ms", "MiB"] in rows
    assert ["fpa", "2.00", "1.50", "1.00", "1.250", "2"] in rows
    assert ["fpa", "pruned", "0.40", "0.30", "0.20", "0.250", "4"] in rows
    assert "timed: 1 of 3 rows not measured: a mask of pairs takes 64 GiB here" in text
    assert any(row[:5] == ["softmax", "forward", "64", "74", "issue"] for row in rows)

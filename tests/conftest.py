"""One thread for every numerical library, in the tests and in what they start: more gain nothing here. Triton is interpreted."""

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
os.environ.setdefault("TRITON_INTERPRET", "1")  # read when triton is imported; =0 on a machine with a GPU runs the kernels there

import pytest  # noqa: E402 - after the threads are set

RECORDED = {
    "versions": {"python": "3.11.7", "attnprobe": "0.1.0", "torch": "2.13.0", "numpy": "2.4.6"},
    "threads": 1,
    "host": "here",
    "date": "2026-11-30T05:00:00+00:00",
    "stack_size": 1,
    "seconds": 0.25,
}


@pytest.fixture
def fill():
    """fill(root, task, "fpa@4", {seed: score of the task's metric, or None for a failed seed}) stores results without training."""
    from attnprobe.cli.inputs import arm
    from attnprobe.probes.store import Store, identity

    def write(root, task, text, values, recipe=None, date=RECORDED["date"], **more):
        store, one = Store(root), arm(text, task.head_dim)
        for seed, value in values.items():
            score = {} if value is None else {task.metric: value, **({"realised": 0.5} if task.sets else {}), **more}
            solved = value is not None and (value <= task.threshold if task.better == "low" else value >= task.threshold)
            result = {
                "seed": seed,
                "status": "failed" if value is None else "solved" if solved else "unsolved",
                "score": score,
                "steps": 800,
                "losses": [[50, 1.0], [800, 0.5]],
                "curve": [],
                "traces": {},
                "data_hash": f"{seed:064x}",
                "head": None,
                "failure": {"quantity": "loss", "step": 7} if value is None else None,
            }
            named = identity(task, one.spec, one.head_dim, recipe or task.recipe, seed, "float32", "cpu")
            store.save(named, result, RECORDED | {"date": date})
        return root

    return write


@pytest.fixture
def fill_older(fill, monkeypatch):
    """`fill`, of other code than today's."""
    from attnprobe.probes import store

    def write(*given, **more):
        with monkeypatch.context() as patch:
            patch.setattr(store, "digest", lambda *modules: "1" * 64)
            return fill(*given, **more)

    return write


@pytest.fixture
def nothing_stays_loaded():
    """Files that a test loads are forgotten after it."""
    from attnprobe.probes.loading import forget

    yield
    forget()

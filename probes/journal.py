"""Journal: what is written down of each seed in training, and the results of those that are done."""

from __future__ import annotations

import hashlib
import math


class Journal:
    """Losses, curves, traces, data hashes and results of the seeds of one training, judged under `specs`.

    first_norms: seed -> norm of the first step's gradient, before the clip; results: spec -> seed -> result.
    """

    def __init__(self, seeds, specs):
        self.order = tuple(seeds)
        self.hashes = {seed: hashlib.sha256() for seed in seeds}
        self.losses, self.curves = ({seed: [] for seed in seeds} for _ in "ab")
        self.traces = {seed: {} for seed in seeds}
        self.first_norms = {}
        self.results = {spec: {} for spec in specs}

    def saw(self, seed, batch):
        """Take a seed's data hash on by one numpy Batch."""
        for array in batch.arrays():
            self.hashes[seed].update(array.tobytes())

    def traced(self, seeds, found, step):
        """Add what was followed at a step: name -> (N,)."""
        for name, values in found.items():
            for seed, value in zip(seeds, values.tolist(), strict=True):
                self.traces[seed].setdefault(name, []).append([step, value])

    def finish(self, spec, seed, status, score, steps, head=None, failure=None):
        """Write down a seed's result under one of the specs."""
        self.results[spec][seed] = {
            "seed": seed,
            "status": status,
            "score": score,
            "steps": steps,
            "losses": finite(self.losses[seed]),
            "curve": [] if spec.swap else finite(self.curves[seed]),  # swapped weights are looked at once, when judged
            "traces": {name: finite(points) for name, points in self.traces[seed].items()},
            "data_hash": self.hashes[seed].hexdigest(),
            "head": head,
            "failure": failure,
        }

    def fail(self, seed, step, quantity):
        """A seed's result, under every spec, where a quantity was not finite at a step."""
        for spec in self.results:
            self.fail_under(spec, seed, step, quantity)

    def fail_under(self, spec, seed, step, quantity):
        """The same under one of the specs."""
        self.finish(spec, seed, "failed", {}, step, failure={"step": step, "quantity": quantity})

    def in_order(self):
        """spec -> results in the order of the seeds."""
        return {spec: [found[seed] for seed in self.order] for spec, found in self.results.items()}


def finite(points):
    """[[step, value], ...] with None for what is not finite."""
    return [[at, value if math.isfinite(value) else None] for at, value in points]

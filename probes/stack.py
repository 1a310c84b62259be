"""The parameters of stacked seeds: one flat row a seed, of which every named parameter is a view."""

from __future__ import annotations

import math

from attnprobe.probes.streams import stream


def draw(init, seed, name):
    """The initial value of one parameter of one seed: a float32 numpy array that depends on (seed, name, init) alone."""
    import numpy as np

    if not init.std:
        return np.full(init.shape, init.value, dtype=np.float32)
    value = stream(seed, "init", name).standard_normal(init.shape, dtype=np.float32) * np.float32(init.std)
    return value / np.linalg.norm(value, axis=-1, keepdims=True) if init.unit else value


class Stack:
    """Values and gradients (N, P) of N seeds; `parameters` maps names to leaf views (N, *shape), and to frozen tables.

    One row a seed makes the per-seed gradient norm, the clip, Adam and leaving one operator each, whatever the arm.
    Frozen parameters stand beside the rows: neither gradient nor optimiser sees them, and they leave with their seed.

    Args: inits: name -> Init; seeds: seed ids; device; dtype of the values (initial values are float32 draws).
    """

    def __init__(self, inits, seeds, device, dtype):
        import numpy as np
        import torch

        self.seeds = tuple(seeds)
        self.inits = {name: init for name, init in inits.items() if not init.frozen}
        self.frozen = {
            name: torch.from_numpy(np.stack([draw(init, seed, name) for seed in self.seeds])).to(device, dtype)
            for name, init in inits.items()
            if init.frozen
        }
        rows = [np.concatenate([draw(init, seed, name).ravel() for name, init in self.inits.items()]) for seed in self.seeds]
        self.bind(torch.from_numpy(np.stack(rows)).to(device, dtype))

    def bind(self, values):
        """Make `values` (N, P) the rows, and the trained parameters views of them."""
        import torch

        self.values = torch.nn.Parameter(values)
        self.values.grad = torch.empty_like(values)
        rows = self.values.detach().split([math.prod(init.shape) for init in self.inits.values()], 1)
        self.trained = {
            name: row.view(-1, *init.shape).requires_grad_() for (name, init), row in zip(self.inits.items(), rows, strict=True)
        }

    @property
    def parameters(self):
        """Name -> (N, *shape) of every parameter, trained or frozen."""
        return self.trained | self.frozen

    def backward(self, loss):
        """The gradient of each seed's loss (N,) into its row of `values.grad`; a parameter that loss does not reach gets 0."""
        import torch

        gradients = torch.autograd.grad(loss.sum(), list(self.trained.values()), materialize_grads=True)
        torch.cat([g.reshape(len(g), -1) for g in gradients], 1, out=self.values.grad)

    def clip(self, limit):
        """Scale each seed's gradient to norm at most `limit`; returns the norms before (N,)."""
        import torch

        norms = torch.linalg.vector_norm(self.values.grad, dim=1)
        self.values.grad.mul_((limit / (norms + 1e-8)).clamp(max=1)[:, None])
        return norms

    def keep(self, mask, optimiser):
        """Drop the seeds where mask (N,) is False, from values, frozen tables, gradients and the optimiser's state alike."""
        state = optimiser.state.pop(self.values, {})
        self.seeds = tuple(seed for seed, stays in zip(self.seeds, mask.tolist(), strict=True) if stays)
        self.frozen = {name: table[mask] for name, table in self.frozen.items()}
        self.bind(self.values.data[mask])
        optimiser.param_groups[0]["params"] = [self.values]
        if state:
            optimiser.state[self.values] = {
                name: value[mask] if value.dim() else value for name, value in state.items()
            }  # exp_avg, exp_avg_sq have a row a seed; the step counter is common

    def copy(self, dtype):
        """The parameters as tensors of another dtype that take no gradient."""
        return {name: p.detach().to(dtype) for name, p in self.parameters.items()}

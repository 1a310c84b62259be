"""What is benchmarked: a case, and the inputs that it stands for."""

from dataclasses import dataclass, replace

import torch

from attnprobe.kernels.bench.fields import field

BLOCK = 64  # rows and columns of the tiles that a dead share is of


@dataclass(frozen=True)
class Case:
    """A shape, a dtype, and the share of FPA's tiles that is dead."""

    B: int
    H: int
    T: int
    D: int
    dead: float = 0.0
    dtype: torch.dtype = torch.bfloat16
    device: str = "cuda"


@dataclass(frozen=True)
class Inputs:
    """q, k, v, do (B, H, T, D), fields (B, H, T) in fp32, beta (H,)."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    do: torch.Tensor
    log_f: torch.Tensor
    phi: torch.Tensor
    psi: torch.Tensor
    beta: torch.Tensor


def inputs(case, seed=0):
    """Inputs of a case, every tensor but do a leaf that takes a gradient."""
    generator = torch.Generator(case.device).manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=case.device)

    q, k, v, do = (normal(case.B, case.T, case.H, case.D).to(case.dtype).transpose(1, 2) for _ in range(4))
    log_f = torch.nn.functional.logsigmoid(normal(case.B, case.H, case.T) + 4)
    fields = field(case.B, case.H, case.T, BLOCK, case.dead, generator)
    return Inputs(q.requires_grad_(), k.requires_grad_(), v.requires_grad_(), do, *(x.requires_grad_() for x in (log_f, *fields)))


def detached(x):
    """The inputs without gradients."""
    return replace(x, **{name: value.detach() for name, value in vars(x).items()})

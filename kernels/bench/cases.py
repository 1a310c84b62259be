"""What is benchmarked: a case, and the inputs that it stands for."""

from dataclasses import dataclass, replace

import torch

from attnprobe.kernels.bench.fields import field

BLOCK = 64  # rows and columns of the tiles that a dead share is of
TAU = -2.0  # the power norm's threshold, where pn_fir_tau's starts


@dataclass(frozen=True)
class Case:
    """A shape, a dtype, the share of FPA's tiles that is dead, and the slots that a window has."""

    B: int
    H: int
    T: int
    D: int
    dead: float = 0.0
    dtype: torch.dtype = torch.bfloat16
    device: str = "cuda"
    window: int = 256


@dataclass(frozen=True)
class Inputs:
    """q, k, v, do (B, H, T, D); in fp32 fields (B, H, T), beta and tau (H,), gates (2, B, H, T); perm (T,); window, a number of slots."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    do: torch.Tensor
    log_f: torch.Tensor
    phi: torch.Tensor
    psi: torch.Tensor
    beta: torch.Tensor
    tau: torch.Tensor
    gates: torch.Tensor
    perm: torch.Tensor
    window: int

    def of(self, change):
        """These, with each tensor of floating-point numbers changed."""
        numbers = {name: x for name, x in vars(self).items() if torch.is_tensor(x) and x.is_floating_point()}
        return replace(self, **{name: change(x) for name, x in numbers.items()})


def inputs(case, seed=0):
    """Inputs of a case, every tensor of floating-point numbers but do a leaf that takes a gradient."""
    generator = torch.Generator(case.device).manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=case.device)

    q, k, v, do = (normal(case.B, case.T, case.H, case.D).to(case.dtype).transpose(1, 2) for _ in range(4))
    log_f = torch.nn.functional.logsigmoid(normal(case.B, case.H, case.T) + 4)
    fields = field(case.B, case.H, case.T, BLOCK, case.dead, generator)
    tau = torch.full((case.H,), TAU, device=case.device)
    gates = torch.rand(2, case.B, case.H, case.T, generator=generator, device=case.device)
    perm = torch.randperm(case.T, generator=generator, device=case.device)
    leaves = (x.requires_grad_() for x in (log_f, *fields, tau, gates))
    return Inputs(q.requires_grad_(), k.requires_grad_(), v.requires_grad_(), do, *leaves, perm, case.window)


def detached(x):
    """The inputs without gradients."""
    return x.of(torch.Tensor.detach)

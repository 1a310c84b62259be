"""Fields of which a given share of tiles is dead: FPA's speed depends on its data, so a benchmark names and computes it."""

import torch

from attnprobe.kernels.fpa.sparse_table import levels_for, lowest_table

CLOSED = -10.0  # a bias below this closes a key for good: e^-10 of its weight is left
DIP = 100.0


def field(B, H, T, block, dead, generator):
    """phi, psi (B, H, T) and beta (H,) of 1, on the generator's device: about a share `dead` of the tiles of block^2 pairs is dead.

    A deep dip stands at the start of every segment of blocks but the first, so that no query attends across it; within a segment
    keys are open, mixed and a little closed. Segments are as equal as blocks allow; `dead_share` says what came out.
    """
    n = -(-T // block)
    length = 1 + (1 - dead) * (n - 1)  # of a segment: then (n / length) length (length - 1) / 2 tiles of n (n - 1) / 2 are not dead
    starts = sorted({round(i * length) for i in range(1, n)} & set(range(1, n)))

    def noise():
        return torch.randn(B, H, T, generator=generator, device=generator.device)

    phi = 0.5 * noise()
    phi[..., [start * block for start in starts]] = -DIP
    return phi, 0.5 * noise() - 1.0, torch.ones(H, device=generator.device)


def dead_share(phi, psi, beta, block, threshold=CLOSED):
    """The share of tiles of block^2 pairs off the diagonal in which every bias is below the threshold; 0 where there is none.

    Shapes: phi, psi (B, H, T), beta (H,). The largest minimum of a tile is that of its shortest range, from its last key to its
    first query, and the bias is at most beta times what that exceeds the lowest level by.
    """
    T = phi.shape[-1]
    n = -(-T // block)
    if n < 2:
        return 0.0
    lowest = lowest_table(phi, levels_for(T))  # (B, H, L, T)
    later, earlier = torch.tril_indices(n, n, -1, device=phi.device)
    t, s = later * block, earlier * block + block - 1
    level = torch.tensor([(a ^ b).bit_length() - 1 for a, b in zip(t.tolist(), s.tolist(), strict=True)], device=phi.device)
    m = torch.minimum(lowest[..., level, t], lowest[..., level, s])  # (B, H, tiles)
    levels = torch.nn.functional.pad(psi, (0, n * block - T), value=float("inf")).unflatten(-1, (n, block)).amin(-1)
    return float((beta[:, None] * (m - levels[..., earlier]) < threshold).double().mean())

"""Tiles of FPA's scores by what their corners prove of the whole: ALIVE, MIXED or DEAD.

The ranges (s, t] of a tile are nested: the smallest runs from its last key to its first query, the largest from its first key to
its last query. So m, a minimum over the range, is highest over the tile at the first corner and lowest at the second, and two
look-ups each bound the bias beta min(0, m - psi_s) from above and below, with the lowest and the highest level of the tile's keys.
"""

import torch

from attnprobe.kernels import skip

ALIVE, MIXED, DEAD = 0, 1, 2  # no bias at all; neither proven; a bias below the threshold in every pair


def tiles_of(lowest, psi, beta, problem, prune):
    """The class of every larger tile (`skip.larger`) before the diagonal, MIXED elsewhere: (B, H, I, J) int.

    lowest (B, H, L, P), psi (B, H, P) and beta (B, H) as the loop reads them; prune <= 0 in nats. Tiles beyond T are MIXED.
    """
    (queries, keys), T = skip.larger(problem.tiles), problem.q.shape[2]
    first, last, before = (x.to(psi.device) for x in skip.corners(problem.tiles, psi.shape[-1]))
    smallest = between(lowest, last, first)
    largest = between(lowest, last - keys + 1, (first + queries - 1).clamp(max=T - 1))
    by_key = psi.unflatten(-1, (-1, keys))
    upper = beta[..., None, None] * (smallest - by_key.amin(-1)[..., None, :])  # (B, H, I, J)
    alive = largest >= by_key.amax(-1)[..., None, :]
    found = torch.where(upper < prune, DEAD, torch.where(alive, ALIVE, MIXED))
    return torch.where(before & (first < T)[:, None], found, MIXED)


def between(lowest, s, t):
    """The minimum over (s, t] for s (J,) and t (I,), what it is where s >= t is nobody's: (B, H, I, J)."""
    t = t[:, None]
    apart = (s ^ t).clamp(min=1)
    l = (apart[..., None] >> torch.arange(1, lowest.shape[-2] + 1, device=s.device) > 0).sum(-1)  # the highest set bit
    return torch.minimum(lowest[:, :, l, t.expand_as(l)], lowest[:, :, l, s.expand_as(l)])

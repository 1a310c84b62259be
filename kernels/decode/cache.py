"""A cache of keys and values for decoding, with what each query head's bias needs of a key, and without the keys it has closed.

FoX keeps F_s, FPA the level psi_s and the depth r_s = min(0, min_{s<u<=t} phi_u - psi_s), a float each a key and query head.
Neither bias, F_t - F_s or beta r_s, ever rises, so a key below a threshold stays below: evicting it is final.
"""

import torch

from attnprobe.kernels import dispatch
from attnprobe.kernels.decode import checks, reference
from attnprobe.kernels.fpa.suffix import suffix_min

INF = float("inf")
BEGIN = 64  # keys that an empty cache has room for; it doubles when full


class Cache:
    """Keys and values of B growing sequences, each of its own length.

    kept (B, G): keys held a sequence and head of keys; lengths (B,): tokens seen. The computation is the reference or the
    fused kernel, as `dispatch` says. No gradient flows through a cache.
    """

    def __init__(self, k, v, lengths, bias="none", fields=(), beta=None):
        """Start from prompts that were attended to already.

        Shapes: k and v (B, G, S, D), positions from lengths[b] on are padding; lengths (B,) integers from 0 to S; fields of the
        bias, each (B, H, S): log_f <= 0 for "fox", phi and psi for "fpa"; beta positive, broadcastable to (B, H), for "fpa".
        """
        checks.prompt(k, v, lengths, bias, fields, beta)
        self.fused = dispatch.fused_on(k.device.type)
        if self.fused:
            checks.fits(k)
        self.bias, self.beta, self.heads = bias, None, fields[0].shape[1] if fields else None
        self.lengths = lengths.long().clone()
        self.kept = self.lengths[:, None].expand(k.shape[:2]).clone()
        self.most = int(self.kept.max())  # keys that some head may hold; what follows counts on without asking the device
        self.k, self.v = k.clone(memory_format=torch.contiguous_format), v.clone(memory_format=torch.contiguous_format)
        self.level = self.depth = self.now = None
        fields = [x.float() for x in fields]
        padding = torch.arange(k.shape[2], device=k.device) >= self.lengths[:, None, None]
        if bias == "fox":
            self.level = fields[0].masked_fill(padding, 0).cumsum(-1).contiguous()
            self.now = torch.nn.functional.pad(self.level, (1, 0))[..., -1]  # 0 where there is no token yet
        if bias == "fpa":
            phi, self.level = fields[0], fields[1].clone(memory_format=torch.contiguous_format)
            later = suffix_min(phi.masked_fill(padding, INF), soft=False) if k.shape[2] else phi
            self.depth = -(self.level - later).relu()
            self.beta = torch.as_tensor(beta, device=k.device).float().expand(phi.shape[:2]).contiguous()

    @classmethod
    def empty(cls, B, G, H, D, bias="none", beta=None, *, dtype=torch.float32, device="cpu"):
        """No keys yet: B sequences, G heads of keys, H query heads, G dividing H, head dimension D."""
        checks.sizes(B, G, H, D, bias)
        k, v = (torch.empty(B, G, 0, D, dtype=dtype, device=device) for _ in range(2))
        fields = [torch.empty(B, H, 0, device=device) for _ in checks.names(bias)]
        return cls(k, v, torch.zeros(B, dtype=torch.long, device=device), bias, fields, beta)

    @property
    def capacity(self):
        """Keys that there is room for."""
        return self.k.shape[2]

    @torch.no_grad()
    def step(self, q, k, v, *fields, scale=None, splits=None):
        """Append one token to every sequence and give its row: q (B, H, D), k and v (B, G, D), fields (B, H) each -> (B, H, D)."""
        checks.step(self, q, k, v, fields, scale, splits)
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        self.append(k, v, [x.float() for x in fields])
        if self.fused:
            from attnprobe.kernels.decode import fused

            return fused.attention(
                q, self.k, self.v, self.kept, self.bias, self.level, self.depth, self.now, self.beta, scale=scale, splits=splits
            )
        if self.bias == "fpa":
            self.depth = reference.lowered(self.depth, self.level, self.now, self.kept)
        return reference.attention(q, self.k, self.v, self.kept, self.biases(), scale)

    def append(self, k, v, fields):
        """Write a token behind the keys that its sequence holds."""
        if self.most == self.capacity:
            self.grow(max(BEGIN, 2 * self.capacity))
        self.most += 1
        b = torch.arange(k.shape[0], device=k.device)[:, None]
        self.k[b, torch.arange(k.shape[1], device=k.device), self.kept] = k
        self.v[b, torch.arange(k.shape[1], device=k.device), self.kept] = v
        if fields:
            h = torch.arange(fields[0].shape[1], device=k.device)
            at = reference.by_query_head(self.kept, fields[0])
            if self.bias == "fox":
                self.now = self.now + fields[0]
                self.level[b, h, at] = self.now
            else:
                self.now = fields[0].contiguous()
                self.level[b, h, at] = fields[1]
                self.depth[b, h, at] = 0
        self.kept += 1
        self.lengths += 1

    def biases(self):
        """The bias of every key for the newest token's row: (B, H, S), or 0 for softmax; beyond `kept` anything."""
        if self.bias == "none":
            return 0.0
        return self.now[..., None] - self.level if self.bias == "fox" else self.beta[..., None] * self.depth

    @torch.no_grad()
    def evict(self, threshold):
        """Forget the keys whose bias is below threshold < 0 for every query head that reads them; how many, (B, G).

        A row o then errs by at most 2 max |v| times the weight that it would give them: e^threshold times what a key with the
        same score and no bias gets, for each. The bias never rises, so a key that is forgotten would have stayed closed.
        """
        checks.threshold(self.bias, threshold)
        G = self.kept.shape[1]
        held = torch.arange(self.capacity, device=self.k.device) < self.kept[..., None]  # (B, G, S)
        dead = (self.biases() < threshold).unflatten(1, (G, -1)).all(2) & held
        stays = held & ~dead
        order = stays.byte().argsort(dim=-1, descending=True, stable=True)  # (B, G, S)
        self.k, self.v = (x.gather(2, order[..., None].expand_as(x)) for x in (self.k, self.v))
        by_head = reference.by_query_head(order, self.level)
        self.level = self.level.gather(2, by_head)
        self.depth = None if self.depth is None else self.depth.gather(2, by_head)
        self.kept = stays.sum(-1)
        self.most = int(self.kept.max())
        return dead.sum(-1)

    def grow(self, capacity):
        """Make room for so many keys."""

        def longer(x):
            return None if x is None else torch.cat([x, x.new_zeros(*x.shape[:2], capacity - x.shape[2], *x.shape[3:])], 2)

        self.k, self.v, self.level, self.depth = map(longer, (self.k, self.v, self.level, self.depth))

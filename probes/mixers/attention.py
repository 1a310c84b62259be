"""The one formula: every mechanism is a key filter, a position, a bias, a normaliser and a routing."""

from __future__ import annotations

from attnprobe.kernels import dispatch
from attnprobe.probes.mixers import kernel
from attnprobe.probes.mixers.intervention import Intervened
from attnprobe.probes.mixers.parts import Init

AXES = ("key_filter", "position", "bias", "normaliser", "routing")
ORACLE_WIDTH = 64  # two hidden layers, the same for every arm


def scoped(p, prefix):
    """The parameters whose names start with `prefix.`, under the rest of their names."""
    return {name[len(prefix) + 1 :]: tensor for name, tensor in p.items() if name.startswith(prefix + ".")}


class Attention:
    """One attention layer of stacked seeds.

    Args: mixer: a MixerSpec; dims: Dims; shape: a ModelSpec; device_type "cpu" | "cuda".
    Called as attention(p, x, batch, draw, rows): p its parameters; x the layer's input; rows: how many of the last positions
    are queries. Returns (N, B, rows, M), or where the model has no values the log weights (N, B, H, rows, S), or where values
    are the input itself (N, B, rows, M + S), each row's output and then its weights.
    """

    def __init__(self, mixer, dims, shape, device_type):
        self.dims, self.shape = dims, shape
        self.parts = {axis: getattr(mixer, axis) for axis in AXES}
        if mixer.intervention:
            self.parts["bias"] = Intervened(mixer.bias, mixer.intervention, shape.own)
        self.key_filter, self.position, self.bias, self.normaliser, self.routing = self.parts.values()
        self.only_keys = self.key_filter.pointwise and self.routing.content_free  # nothing reads what is no key
        self.scale = shape.score_scale or dims.head_dim**-0.5
        if self.bias.every_row and shape.query == "oracle":
            raise ValueError(f"{self.bias.name} reads the scores of every row, and an oracle gives the last row alone a query")
        weights_wanted = shape.values != "learned"
        names = [part.name for part in (self.bias, self.normaliser)]
        fused = kernel.chosen(mixer, shape, dims.head_dim, device_type)
        self.operator = dispatch.operator(fused) if fused else None
        plain = self.native if dispatch.native(*names, shape.seq_len, weights_wanted) else self.reference
        self.attend = {"none": self.log_weights, "identity": self.seen}.get(shape.values, plain)

    def parameters(self):
        """Name -> Init of every parameter of the layer."""
        M, H, D = self.dims.model_dim, self.dims.num_heads, self.dims.head_dim
        seen = self.shape.seen_width
        own = {"key": Init((seen, H * D), std=self.shape.key_std)}
        if self.shape.query == "oracle":
            for h in range(H):
                own |= {f"oracle{h}.{name}": init for name, init in oracle_parameters(self.shape.oracle_bits, D).items()}
        else:
            own["query"] = Init((seen, H * D), std=self.shape.key_std)
        if self.shape.query_bias:
            own["query_bias"] = Init((1, 1, H * D))
        if self.shape.values == "learned":
            own["value"] = Init((seen, H * (self.shape.value_dim or D)), std=self.shape.init_std)
        if self.shape.projects:
            own["output"] = Init((H * (self.shape.value_dim or D), M), std=self.shape.output_std)
        for axis, part in self.parts.items():
            own |= {f"{axis}.{name}": init for name, init in part.parameters(self.dims).items()}
        return own

    def __call__(self, p, x, batch, draw, rows):
        computed = x.length if self.bias.every_row else rows
        q, k, v = self.project(p, x, batch, computed)
        q, k = self.position(scoped(p, "position"), q, self.key_filter(scoped(p, "key_filter"), k))
        if self.operator and kernel.suits(q, batch):
            paths = self.fused(p, q, k, v, x, draw)
        else:
            paths = [self.attend(p, q, k, v, x, mask & batch.keys, draw) for mask in self.routing.masks(q, k, draw)]
        return self.out(p, self.routing.combine(scoped(p, "routing"), x.last(computed), paths))[..., -rows:, :]

    def project(self, p, x, batch, rows):
        """q (N, B, H, rows, D), k (N, B or 1, H, S, D), and v (N, B, H, S, value_dim), or None where the model has no values."""
        x = x.columns(self.shape.content)
        q = self.oracle(p, batch.side["bits"]) if self.shape.query == "oracle" else self.token_query(p, x.last(rows))
        return q, self.heads((x.keys() if self.only_keys else x).linear(p["key"])), self.values(p, x)

    def token_query(self, p, x):
        """The query of each token: (N, B, H, rows, D)."""
        q = x.linear(p["query"])
        return self.heads(q + p["query_bias"] if self.shape.query_bias else q)

    def values(self, p, x):
        """v (N, B, H, S, D): a linear map of the input, the input itself (N, B, 1, S, M), or None."""
        if self.shape.values == "learned":
            return self.heads(x.linear(p["value"]))
        if self.shape.values == "none":
            return None
        v = x.dense()[:, :, None]
        if self.shape.valueless:
            v[..., : self.shape.valueless, :] = 0
        return v

    def heads(self, y):
        """(N, B, T, H D) -> (N, B, H, T, D)."""
        return y.unflatten(-1, (self.dims.num_heads, -1)).transpose(2, 3)

    def oracle(self, p, bits):
        """The query an oracle gives: bits (N, B, P) -> (N, B, H, 1, D) by one MLP a head."""
        import torch

        z = bits.to(p["key"].dtype) * 2 - 1
        return torch.stack([oracle_query(scoped(p, f"oracle{h}"), z) for h in range(self.dims.num_heads)], 2)[..., None, :]

    def scores(self, p, q, k, x, draw):
        """scale q k^T + bias, less the task's shift: (N, B, H, T, S)."""
        scores = content(self.scale * q, k)
        scores = scores + self.bias(scoped(p, "bias"), x, scores, draw)
        return scores - self.shape.score_shift if self.shape.score_shift else scores

    def reference(self, p, q, k, v, x, mask, draw):
        """Attention by the formula: (N, B, H, T, D)."""
        own = scoped(p, "normaliser")
        return self.normaliser.finish(own, self.normaliser(own, self.scores(p, q, k, x, draw), mask) @ v)

    def native(self, p, q, k, v, x, mask, draw):
        """Softmax attention without bias by torch's own operator: (N, B, H, T, D)."""
        from attnprobe.kernels.softmax import attention

        return attention(q, k, v, mask, self.scale)

    def fused(self, p, q, k, v, x, draw):
        """Causal attention by the layer's kernel along each path of the routing: (N, B, H, T, D) each."""
        fields = self.bias.fields(scoped(p, "bias"), x)
        own, settings = self.normaliser.settings(scoped(p, "normaliser"), self.shape.score_shift)
        return [
            kernel.attention(self.operator, q, k, v, (*fields, *own, *order), settings | window, self.scale)
            for order, window in self.routing.windows(k, draw)
        ]

    def log_weights(self, p, q, k, v, x, mask, draw):
        """Where the model has no values, the logarithm of the weights: (N, B, H, T, S)."""
        return self.normaliser.log(scoped(p, "normaliser"), self.scores(p, q, k, x, draw), mask)

    def seen(self, p, q, k, v, x, mask, draw):
        """Where values are the input itself, output and weights side by side: (N, B, 1, T, M + S)."""
        import torch

        own = scoped(p, "normaliser")
        weights = self.normaliser(own, self.scores(p, q, k, x, draw), mask)
        return torch.cat([self.normaliser.finish(own, weights @ v), weights], -1)

    def out(self, p, y):
        """Heads joined and projected: (N, B, H, T, D) -> (N, B, T, M), or (N, B, T, H D) for a model that reads them as they are;
        log weights, and the one head without W_O, pass."""
        if self.shape.values == "none":
            return y
        if self.shape.values == "identity":
            return y[:, :, 0]
        N, B, H, T, D = y.shape
        joined = y.transpose(2, 3).reshape(N, B * T, H * D)
        return (joined @ p["output"] if self.shape.projects else joined).view(N, B, T, -1)

    def look(self, p, x, batch, draw):
        """The bias (N, B, H, T, S) of every row, None where there is none, and the weights, several paths combined."""
        q, k, _ = self.project(p, x, batch, x.length)
        q, k = self.position(scoped(p, "position"), q, self.key_filter(scoped(p, "key_filter"), k))
        scores, own = self.scores(p, q, k, x, draw), scoped(p, "normaliser")
        weights = [self.normaliser(own, scores, mask & batch.keys) for mask in self.routing.masks(q, k, draw)]
        bias = self.bias(scoped(p, "bias"), x, content(self.scale * q, k), draw).expand_as(scores) if self.bias.adds else None
        return bias, self.routing.combine(scoped(p, "routing"), x, weights)

    def head(self, p, x, batch, draw):
        """What decides the last row besides the query: scaled keys with positions applied (N, B or 1, H, S, D), offsets (N, B, H, S)."""
        q, k, _ = self.project(p, x, batch, rows=1)
        q, k = self.position(scoped(p, "position"), q, self.key_filter(scoped(p, "key_filter"), k))
        scores = content(self.scale * q, k)
        offsets = self.bias(scoped(p, "bias"), x, scores, draw).expand_as(scores)
        return self.scale * k, offsets[..., 0, :]


def content(q, k):
    """q k^T: (N, B, H, T, D), (N, B or 1, H, S, D) -> (N, B, H, T, S); one product a seed and head where B is 1."""
    if k.shape[1] > 1:
        return q @ k.mT
    B, T = q.shape[1], q.shape[3]
    scores = q.transpose(1, 2).flatten(2, 3) @ k[:, 0].mT  # (N, H, B T, S)
    return scores.unflatten(2, (B, T)).transpose(1, 2)


def oracle_parameters(bits, D):
    """An MLP bits -> 64 -> 64 -> D, weights N(0, 1 / fan_in), biases 0."""
    W = ORACLE_WIDTH
    return {
        "w1": Init((bits, W), std=bits**-0.5),
        "c1": Init((1, W)),
        "w2": Init((W, W), std=W**-0.5),
        "c2": Init((1, W)),
        "w3": Init((W, D), std=W**-0.5),
        "c3": Init((1, D)),
    }


def oracle_query(p, z):
    """z (N, B, P) in {-1, 1} -> (N, B, D)."""
    import torch

    hidden = torch.baddbmm(p["c1"], z, p["w1"]).relu()
    hidden = torch.baddbmm(p["c2"], hidden, p["w2"]).relu()
    return torch.baddbmm(p["c3"], hidden, p["w3"])

"""Tiny decoders of stacked seeds, built from a task's ModelSpec: embed -> layers of (attention, MLP) -> readout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attnprobe.probes.mixers.attention import Attention, scoped
from attnprobe.probes.mixers.parts import Dims, Init
from attnprobe.probes.mixers.stream import Dense, Lookup, Mixture


@dataclass(frozen=True)
class Seen:
    """What a layer with identity values gives: output (N, B, T', M), weights (N, B, T', S), table (N, V, M), the embedding."""

    output: Any
    weights: Any
    table: Any


class Model:
    """ModelSpec + Spec + head_dim as a function of (parameters, batch, draw).

    Args: shape: ModelSpec; spec: Spec; head_dim: D; device: a torch device.
    """

    def __init__(self, shape, spec, head_dim, device):
        import torch

        self.shape, self.device = shape, torch.device(device)
        dims = Dims(
            shape.width,
            head_dim,
            shape.num_heads,
            shape.field_std,
            shape.forget,
            shape.level,
            gain=shape.values == "learned",
            pair_std=shape.pair_std,
            pair=shape.pair,
        )
        self.layers = [Attention(mixer, dims, shape, self.device.type) for mixer in spec.of_layers(shape.layers)]
        self.random = any(layer.routing.random for layer in self.layers)
        self.features = {}

    def parameters(self):
        """Name -> Init of every parameter, trained or frozen, the same names in every arm for the same role."""
        shape, M = self.shape, self.shape.width
        inits = {}
        if shape.embedding == "learned":
            inits["embedding"] = Init((shape.vocab_size, M // (1 + shape.paired)), std=shape.init_std)
        if shape.embedding == "frozen":
            inits["embedding"] = Init((shape.vocab_size, M), std=1.0, frozen=True, unit=True)
        if shape.positions == "learned":
            inits["positions"] = Init((shape.seq_len, M), std=shape.init_std)
        for i, layer in enumerate(self.layers, 1):
            inits |= {f"layer{i}.{name}": init for name, init in layer.parameters().items()}
            if shape.mlp:
                inits[f"layer{i}.mlp.w1"] = Init((M, shape.mlp), std=shape.init_std)
                inits[f"layer{i}.mlp.c1"] = Init((1, shape.mlp))
                inits[f"layer{i}.mlp.w2"] = Init((shape.mlp, M), std=shape.output_std)
                inits[f"layer{i}.mlp.c2"] = Init((1, M))
        if shape.projects:
            inits["readout"] = Init((M, shape.classes), std=shape.init_std)
        if shape.readout == "mlp":
            inits |= {f"reader.{name}": init for name, init in reader_parameters(shape).items()}
        return inits

    def __call__(self, p, batch, draw):
        """p: name -> (N, ...); batch: stacked Batch; draw(layer) -> Draw. Returns log weights, logits or Seen, see ModelSpec."""
        if self.shape.values == "none":
            return self.layers[0](scoped(p, "layer1"), self.embed(p, batch), batch, draw(1), self.shape.rows)
        if self.shape.values == "identity":
            seen = self.layers[0](scoped(p, "layer1"), self.embed(p, batch), batch, draw(1), self.shape.rows)
            return Seen(*seen.split([self.shape.width, batch.tokens.shape[2]], -1), p["embedding"])
        if self.shape.readout == "mlp":
            x, rows = self.embed(p, batch), self.shape.rows
            means = self.layers[0](scoped(p, "layer1"), x, batch, draw(1), rows)
            return reader(scoped(p, "reader"), means, x.last(rows))
        h = self.residual(p, batch)
        for i in range(1, len(self.layers)):
            h = self.block(i, p, h, batch, draw, self.shape.seq_len)
        h = self.block(len(self.layers), p, h, batch, draw, self.shape.rows, scored=batch.scored)
        return Dense(norm(h)).linear(p["readout"])

    def block(self, i, p, h, batch, draw, rows, scored=None):
        """Layer i and its MLP on the residual stream h (N, B, T, M): (N, B, rows, M), the last positions, or of these the scored ones."""
        own = scoped(p, f"layer{i}")
        h = h[:, :, -rows:] + self.layers[i - 1](own, Dense(norm(h)), batch, draw(i), rows)
        if scored is not None:
            h = at_positions(h, scored - (self.shape.seq_len - rows))
        return h + mlp(scoped(own, "mlp"), norm(h)) if self.shape.mlp else h

    def look(self, p, batch, draw, layer):
        """The bias and the weights of a layer, counted from 1, of a model with a residual stream; see Attention.look."""
        h = self.residual(p, batch)
        for i in range(1, layer):
            h = self.block(i, p, h, batch, draw, self.shape.seq_len)
        return self.layers[layer - 1].look(scoped(p, f"layer{layer}"), Dense(norm(h)), batch, draw(layer))

    def head(self, p, batch, draw):
        """Keys (N, B, H, S, D) and offsets (N, B, H, S) of a one-layer model's last row."""
        return self.layers[0].head(scoped(p, "layer1"), self.embed(p, batch), batch, draw(1))

    def embed(self, p, batch):
        """The first layer's input as rows of a table."""
        import torch

        if self.shape.embedding != "features":
            x = Lookup(p["embedding"], batch.tokens, batch.key_tokens)
            if not self.shape.mixed:
                return x
            mix = batch.side["mix"]
            return Mixture(x, Lookup(p["embedding"], mix, mix), batch.side["amount"])
        dtype = p["layer1.key"].dtype
        if dtype not in self.features:
            self.features[dtype] = torch.as_tensor(self.shape.features, dtype=dtype, device=self.device)
        return Lookup(self.features[dtype], batch.tokens, batch.key_tokens)

    def residual(self, p, batch):
        """The residual stream before the first layer: (N, B, T, M)."""
        import torch

        h = self.embed(p, batch).dense()
        if self.shape.paired:
            beside = batch.side["beside"]
            h = torch.cat([h, Lookup(p["embedding"], beside, beside).dense()], -1)
        return h + p["positions"][:, None] if self.shape.positions == "learned" else h


def at_positions(h, at):
    """h (N, B, T, M) at the positions at (K,), or (N, B, K) where they differ by example: (N, B, K, M)."""
    return h.index_select(2, at) if at.dim() == 1 else h.gather(2, at[..., None].expand(-1, -1, -1, h.shape[3]))


def norm(h):
    """LayerNorm without affine parameters."""
    import torch

    return torch.nn.functional.layer_norm(h, h.shape[-1:])


def mlp(p, h):
    """Linear, GELU, linear: (N, B, T, M) -> (N, B, T, M)."""
    import torch

    N, B, T, M = h.shape
    hidden = torch.nn.functional.gelu(torch.baddbmm(p["c1"], h.reshape(N, B * T, M), p["w1"]))
    return torch.baddbmm(p["c2"], hidden, p["w2"]).view(N, B, T, M)


def reader_parameters(shape):
    """The MLP that reads weighted means of values, weights N(0, 1 / fan_in), and the query token's map, which starts as the values' do."""
    width = shape.num_heads * shape.value_dim
    query = {"query": Init((shape.width, width), std=shape.init_std)} if shape.query_read else {}
    return query | {
        "w1": Init((width, shape.hidden), std=width**-0.5),
        "c1": Init((1, shape.hidden)),
        "w2": Init((shape.hidden, shape.classes), std=shape.hidden**-0.5),
        "c2": Init((1, shape.classes)),
    }


def reader(p, means, x):
    """means (N, B, T, H D) and the query tokens x -> logits (N, B, T, classes): linear, ReLU, linear."""
    import torch

    if "query" in p:
        means = means + x.linear(p["query"])
    N, B, T, C = means.shape
    hidden = torch.baddbmm(p["c1"], means.reshape(N, B * T, C), p["w1"]).relu()
    return torch.baddbmm(p["c2"], hidden, p["w2"]).view(N, B, T, -1)

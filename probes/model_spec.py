"""ModelSpec: the model that a task wants, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ModelSpec:
    """The model that a task wants, as data.

    embedding: "features" (a fixed table `features` (V, M)) | "learned" (vocab_size x model_dim) | "frozen" (the same size, random
    rows of length 1 for each seed, never trained; where `mixed`, side["amount"] of the token side["mix"] is added);
    values: "none" (the output is the layer's log weights (N, B, H, T', S)) | "learned" (logits (N, B, T', classes)) | "identity"
    (one head whose values are the embeddings, no W_V, W_O or residual: the output is Seen; the first `valueless` positions have value 0);
    query: "token" (plus a trained constant where `query_bias`) | "oracle" (an MLP of side["bits"], `oracle_bits` of them);
    rows: how many of the last positions the last layer computes; positions: "none" | "learned" (added to embeddings);
    mlp: hidden width of each layer's MLP, 0 for none; key_std, init_std, output_std: of the initial weights;
    score_scale: of q k^T, None for 1 / sqrt(D); score_shift: taken off every score; field_std, forget, level, pair_std, pair: see Dims;
    content: the columns of `features` that query, key and value maps see, None for all; a bias sees all;
    value_dim: a head's, 0 for head_dim; readout: "linear" (of the normed residual stream) | "mlp" (one layer, whose weighted
    means of values go through `hidden` ReLU units to the classes: no residual stream, no norm, no output projection);
    query_read: the MLP also reads a linear map of the query token;
    paired: a position is two tokens, tokens and side["beside"], each embedded in half of model_dim;
    own: positions of values whose own key stands just before them, which interventions of that name are about.
    """

    vocab_size: int
    seq_len: int
    embedding: str
    values: str
    query: str
    rows: int
    features: Any = None
    model_dim: int = 0
    classes: int = 0
    oracle_bits: int = 0
    num_heads: int = 1
    layers: int = 1
    mlp: int = 0
    positions: str = "none"
    key_std: float = 0.3
    init_std: float = 0.1
    output_std: float = 0.1
    score_scale: float | None = None
    score_shift: float = 0.0
    query_bias: bool = False
    mixed: bool = False
    valueless: int = 0
    field_std: float = 0.1
    forget: float = 3.0
    level: float = 1.0
    pair_std: float = 0.3
    pair: float = 0.0
    content: Any = None
    value_dim: int = 0
    readout: str = "linear"
    hidden: int = 0
    query_read: bool = False
    paired: bool = False
    own: tuple[int, ...] = ()

    def __post_init__(self):
        choices = {
            "embedding": ("features", "learned", "frozen"),
            "values": ("none", "learned", "identity"),
            "query": ("token", "oracle"),
            "positions": ("none", "learned"),
            "readout": ("linear", "mlp"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"ModelSpec.{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        if self.values == "none" and self.layers != 1:
            raise ValueError(f"a model without values has one layer, not {self.layers}: its output is that layer's weights")
        if self.values == "identity" and (self.embedding, self.layers, self.num_heads) != ("frozen", 1, 1):
            raise ValueError(
                f"identity values need a frozen embedding, one layer and one head, "
                f"not {self.embedding}, {self.layers} layers, {self.num_heads} heads: the output is compared with that embedding"
            )
        if self.readout == "mlp" and ((self.layers, self.values) != (1, "learned") or not (self.value_dim and self.hidden)):
            raise ValueError("readout 'mlp' is of one layer with learned values, of a value_dim and a hidden width above 0")

    @property
    def width(self):
        """M, the size of the vectors that layers read."""
        return self.features.shape[1] if self.embedding == "features" else self.model_dim

    @property
    def seen_width(self):
        """The size of the vectors that query, key and value maps see."""
        return self.width if self.content is None else len(self.content)

    @property
    def projects(self):
        """Whether a layer's heads are projected back into a residual stream."""
        return self.values == "learned" and self.readout == "linear"

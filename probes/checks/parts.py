"""What each axis promises of its part: a bias is never positive, weights are shares of allowed keys, what is declared is so."""

from __future__ import annotations

import torch

from attnprobe.probes.checks.case import moved
from attnprobe.probes.checks.findings import Failed
from attnprobe.probes.checks.watched import Watched
from attnprobe.probes.mixers.attention import scoped
from attnprobe.probes.mixers.parts import FLOOR, Init

SPREADS = 0.0, 1.0, 3.0  # of parameters around their start
DRAWS = 16  # of parameters, at each spread
SILENT = 1e-6  # the sum of a row without weight
ROUNDING = 1e-6  # of a sum of weights
LONGER = 5  # times as many positions, where a routing is to hide some
SCALES = 0.1, 1.0, 5.0  # of random scores


def parameters(case):
    """Parameters are Inits, the same each time, and each reaches the output."""
    for axis, part in case.mixer.parts().items():
        first, second = part.parameters(case.layer.dims), part.parameters(case.layer.dims)
        if first != second:
            raise Failed(f"{axis}: two calls of parameters() differ")
        for name, init in first.items():
            if not isinstance(init, Init):
                raise Failed(f"{axis}: the parameter {name} is {type(init).__name__}, not Init")
    if not case.own:
        return "none to train"
    leaves = {name: value.clone().requires_grad_() for name, value in case.p.items()}
    out = case.output(leaves)
    loss = (out * case.noise("cotangent", *out.shape[1:])).sum()
    for name, gradient in zip(leaves, torch.autograd.grad(loss, list(leaves.values()), materialize_grads=True), strict=True):
        if name in case.own and not gradient.any():
            raise Failed(f"{name} reaches nothing: its gradient is 0 everywhere")
    return f"each of {', '.join(case.own)} reaches the output"


def bias(case):
    """The bias is never positive, and 0 at the query itself, at the start and at random parameters."""
    if not case.mixer.bias.adds:
        return "none"
    for spread in SPREADS:
        where = "at the parameters' start" if spread == 0 else f"at parameters N(start, {spread:g}^2)"
        b = case.of(spread=spread, seeds=tuple(range(DRAWS))).bias()
        below = torch.ones(b.shape[-2:], dtype=torch.bool).tril()
        seen = b.masked_fill(~below, 0)
        for wrong, what in ((seen > 0, "a bias is never above 0"), (b.isnan() & below, "a bias is a number")):
            if wrong.any():
                n, example, head, t, s = at = tuple(wrong.nonzero()[int(seen[wrong].nan_to_num().argmax())].tolist())
                raise Failed(f"{b[at]:.6g} at query {t}, key {s} (seed {n}, example {example}, head {head}), {where}: {what}")
        diagonal = b.diagonal(dim1=-2, dim2=-1)
        if diagonal.any():
            at = tuple(diagonal.nonzero()[0].tolist())
            raise Failed(f"{diagonal[at]:.6g} at query {at[3]} and key {at[3]}, {where}: a query's bias on its own key is 0; subtract it")
    return "never above 0, and 0 at the query itself"


def weights(case):
    """Weights are at least 0, sum to at most 1 or are rescaled by finish, and what a masked key scores changes none of them."""
    normaliser, p = case.mixer.normaliser, scoped(case.p, "normaliser")
    T = case.seq_len
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    holes = causal & ((torch.arange(T) % 3 != 1) | torch.eye(T, dtype=torch.bool))
    silent, largest = [], 0.0
    for scale in SCALES:
        for mask in (causal, holes):
            scores = scale * case.noise("scores", case.batch, case.num_heads, T, T)
            w = normaliser(p, scores, mask)
            if tuple(w.shape) != tuple(scores.shape):
                raise Failed(f"weights of shape {tuple(w.shape)} for scores of {tuple(scores.shape)}")
            low = tuple(int(i) for i in torch.nonzero(w == w.min())[0])
            if not w[low] >= 0:
                raise Failed(f"the weight {w[low]:.6g} at query {low[3]}, key {low[4]}: weights are at least 0")
            hidden = w.masked_fill(mask, 0)
            if hidden.any():
                at = tuple(hidden.nonzero()[0].tolist())
                raise Failed(f"the weight {w[at]:.6g} at query {at[3]}, key {at[4]}, which is masked")
            for other in (-scores, scores * 0 + 1e4, scores * 0 - 1e4):
                if found := moved(w, normaliser(p, torch.where(mask, scores, other), mask)):
                    t, s = found[0][-2:]
                    raise Failed(f"what a masked key scores changes the weight at query {t}, key {s} from {found[1]:.6g} to {found[2]:.6g}")
            total = w.sum(-1)
            largest = max(largest, float(total.max()))
            silent.append((total < SILENT).double().mean())
            logarithm(normaliser, p, scores, mask, w)
    return summed(case, p, largest, float(torch.stack(silent).mean()))


def summed(case, p, largest, silent):
    """What is said of rows that were summed. Raises Failed where a sum is above 1 and `finish` does not take the scale off."""
    quiet = f"; {silent:.0%} of random rows are silent" if silent else "; no random row is silent"
    if largest <= 1 + ROUNDING:
        return f"at least 0, 0 at masked keys, rows sum to at most {largest:.6g}{quiet}"
    o = 10 * case.noise("output", case.batch, case.num_heads, case.seq_len, case.head_dim)
    once, twice = (case.mixer.normaliser.finish(p, scale * o) for scale in (1, 2))
    if torch.allclose(once, twice, rtol=1e-4):
        return f"at least 0, 0 at masked keys, rows sum to up to {largest:.3g}, whose scale finish takes off{quiet}"
    raise Failed(f"a row of weights sums to {largest:.6g}: at most 1, unless finish takes the scale off")


def logarithm(normaliser, p, scores, mask, w):
    """Raise Failed unless log() is the logarithm of the weights, of their shares where rows may sum to more than 1, exact or floored."""
    logs = Watched(normaliser, "normaliser").log(p, scores, mask)
    if logs.isnan().any() or (logs > ROUNDING).any():
        at = tuple((logs.isnan() | (logs > ROUNDING)).nonzero()[0].tolist())
        raise Failed(f"log() gives {logs[at]:.6g} at query {at[3]}, key {at[4]}")
    total = w.sum(-1, keepdim=True)
    shares = w / (total + (total == 0))
    wrong = [(logs.exp() - of).abs().masked_fill(~mask, 0) for of in (w, shares)]
    if min(float(x.max()) for x in wrong) > 2 * FLOOR:
        at = tuple(torch.nonzero(wrong[0] == wrong[0].max())[0].tolist())
        raise Failed(f"log() gives {logs[at]:.6g} at query {at[3]}, key {at[4]}, where the weight is {w[at]:.6g}")


def declared(case):
    """What the parts say of themselves is so: pointwise, content_free, hides, random, adds."""
    return "; ".join([*key_filter(case), *routing(case), *adds(case)])


def key_filter(case):
    """pointwise: the key of a position depends on that position alone."""
    part, p = case.mixer.key_filter, scoped(case.p, "key_filter")
    k = case.noise("k", case.batch, case.num_heads, case.seq_len, case.head_dim)
    changed = k.clone()
    changed[..., 0, :] += 1
    if part.pointwise and (found := moved(part(p, k)[..., 1:, :], part(p, changed)[..., 1:, :])):
        raise Failed(f"{part.name} declares pointwise, and key {found[0][3] + 1} depends on key 0")
    yield f"{part.name}: {'pointwise' if part.pointwise else 'mixes keys'}"


def routing(case):
    """A query sees itself; content_free, hides, random, on sequences long enough for a window to hide."""
    case = case.of(seq_len=LONGER * case.seq_len)
    part, size = case.mixer.routing, (case.batch, case.num_heads, case.seq_len, case.head_dim)
    q, k, other_q, other_k = (case.noise(name, *size) for name in ("q", "k", "other q", "other k"))
    full = (len(case.seeds), case.batch, case.num_heads, case.seq_len, case.seq_len)

    def masks(q, k, number):
        return torch.stack([mask.expand(full) for mask in part.masks(q, k, case.draw(number))])

    seen = masks(q, k, 2)
    if seen.dtype != torch.bool:
        raise Failed(f"{part.name}: a mask is boolean, not {seen.dtype}")
    own = seen.diagonal(dim1=-2, dim2=-1)
    if not own.all():
        raise Failed(f"{part.name}: query {(~own).nonzero()[0][-1].item()} does not see itself")
    causal = torch.ones(full[-2:], dtype=torch.bool).tril()
    facts = {
        "content_free": torch.equal(seen, masks(other_q, other_k, 2)),
        "hides": not (seen & causal).eq(causal).all(),
        "random": not torch.equal(seen, masks(q, k, 3)),
    }
    says = {"content_free": part.content_free, "hides": part.hides, "random": part.random}
    for name, true in facts.items():
        if says[name] != true and not (name == "content_free" and true):  # to look at content and find nothing in it is no lie
            raise Failed(f"{part.name} declares {name} = {says[name]}, and the masks it gives say {true}")
    yield f"{part.name}: {', '.join(name for name, true in says.items() if true) or 'sees all'}"


def adds(case):
    """adds: the bias is not always 0."""
    nothing = not case.bias().any()
    if nothing == case.mixer.bias.adds:
        raise Failed(
            f"{case.mixer.bias.name} declares adds = {case.mixer.bias.adds}, and its bias is {'always' if nothing else 'not always'} 0"
        )
    return ()

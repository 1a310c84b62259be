"""What theory says of an arm: the only place where probes meet theorems."""

import functools
from dataclasses import dataclass, replace

from attnprobe.probes.loading import PREFIX
from attnprobe.probes.spec import parse
from attnprobe.theory.rank import bound, ceiling
from attnprobe.theory.recall import majority_ceiling

PATH = {"fpa", "fpa-hard", "fpa-sum"}  # the field falls below a key's level exactly at its own dip (T1)
ORDER_BLIND = {"alibi", "alibi-fixed", "fox", "expiry", "bottleneck", "selective", "dcp"}  # one offset vector for all sets

# task -> a trait of a bias -> a bias that has it, and whose bound follows from it alone, whatever else a bias does
STAND_INS = {
    "ladder": {"order-blind": "fox"},
    "two-walks": {"content-free": "alibi", "shared": "dcp"},
}
NO_THEOREM = "no theorem"


@dataclass(frozen=True)
class Verdict:
    """kind: "can" | "bound" | "none"; claim: the theorem's name or None; text: as shown; ceiling: sets a head can realise, or None.

    assumption: what was measured of a part, and no theorem says.
    """

    kind: str
    claim: str | None
    text: str
    ceiling: int | None
    assumption: str | None = None


def verdict(task, arm):
    """The Verdict on an arm of a task. Of parts that were loaded from a user's file no theorem knows: see `measured_verdict`."""
    loaded = {axis for layer in arm.spec.layers for axis, part in layer.parts().items() if type(part).__module__.startswith(PREFIX)}
    if not loaded:
        return RULES.get(task.name, no_theorem)(task, arm)
    if task.name not in STAND_INS or len(arm.spec.layers) > 1 or not loaded <= {"bias", "normaliser"}:
        return no_theorem(task, arm)
    return measured_verdict(task, arm, loaded, measured(arm.spec.layers[0])) or no_theorem(task, arm)


@functools.cache
def measured(mixer):
    """The names of the traits that a mechanism measures to have."""
    from attnprobe.probes.checks.traits import traits

    return frozenset(one.name for one in traits(mixer) if one.value)


def measured_verdict(task, arm, axes, traits):
    """What bounds an arm if its parts on `axes`, bias and normaliser or one of them, have the traits (names) that they measure to have.

    None where nothing follows. No ceiling: a measurement proves nothing, so a result above it would contradict no theorem.
    """
    mixer, order = arm.spec.layers[0], {"monotone"} if "normaliser" in axes else set()
    for trait, stand_in in STAND_INS[task.name].items() if "bias" in axes else [(None, str(mixer))]:
        taken = order | ({trait} if trait else set())
        if taken <= traits:
            layer = replace(mixer, bias=parse(stand_in).layers[0].bias)
            said = RULES[task.name](task, replace(arm, spec=replace(arm.spec, layers=(layer,))))
            if said.kind == "bound":
                assumption = " and ".join(sorted(taken))
                return replace(said, text=said.text.replace(" (", f" if {assumption} ("), ceiling=None, assumption=assumption)
    return None


def no_theorem(task, arm):
    """Nothing is proved of this arm on this task."""
    return Verdict("none", None, NO_THEOREM, None)


def ladder(task, arm):
    """About realising ALL alive sets, not about a seed's mean divergence."""
    mixer = arm.spec.layers[0]
    blind = mixer.bias.name in ORDER_BLIND
    if len(arm.spec.layers) > 1 or mixer.key_filter.name != "none" or mixer.routing.name != "full":
        return no_theorem(task, arm)
    if task.slot != "balanced":
        return Verdict("none", "T7", "no theorem (T7)", None) if blind else no_theorem(task, arm)
    if mixer.bias.name in PATH:
        return Verdict("can", "T1", "can (T1)", exhaustive(task, 2 ** (task.r - 1)))
    if mixer.bias.name != "none" and not blind:
        return no_theorem(task, arm)
    needed = bound(task.r, blind)
    if arm.head_dim >= needed:
        return Verdict("can", "T5", "can (T5)", exhaustive(task, 2 ** (task.r - 1)))
    return Verdict("bound", "T5", f"all sets need d >= {needed} (T5)", exhaustive(task, ceiling(task.r, arm.head_dim, blind)))


def duration(task, arm):
    """About fitting every depth exactly: a minimum along the path can; what adds up along it can iff all dips last equally long."""
    mixer = arm.spec.layers[0]
    if mixer.key_filter.name != "none" or mixer.routing.name != "full":
        return no_theorem(task, arm)
    if mixer.bias.name in ("fpa", "fpa-hard"):
        return Verdict("can", "T13", "can (T13)", None)
    if mixer.bias.name in ("fpa-sum", "selective", "dcp") and task.durations == "variable":
        return Verdict("bound", "T14", "no exact fit (T14)", None)
    return Verdict("can", "T14", "can (T14)", None) if mixer.bias.name == "fpa-sum" else no_theorem(task, arm)


def two_walks(task, arm):
    """About realising ALL pairs of complementary sets: heads of their own field can, one mask for both cancels in their difference."""
    mixer = arm.spec.layers[0]
    if mixer.key_filter.name != "none" or mixer.routing.name != "full":
        return no_theorem(task, arm)
    if mixer.bias.name in PATH:
        return Verdict("can", "T1", "can (T1)", None)
    shared, blind = mixer.bias.name in ("selective", "dcp"), mixer.bias.name in ("alibi", "alibi-fixed")
    if not (shared or blind or mixer.bias.name == "none"):
        return no_theorem(task, arm)
    alone, joint = bound(task.r, blind), (task.r - 1) // 2  # the joint bound, 2 d >= r - 2
    if arm.head_dim >= alone:
        return Verdict("can", "T5", "can (T5)", None)
    if not shared:
        return Verdict("bound", "T5", f"all sets need d >= {alone} (T5)", None)
    return Verdict("bound", "T10", f"both heads need d >= {joint} (T10)", None) if arm.head_dim < joint else no_theorem(task, arm)


def exhaustive(task, sets):
    """A ceiling is stated where all sets were counted."""
    return sets if task.sets else None


def recall(task, arm):
    """Without position, bias and filtered keys a layer sees which values there are and not whose."""
    mixer = arm.spec.layers[0]
    pairless = mixer.key_filter.name in ("none", "zero-keys") and mixer.position.name == "nope" and mixer.bias.name == "none"
    if not pairless or mixer.routing.name != "full":
        return no_theorem(task, arm)
    return Verdict("bound", None, f"E[present] <= {float(majority_ceiling(task.pairs, task.values)):.5f}", None)


RULES = {
    "ladder": ladder,
    "recall": recall,
    "score-shift": recall,
    "unanswerable": recall,
    "sink": recall,
    "duration": duration,
    "two-walks": two_walks,
}

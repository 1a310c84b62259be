"""What is measured of a bias and a normaliser is what its formula says, for every one of the suite, by hand."""

from dataclasses import dataclass, replace

import pytest

from attnprobe.probes.checks.traits import alike, bias_traits, normaliser_traits, traits
from attnprobe.probes.mixers.bias.age import ages
from attnprobe.probes.mixers.parts import Bias
from attnprobe.probes.spec import REGISTRIES, parse

PLAIN = parse("softmax").layers[0]
NAMES = ["content-free", "reads-scores", "shared", "separable", "additive", "falling", "duration-blind", "order-blind"]
# what of NAMES each formula has, in their order; `-`: that cannot be asked of it
BY_HAND = {
    "alibi": "yes no no yes yes yes no yes",  # -m (t - s): of positions alone; t - s adds up; a token more is a step more
    "alibi-fixed": "yes no no yes yes yes no yes",
    "fox": "no no no yes yes yes no yes",  # F_t - F_s; a ladder's words have the same steps in another order, and sums do not tell
    "expiry": "no no no no no yes no yes",  # a ramp in t - s from e_s on: the ramp's start is no sum
    "bottleneck": "no no no no no yes yes yes",  # min of gamma: a token twice is no lower; the same steps have the same minimum
    "fpa": "no no no no no yes yes no",  # min of a walk: (down, up) and (up, down) have other minima
    "fpa-hard": "no no no no no yes yes no",
    "fpa-sum": "no no no no no yes no no",  # the dips of an empty token add up
    "fpa-nopsi": "no no no no no yes yes no",
    "fpa-qlevel": "no no no no no no yes no",  # the level is the query's: a later query may set it lower
    "selective": "no yes yes no no yes - -",  # the row of the only token between is the query's own, which does not count
    "selective(maps=own)": "no no yes no no yes no yes",  # a sum over pairs (u, s), of the same pairs in every word
    "dcp": "no no yes no no yes no yes",
}
NORMALISERS = {  # of the monotone: shift-invariant sparse can-be-silent
    "softmax": "yes no no",
    "softmax1": "no no yes",
    "sparsemax": "yes yes no",
    "entmax15": "yes yes no",
    "rela": "no yes yes",
    "softpick": "no yes yes",
    "power": "no yes yes",
    "power-centred": "yes yes no",
    "power-tau": "no yes yes",
}


def words(found):
    return " ".join({True: "yes", False: "no", None: "-"}[one.value] for one in found)


@pytest.mark.parametrize("spec", [*(name for name in REGISTRIES["bias"] if name != "none"), "selective(maps=own)"])
def test_a_bias_measures_as_its_formula_says(spec):
    found = bias_traits(parse(spec).layers[0].bias)
    assert [one.name for one in found] == NAMES
    assert words(found) == BY_HAND[spec]


@pytest.mark.parametrize("name", REGISTRIES["normaliser"])
def test_a_normaliser_measures_as_its_formula_says(name):
    assert words(normaliser_traits(parse(name).layers[0])) == f"yes {NORMALISERS[name]}"


def test_a_normaliser_that_prefers_lower_scores_is_not_monotone():
    @dataclass(frozen=True)
    class Backwards(type(PLAIN.normaliser)):
        name = "backwards"

        def __call__(self, p, scores, mask):
            return super().__call__(p, -scores, mask)

    found = {one.name: one for one in normaliser_traits(replace(PLAIN, normaliser=Backwards()))}
    assert found["monotone"].value is False
    assert found["monotone"].text.startswith("a higher score has a weight smaller by up to 0.")


@dataclass(frozen=True)
class Once(Bias):
    """-(t - s) mod 3: content-free, and it rises."""

    name = "once"

    def parameters(self, dims):
        return {}

    def __call__(self, p, x, scores, draw):
        return -(ages(scores) % 3)


def test_what_fails_is_told_with_its_size():
    found = {one.name: one for one in bias_traits(Once())}
    assert words(found.values()) == "yes no yes no no no no yes"
    assert found["falling"].text == "on a key it rises by up to 1 of the largest bias"  # from -2 to -0, of a largest of 2
    assert found["shared"].text == "the layer's heads have one bias"


@dataclass(frozen=True)
class Doubt(Bias):
    """-max |x_u| over s < u <= t, x_u the first coordinate: an empty token doubts nothing."""

    name = "doubt"

    def parameters(self, dims):
        return {}

    def __call__(self, p, x, scores, draw):
        T, S = scores.shape[-2:]
        doubt = x.dense()[..., 0].abs()[:, :, None, None]  # (N, B, 1, 1, S)
        return -(doubt * scores.new_ones(S, S).triu(1)).cummax(-1).values.mT[..., S - T :, :]


def test_where_an_empty_token_does_nothing_random_ones_tell_whether_two_count_once():
    found = {one.name: one for one in bias_traits(Doubt())}
    assert found["duration-blind"].value is True
    assert found["duration-blind"].text == "a random token that comes twice counts once in 100% of cases"
    fpa = {one.name: one for one in bias_traits(parse("fpa").layers[0].bias)}["duration-blind"]
    assert fpa.text.startswith(
        "an empty token that comes twice counts once in 100% of cases; a random token that comes twice counts once in"
    )


def test_biases_that_measure_alike_are_named():
    assert alike(parse("dcp").layers[0]) == []
    assert alike(parse("alibi").layers[0]) == ["alibi-fixed"]
    assert alike(parse("fpa").layers[0]) == ["fpa-hard", "fpa-nopsi"]
    assert alike(PLAIN) == []
    assert alike(replace(PLAIN, bias=Once())) == []


def test_a_mechanism_without_a_bias_has_the_normaliser_s_traits_alone():
    assert [one.name for one in traits(PLAIN)] == ["monotone", "shift-invariant", "sparse", "can-be-silent"]

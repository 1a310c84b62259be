"""The spec grammar: what is read, how it is printed, what is refused."""

import pytest

from attnprobe.probes.spec import DEFAULTS, REGISTRIES, axis_of, parse

CANONICAL = {
    "fpa": "fpa",
    "fpa+fir": "fir+fpa",
    "softmax": "softmax",
    "nope": "softmax",
    "full+nope+softmax": "softmax",
    "rope + alibi": "rope+alibi",
    "fir(taps=7, sigma=2)": "fir",
    "fir(sigma=1.5)+rope": "fir(sigma=1.5)+rope",
    "fir(taps=3)": "fir(taps=3)",
    "rope+softmax/fpa": "rope/fpa",
    "softmax/fpa": "softmax/fpa",
    "fpa:clamp=0.3/fpa": "fpa:clamp=0.3/fpa",
    "fpa:clamp = .30+fir / fpa": "fir+fpa:clamp=0.3/fpa",
    "fpa:off-until=500/fpa/fpa": "fpa:off-until=500/fpa/fpa",
    "fpa-sum:freeze/softmax": "fpa-sum:freeze/softmax",
    "fpa:const=1/fpa": "fpa:const=1/fpa",
    "fpa:field-scale=0.0001/fpa": "fpa:field-scale=0.0001/fpa",
    "fpa:field-scale=0.1234567/fpa": "fpa:field-scale=0.1234567/fpa",
    "swa(w=8)+rope": "rope+swa(w=8)",
    "rope+sa(w=16,draw=fixed)": "rope+sa(draw=fixed)",
    "rope>sa(w=16)": "rope>sa",
    "rope/fpa > moba(top=4,block=4)": "rope/fpa>moba(block=4,top=4)",
}


@pytest.mark.parametrize(("text", "printed"), CANONICAL.items())
def test_a_spec_prints_in_canonical_order_without_defaults(text, printed):
    assert str(parse(text)) == printed
    assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize("name", axis_of())
def test_every_part_round_trips_alone(name):
    assert parse(name) == parse(str(parse(name)))


def test_the_full_name_holds_every_axis_and_parameter():
    assert parse("fir+fpa").full() == "key_filter=fir(taps=7,sigma=2.0)+position=nope+bias=fpa+normaliser=softmax+routing=full"


def test_an_intervention_is_part_of_the_full_name_and_a_spec_without_one_is_named_as_before():
    assert parse("fpa:clamp=0.3/fpa").full() == parse("fpa/fpa").full().replace("full/", "full+intervention=clamp=0.3/")
    assert len({parse(text).full() for text in ("fpa/fpa", "fpa:clamp=0.3/fpa", "fpa:clamp=0.1/fpa", "fpa:freeze/fpa")}) == 4


def test_a_swap_is_trained_without_and_judged_with_its_routing():
    spec = parse("fir+rope/fpa>sa(w=8)")
    assert spec.trained == parse("fir+rope/fpa")
    assert spec.judged == parse("fir+rope+sa(w=8)/fpa+sa(w=8)")
    assert spec.full() == spec.trained.full() + ">routing=sa(w=8,draw=fresh)"
    assert spec.of_layers(2) == spec.trained.layers
    assert parse("rope").trained == parse("rope").judged == parse("rope")


REFUSED = {
    "rope+swa>sa": "a swap is of a model trained with full routing, not with swa",
    "rope>sa>swa": "after > stands one routing, not 'sa>swa'",
    "rope>": "after > stands one routing, not ''",
    "rope>fpa": "after > stands one routing, not 'fpa'",
    "rope>mobaa": "did you mean 'moba'?",
    "rope>full": "full is what it is trained with",
    "rope>gated": "gated has parameters to train, and a swap trains nothing",
    "rope>sa/fpa": "after > stands one routing, not 'sa/fpa'",
    "fpaa": "unknown part 'fpaa'; did you mean 'fpa'?",
    "alibi+fox": "'alibi' and 'fox' are both a bias",
    "rope+rope": "'rope' and 'rope' are both a position",
    "": "is no part",
    "rope+": "is no part",
    "rope//fpa": "is no part",
    "fir(tap=3)": "no parameter 'tap'; did you mean 'taps'?",
    "fir(taps)": "write fir(taps=value), once",
    "fir(taps=3,taps=4)": "write fir(taps=value), once",
    "fir(,)": "no parameter ''",
    "fir(taps=3,)": "no parameter ''",
    "fir(taps=1_0)": "takes int, not '1_0'",
    "fir(taps=\u0663)": "takes int",
    "FPA": "did you mean 'fpa'?",
    "fir(taps=99999)": "from 1 (tap 0 is the key itself) to 1024",
    "fir(sigma=1e-300)": "sigma must be from 0.1",
    "fir(sigma=1e308)": "sigma must be from 0.1",
    "fir(taps=many)": "takes int, not 'many'",
    "fir(taps=0)": "taps must be from 1",
    "fir(sigma=nan)": "sigma must be from 0.1",
    "fpa(beta=2)": "no parameter 'beta'; it takes none",
    "none": "unknown part 'none'",
    "fpa:clmp=0.3/fpa": "unknown intervention 'clmp'; did you mean 'clamp'?",
    "fpa:/fpa": "unknown intervention ''",
    "fpa:clamp/fpa": "write clamp=value, not 'clamp'",
    "fpa:freeze=1/fpa": "write freeze, not 'freeze=1'",
    "fpa:clamp=much/fpa": "clamp takes float, not 'much'",
    "fpa:clamp=-1/fpa": "clamp takes a number from 0 to 1000000, not -1",
    "fpa:clamp=nan/fpa": "clamp takes a number from 0",
    "fpa:off-until=0.5/fpa": "off-until takes int, not '0.5'",
    "fpa:zero-offset=0/fpa": "zero-offset takes a number from 1",
    "softmax:clamp=1/fpa": "no intervention on softmax: interventions are on FPA's bias",
    "fox:clamp=1/fpa": "no intervention on fox",
    "fpa:clamp=1:freeze/fpa": "clamp takes float, not '1:freeze'",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items())
def test_a_bad_spec_is_refused_in_one_line(refused, text, message):
    refused(text, message)


def test_one_layer_stands_for_all_and_several_must_fit():
    assert len(parse("rope").of_layers(3)) == 3
    assert [layer.bias.name for layer in parse("rope/fpa").of_layers(2)] == ["none", "fpa"]
    with pytest.raises(ValueError, match="names 2 layers and the model has 3"):
        parse("rope/fpa").of_layers(3)


def test_every_axis_has_a_default_part():
    assert all(DEFAULTS[axis] in registry for axis, registry in REGISTRIES.items())

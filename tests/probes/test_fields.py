"""Fields of tasks and recipes: whatever is of another type, or out of bounds, is refused in one line that names the field."""

import json
from dataclasses import asdict, dataclass, fields
from typing import Literal, get_type_hints

import pytest

from attnprobe.probes.fields import alternatives, check_types, told
from attnprobe.probes.recipe import Recipe
from attnprobe.probes.tasks import TASKS

OTHERS = {
    int: (2.5, "4", True, [4]),
    float: ("0.5", True, None, [0.5], 1 + 2j),
    bool: (1, 0.0, "yes", None),
    str: (1, None, b"text"),
}
FIELDS = [(name, field.name) for name in TASKS for field in fields(TASKS[name])]


def hint(name, field):
    return alternatives(get_type_hints(TASKS[name])[field])


def wrong(kinds):
    """What no field of these kinds takes."""
    if type(None) in kinds:
        return [value for value in OTHERS[kinds[0]] if value is not None]
    return [*OTHERS[kinds[0]], None] if kinds[0] in OTHERS else ["no such choice", 1, None, True]


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_a_task_s_field_of_another_type_is_refused_with_its_name_and_what_was_given(name, field):
    for value in wrong(hint(name, field)):
        with pytest.raises(ValueError, match=rf"^{field} must be .*, not .*") as caught:
            TASKS[name](**{field: value})
        told = str(caught.value)
        assert repr(value) in told
        assert "\n" not in told


@pytest.mark.parametrize(("name", "field"), [at for at in FIELDS if {int, float} & set(hint(*at))])
def test_a_task_s_number_out_of_bounds_is_refused_with_the_bound(name, field):
    with pytest.raises(ValueError, match=rf"^{field} must be .*\d.*, not -1"):
        TASKS[name](**{field: -1})


def test_every_task_can_be_made_of_the_fields_it_shows():
    for name in TASKS:
        task = TASKS[name]()
        assert type(task)(**{field.name: getattr(task, field.name) for field in fields(task)}) == task


@dataclass(frozen=True)
class Kinds:
    """One field of each kind that is looked at, and one that is not."""

    count: int = 1
    share: float = 0.5
    fast: bool = False
    name: str = "a"
    form: Literal["wide", "narrow"] = "wide"
    limit: int | None = None
    pair: tuple[int, int] = (1, 2)

    def __post_init__(self):
        check_types(self)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"count": 2.5}, "count must be an integer, not 2.5"),
        ({"count": True}, "count must be an integer, not True"),
        ({"share": "0.5"}, "share must be a number, not '0.5'"),
        ({"share": 10**400}, f"share must be a number, not {10**400}"),
        ({"fast": 1}, "fast must be True or False, not 1"),
        ({"name": 3}, "name must be a text, not 3"),
        ({"form": "wid"}, "form must be wide or narrow, not 'wid'; did you mean 'wide'?"),
        ({"form": "x"}, "form must be wide or narrow, not 'x'"),
        ({"limit": 2.0}, "limit must be an integer or None, not 2.0"),
    ],
)
def test_the_message_says_the_type_and_what_was_given(given, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        Kinds(**given)
    assert str(caught.value) == message


def test_an_integer_in_a_float_s_place_becomes_a_float_and_other_annotations_are_left_alone():
    made = Kinds(share=2, limit=3, pair="not looked at")
    assert (type(made.share), made.share, made.limit, made.pair) == (float, 2.0, 3, "not looked at")
    assert told(Literal["a", "b", "c"]) == "a, b or c"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": 2.5}, "steps must be an integer, not 2.5"),
        ({"batch": "64"}, "batch must be an integer, not '64'"),
        ({"steps": 0}, "steps must be from 1 to 10000000, not 0"),
        ({"lr": None}, "lr must be a number, not None"),
        ({"floor": 1.5}, "floor must be from 0 to 1"),
        ({"weight_decay": -0.1}, "weight_decay must be 0 or more"),
        ({"betas": (0.9,)}, "betas must be two numbers from 0 to below 1"),
        ({"betas": [0.9, 0.98]}, r"betas must be two numbers from 0 to below 1 in a tuple, such as \(0.9, 0.98\), not \[0.9, 0.98\]"),
        ({"betas": (0.9, 1.0)}, "betas must be two numbers"),
    ],
)
def test_a_recipe_that_makes_no_sense_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**given)


def test_equal_recipes_have_one_name():
    """An integer in a float's place would write another JSON, and so name another result."""
    assert json.dumps(asdict(Recipe(steps=1, lr=1, betas=(0, 0.98)))) == json.dumps(asdict(Recipe(steps=1, lr=1.0, betas=(0.0, 0.98))))

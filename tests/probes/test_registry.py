"""A registry reads names from source, imports on use, and answers an unknown name with the nearest."""

import sys

import pytest

from attnprobe.probes.registry import Registry, nearest
from attnprobe.probes.tasks import TASKS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "parts_of_test").mkdir()
    (tmp_path / "parts_of_test" / "__init__.py").write_text("")
    (tmp_path / "parts_of_test" / "one.py").write_text(
        "from attnprobe.probes.registry import register\n"
        "@register('plain', paper='someone 1999')\nclass Plain:\n    '''First line.\n\n    More.\n    '''\n"
        "@register('fancy')\nclass Fancy:\n    pass\n"
    )
    (tmp_path / "parts_of_test" / "two.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "parts_of_test"
    for name in [name for name in sys.modules if name.startswith("parts_of_test")]:
        del sys.modules[name]


def test_listing_names_imports_nothing(folder):
    registry = Registry(folder, "parts_of_test", "part")
    assert list(registry) == ["plain", "fancy"]
    assert registry.entries["plain"].facts == {"paper": "someone 1999"}
    assert registry.entries["plain"].summary == "First line."
    assert "parts_of_test.one" not in sys.modules


def test_looking_a_name_up_imports_its_file_alone(folder):
    assert Registry(folder, "parts_of_test", "part")["fancy"].name == "fancy"
    assert "parts_of_test.two" not in sys.modules


def test_an_unknown_name_is_answered_with_the_nearest(folder):
    with pytest.raises(ValueError, match="unknown part 'plian'; did you mean 'plain'"):
        Registry(folder, "parts_of_test", "part")["plian"]
    assert nearest("zzz", ["a", "b"]) == "; there are: a, b"


def test_a_name_registered_twice_is_an_error(folder):
    (folder / "three.py").write_text("@register('plain')\nclass Again: pass\n")
    with pytest.raises(ValueError, match=r"'plain' is registered twice: in .*one\.py and in .*three\.py"):
        list(Registry(folder, "parts_of_test", "part"))


def test_a_file_that_does_not_parse_is_named_with_its_line(folder):
    (folder / "three.py").write_text("x = 1\nx = (\n")
    with pytest.raises(ValueError, match=r"three\.py, line 2: "):
        list(Registry(folder, "parts_of_test", "part"))


def test_the_ladder_is_a_task():
    assert TASKS["ladder"].name == "ladder"

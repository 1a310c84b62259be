"""`theory realise`: heads from a file or at random, their realisable sets, and the first that is impossible."""

import json
from fractions import Fraction

import pytest

from attnprobe.theory.rank import Impossible, refutes


@pytest.fixture
def head(tmp_path):
    def write(text):
        path = tmp_path / "head.json"
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return str(path)

    return write


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "a head is"),
        ('{"key": []}', "a head is"),
        ('{"keys": [[1]], "offset": [1]}', "a head is"),
        ('{"keys": [[1], [2, 3]]}', "rows of one length"),
        ('{"keys": [[NaN]]}', "must be finite"),
        ('{"keys": [["1/0"]]}', "denominator"),
        ('{"keys": [[1]], "offsets": [1, 2]}', "one a key, 1, got 2"),
        (json.dumps({"keys": [[0]] * 21}), "at most 20 rows"),
        ('{"keys": [[' + "9" * 5000 + "]]}", "digits"),
    ],
)
def test_a_bad_head_file_is_one_line_and_exit_2(theory, head, text, message):
    result = theory("realise", "--head", head(text))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_a_file_and_a_random_head_s_options_are_not_mixed(theory, head):
    path = head({"keys": [[1]]})
    for more in (["--random", "0"], ["--r", "3"], ["--head-dim", "4"], ["--offsets", "none"]):
        assert theory("realise", "--head", path, *more).exit_code == 2


@pytest.mark.parametrize(("offsets", "count", "ceiling"), [("large", 382, 382), ("none", 256, 256)])
def test_a_random_head_realises_the_published_count(theory, offsets, count, ceiling):
    row = json.loads(theory("realise", "--random", "3", "--offsets", offsets, "--json").stdout)
    assert (row["r"], row["head_dim"], row["sets"], row["realisable"], row["ceiling"]) == (10, 4, 512, count, ceiling)
    assert row["offsets"] == (offsets != "none")


def test_a_head_file_is_read_exactly_and_its_certificate_checks(theory, head):
    keys = [["1/3", 0.1], [1, 2], ["2/3", "-5"], [0, 0.30000000000000004], ["7", "1/9"], [1, 1]]
    data = {"keys": keys, "offsets": ["1/7", 0, 1, 2.5, "3", 4]}
    row = json.loads(theory("realise", "--head", head(data), "--json").stdout)
    first = row["first_impossible"]
    proof = Impossible(tuple(int(w) for w in first["lambda"]), tuple(first["alive"]))
    assert refutes(proof, data["keys"], data["offsets"])
    assert row["realisable"] < row["sets"] == 32


def test_the_midpoint_head_prints_its_impossible_set_by_hand(theory, head):
    """Keys 1, 2, 0: -2 k_1 + k_2 + k_3 = 0, so keys 2 and 3 alive with 1 dead is impossible: 3 of 4 sets."""
    text = theory("realise", "--head", head({"keys": [[1], [2], [0]], "offsets": None})).stdout
    assert "realisable 3 of 4" in text
    assert [line.split() for line in text.splitlines() if line.split()[1:2] in (["dead"], ["alive"])] == [
        ["1", "dead", "-2"],
        ["2", "alive", "1"],
        ["3", "alive", "1"],
    ]


def test_a_head_without_an_impossible_set_says_so(theory, head):
    assert "no set is impossible" in theory("realise", "--head", head({"keys": [[1], [0]]})).stdout
    assert json.loads(theory("realise", "--head", head({"keys": [[1], [0]]}), "--json").stdout)["first_impossible"] is None


def test_long_weights_are_rounded_in_the_table_and_said_to_be(theory, head):
    keys = [[str(Fraction(10**15 + 7**n, 3**n))] for n in range(4)]
    text = theory("realise", "--head", head({"keys": keys})).stdout
    assert "exact in --json" in text

"""`probe report`: one file that holds everything, asks for nothing, and takes no text for markup."""

import dataclasses
import json
import re
import sys
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from attnprobe.cli import page_pictures
from attnprobe.cli.markup import tag
from attnprobe.cli.plots import style
from attnprobe.cli.probe import app
from attnprobe.probes.holdings import holdings
from attnprobe.probes.store import checksum
from attnprobe.probes.tasks.ladder import Ladder
from attnprobe.probes.tasks.recall import Recall

TASK = Ladder(r=6)
HOSTILE = "\"'></td><script>alert(1)</script><img src=//x.test/y onerror=alert(2)>&amp;${title}"
ASKS = ("src", "href", "srcset", "action", "data")  # ends of the names of attributes that name another file
VOID = {"meta", "link", "br", "img", "input"}


class Read(HTMLParser):
    """The page's elements with their attributes, the text of each element, and whether every element is closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.text, self.crossed = [], [], [], []
        self.feed(text)

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        if not self.open or self.open.pop() != name:
            self.crossed.append(name)

    def handle_data(self, text):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(text)

    def named(self, name):
        return [attributes for element, attributes in self.elements if element == name]


def invoke(*arguments):
    return CliRunner().invoke(app, ["report", *arguments], env={"COLUMNS": "200"})


@pytest.fixture
def store(tmp_path, fill, fill_older):
    root = tmp_path / "results"
    fill_older(root, TASK, "alibi@4", {7: 0.5})
    fill(root, TASK, "fpa@4", {0: 0.01, 1: 0.02, 2: None})
    fill(root, TASK, "rope@4", {0: 0.5, 1: 0.02})
    fill(root, TASK, "rope@8", {0: 0.001})
    fill(root, TASK, "fpa@4", {100: 0.01})
    fill(root, Recall(), "softmax@64", {0: 0.4})
    return root


def test_what_is_written_is_counted_in_the_singular_too(tmp_path, fill):
    fill(tmp_path / "store", TASK, "fpa@4", {0: 0.01})
    done = invoke("--store", str(tmp_path / "store"), "--out", str(tmp_path / "a.html"))
    assert "1 comparison, 1 seed\n" in done.stderr


@pytest.fixture
def page(store, tmp_path):
    def made(*asked):
        out = tmp_path / "report.html"
        done = invoke(*asked, "--store", str(store), "--out", str(out))
        assert done.exit_code == 0, done.output
        return out.read_text(encoding="utf-8")

    return made


def test_the_overview_says_whose_solved_seeds_it_counts(page):
    """The reference, fpa at head dimension 4, solves two of its three seeds; the arms' own counts stand in the tables below."""
    table = page("ladder").partition("The comparisons of this report")[2].partition("</table>")[0]
    assert re.findall(r"<th[^>]*scope=.?col[^>]*>([^<]*)", table) == ["task", "seeds", "arms", "reference", "solved by it", "least Holm p"]
    assert re.search(r"<td>fpa@4</td><td[^>]*>2/3", table)


def alter(store, change):
    """Change what every result and record of a store says, with checksums that fit."""
    for held in holdings(store):
        record = json.loads(held.path.read_bytes())
        change(record)
        held.path.write_text(json.dumps(record | {"checksum": checksum(record)}))


def test_the_page_is_well_formed_and_its_links_lead_somewhere(page):
    read = Read(page())
    assert read.open == read.crossed == []
    assert "attnprobe: ladder, recall" in read.text
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for attributes in read.named("a")]
    assert {"#T1", "#T5", "#run-1", "#results"} <= set(links)
    assert {link.removeprefix("#") for link in links} <= set(ids)
    labels = {attributes["aria-labelledby"] for _, attributes in read.elements if "aria-labelledby" in attributes}
    assert labels <= set(ids)


def test_the_page_asks_for_nothing(page):
    text = page()
    read = Read(text)
    sources = [value for _, given in read.elements for name, value in given.items() if name.endswith(ASKS)]
    assert all(value.startswith("#") or value == "data:," for value in sources)
    assert "@import" not in text
    assert re.findall(r"url\((?!#)", text) == []
    (policy,) = [given["content"] for given in read.named("meta") if given.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")


def test_the_policy_allows_the_page_s_own_script_alone(page):
    import base64
    import hashlib

    text = page()
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text


def test_tables_have_captions_scopes_and_a_name(page):
    read = Read(page())
    count = len(read.named("table"))
    assert count == len(read.named("caption")) == len([d for d in read.named("div") if d.get("role") == "region" and d["aria-label"]])
    assert {given.get("scope") for given in read.named("th")} == {"row", "col"}
    assert [name for name, _ in read.elements if name in ("header", "main", "nav", "footer")] == ["header", "main", "nav", "footer"]
    (html,) = read.named("html")
    assert html["lang"] == "en"


def test_seeds_apart_stand_in_tables_apart(page):
    text = page("ladder")
    assert "seeds 0:3: recipes were chosen on 0:15" in text
    assert "seeds 100:101: no recipe was chosen on them" in text
    assert "recall" not in text.replace("probe report", "")


def test_old_results_are_listed_and_not_counted(page):
    text = " ".join(Read(page()).text)
    assert "alibi@4: 1 older (other code)" in text
    assert "alibi" not in text.partition("Left out")[0].partition("What theory says")[0]
    assert "8 current, 1 older" in text


def test_an_arm_with_fewer_seeds_than_the_range_is_named(page):
    assert "fewer seeds than the range: rope@4, rope@8" in page("ladder")


def test_proofs_are_those_of_theory_explain(page):
    text = " ".join(" ".join(Read(page("ladder")).text).split())
    assert "With offsets, on the first r-1 keys: d <= r-3 leaves lambda != 0" in text
    assert "one offset vector for all alive sets; the last key is always alive" in text
    for name in ("T1", "T5-bound", "T5-tight", "T6"):
        assert name in text


def test_every_seed_and_every_command_stands_on_the_page(page):
    text = " ".join(Read(page("ladder")).text)
    assert "failed: loss not finite at step 7" in text
    assert "probe run ladder --r 6 --arm rope@4 --no-control --seeds 0:2" in text
    assert text.count("0" * 8) >= 5


def test_hostile_text_is_shown_and_not_believed(store, tmp_path, fill):
    root = tmp_path / "<b>&\"'x"
    store.rename(root)

    def change(record):
        record["result"]["data_hash"] = HOSTILE
        record["recorded"]["versions"] = {HOSTILE: HOSTILE}
        record["result"]["score"][HOSTILE] = 0.5
        if record["result"]["failure"]:
            record["result"]["failure"]["quantity"] = HOSTILE

    alter(root, change)
    folder = root / "ladder" / "fpa@4"
    (folder / "0123456789abcdef.json").write_text(json.dumps({"schema": "<script>alert(3)</script>"}))
    out = tmp_path / "report.html"
    assert invoke("--store", str(root), "--out", str(out)).exit_code == 0
    read = Read(out.read_text(encoding="utf-8"))
    assert read.open == read.crossed == []
    assert len(read.named("script")) == 1
    assert read.named("img") == []
    assert read.named("b") == []
    shown = "".join(read.text)
    assert f"{HOSTILE} not finite at step 7" in shown
    assert str(root) in shown
    assert all(not name.startswith("on") for _, given in read.elements for name in given)


@pytest.mark.parametrize("text", ["<b>", "a & b", "\"quoted'", "</script>"])
def test_tag_escapes_text_and_attributes_alike(text):
    read = Read(tag("p", text, title=text))
    assert read.elements == [("p", {"title": text})]
    assert "".join(read.text) == text


def test_a_contradiction_with_a_theorem_stands_first_and_ends_with_exit_1(store, tmp_path):
    def change(record):
        if record["identity"]["arm_name"] == "rope" and record["identity"]["head_dim"] == 4:
            record["result"]["score"]["realised"] = 1.0

    alter(store, change)
    out = tmp_path / "report.html"
    done = invoke("ladder", "--store", str(store), "--out", str(out))
    assert done.exit_code == 1
    assert "CONTRADICTION with a theorem: rope@4: seed 0 realises 32 sets" in done.stderr
    assert 'role="alert"' in out.read_text()


def test_without_matplotlib_the_page_says_how_to_get_pictures(page, monkeypatch):
    monkeypatch.setattr(page_pictures, "find_spec", lambda name: None)
    text = page()
    assert "pip install &#x27;attnprobe[plot]&#x27;" in text
    assert "<figure" not in text


def test_each_comparison_with_a_curve_gets_its_picture(page, monkeypatch):
    from types import SimpleNamespace

    asked = []
    curves = SimpleNamespace(gather=lambda task, records, cut: asked.append((task, records, cut)) or len(asked), draw=lambda data: data)
    output = SimpleNamespace(svg=lambda figure: f'<svg role="img" aria-label="number {figure}"></svg>')
    monkeypatch.setattr(page_pictures, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "attnprobe.cli.plots", SimpleNamespace(curves=curves, output=output, style=style))
    read = Read(page())
    assert [given["aria-label"] for given in read.named("svg")] == ["number 1", "number 2", "number 3"]
    assert len(read.named("figcaption")) == 3
    assert {task.name for task, *_ in asked} == {"ladder", "recall"}
    assert {cut for *_, cut in asked} == {""}, "the recipes' own steps"
    assert list(asked[0][1]["fpa@4"]) == [0, 1, 2]
    assert "pip install" not in " ".join(read.text)


def test_a_picture_says_where_training_was_cut(tmp_path, fill):
    recipe = dataclasses.replace(TASK.recipe, steps=60)
    fill(tmp_path / "store", TASK, "fpa@4", {0: 0.01}, recipe)
    out = tmp_path / "report.html"
    assert invoke("--store", str(tmp_path / "store"), "--out", str(out)).exit_code == 0
    drawn = re.search(r"<svg.*?</svg>", out.read_text(), re.DOTALL)[0]
    assert "1 seed an arm, 60 steps" in " ".join(Read(drawn).text)


def test_a_picture_of_many_seeds_says_which_it_draws(store, fill, tmp_path, monkeypatch):
    monkeypatch.setattr(page_pictures, "MOST", 2)
    out = tmp_path / "report.html"
    assert invoke("ladder", "--store", str(store), "--out", str(out)).exit_code == 0
    text = out.read_text()
    assert "learning curves of the first 2 seeds of each arm, their median bold" in text
    assert "fpa@4 1 of 1 seeds solved" in text
    assert "fpa@4 2 of 2 seeds solved" in text


def test_open_hands_the_file_to_the_browser(store, tmp_path, monkeypatch):
    import webbrowser

    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    out = tmp_path / "a report.html"
    assert invoke("--open", "--store", str(store), "--out", str(out)).exit_code == 0
    assert opened == [out.as_uri()]


BAD = {
    "a task that is not stored": (["ladr"], "did you mean 'ladder'?"),
    "no directory": (["--out", "/nowhere/report.html"], "there is no directory /nowhere"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_line_and_exit_2(store, what):
    asked, says = BAD[what]
    done = invoke(*asked, "--store", str(store))
    assert done.exit_code == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_store_of_old_results_alone_makes_no_page(tmp_path, fill_older):
    fill_older(tmp_path / "old", TASK, "fpa@4", {0: 0.1})
    out = tmp_path / "report.html"
    done = invoke("--store", str(tmp_path / "old"), "--out", str(out))
    assert done.exit_code == 2
    assert "no result of today's code" in done.stderr
    assert not out.exists()

"""What a store holds: each file's state by today's code, with the reason."""

import json
import os
from dataclasses import replace

import pytest

from attnprobe.cli.clearing import items
from attnprobe.probes import holdings as module
from attnprobe.probes import store as store_module
from attnprobe.probes.holdings import holdings, leftovers, task_names
from attnprobe.probes.store import checksum, key
from attnprobe.probes.tasks.ladder import Ladder

TASK = Ladder(r=5)


def one(root):
    (found,) = holdings(root)
    return found


def rewrite(root, change):
    """Change the one record of a store and put it where its new identity says, with a checksum that fits."""
    held = one(root)
    record = json.loads(held.path.read_bytes())
    change(record)
    record["key"] = key(record["identity"])
    record["checksum"] = checksum(record)
    held.path.unlink()
    (held.path.parent / f"{record['key'][:16]}.json").write_text(json.dumps(record))


def test_what_a_run_would_take_is_current(tmp_path, fill):
    fill(tmp_path, TASK, "fir(taps=3)+fpa@6", {3: 0.01})
    held = one(tmp_path)
    assert (held.state, held.why, held.task, str(held.spec)) == ("current", (), TASK, "fir(taps=3)+fpa")
    assert held.size == held.path.stat().st_size


OTHERS = {
    "code": (lambda i: i.update(code="0" * 64), "older", "other code"),
    "an older version": (lambda i: i.update(version=0), "older", "task version 0, not 1"),
    "a later version": (lambda i: i.update(version=2), "newer", "task version 2, not 1"),
    "a task that is not here": (lambda i: i.update(task="juggle"), "unknown", "no task juggle here"),
    "a part that is not here": (lambda i: i.update(arm_name="fpx"), "unknown", "no mechanism fpx here; of a file of yours? --load FILE"),
    "an option that is gone": (lambda i: i["options"].update(colour="red"), "older", "options that the task does not take"),
    "a value that is refused": (lambda i: i["options"].update(r=99), "older", "options that the task does not take"),
    "a recipe's field": (lambda i: i["recipe"].update(momentum=0.9), "older", "other fields of a recipe"),
    "a part's parameter": (lambda i: i.update(arm=i["arm"] + "(x=1)"), "older", "other parameters of the mechanism"),
}


@pytest.mark.parametrize("change", OTHERS)
def test_what_a_run_would_not_take_is_named_with_the_reason(tmp_path, fill, change):
    fill(tmp_path, TASK, "fpa@4", {3: 0.01})
    alter, state, why = OTHERS[change]
    rewrite(tmp_path, lambda record: alter(record["identity"]))
    assert one(tmp_path).state == state
    assert why in "; ".join(one(tmp_path).why)
    assert one(tmp_path).record is not None


@pytest.mark.parametrize(("schema", "state"), [(0, "older"), (2, "newer")])
def test_another_schema_is_not_read(tmp_path, fill, schema, state):
    fill(tmp_path, TASK, "fpa@4", {3: 0.01})
    path = one(tmp_path).path
    path.write_text(json.dumps({"schema": schema, "anything": "else"}))
    held = one(tmp_path)
    assert (held.state, held.record, held.why) == (state, None, (f"schema {schema}, not 1",))


DAMAGE = {
    "half": lambda r: None,
    "a status": lambda r: r["result"].update(status="banana"),
    "a score that is no number": lambda r: r["result"]["score"].update(kl="<b>"),
    "a score that is true": lambda r: r["result"]["score"].update(kl=True),
    "another seed": lambda r: r["result"].update(seed=4),
    "no date": lambda r: r["recorded"].pop("date"),
    "a version that is a list": lambda r: r["recorded"]["versions"].update(torch=[1]),
    "a head_dim that is a text": lambda r: r["identity"].update(head_dim="4"),
    "a score that is a list": lambda r: r["result"].update(score=[0.01]),
    "no metric": lambda r: r["result"].update(score={"accuracy": 1.0}),
    "a number that is no float": lambda r: r["result"].update(steps=10**400),
    "no code": lambda r: r["identity"].pop("code"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_is_no_result_is_damaged_even_where_its_checksum_fits(tmp_path, fill, damage):
    fill(tmp_path, TASK, "fpa@4", {3: 0.01})
    if damage == "half":
        path = one(tmp_path).path
        path.write_bytes(path.read_bytes()[:90])
    else:
        rewrite(tmp_path, DAMAGE[damage])
    assert one(tmp_path).state == "damaged"
    assert one(tmp_path).record is None


def test_a_result_under_another_name_or_with_another_content_is_damaged(tmp_path, fill):
    fill(tmp_path, TASK, "fpa@4", {3: 0.0123})
    path = one(tmp_path).path
    whole = path.read_text()
    path.write_text(whole.replace("0.0123", "0.02"))
    assert one(tmp_path).why == ("its content is not what was written",)
    path.write_text(whole)
    path.rename(path.with_name("0" * 16 + ".json"))
    assert one(tmp_path).why == ("its name is not that of its identity",)


def test_only_files_of_a_store_are_looked_at(tmp_path, fill):
    fill(tmp_path, TASK, "fpa@4", {3: 0.01})
    folder = one(tmp_path).path.parent
    for name in ("notes.json", "0123456789abcdef.corrupt1", ".0123456789abcdef.77.tmp", "0123456789abcdef.corruptx"):
        (folder / name).write_text("")
    (tmp_path / "readme.json").write_text("{}")
    assert len(holdings(tmp_path)) == 1
    aside, unfinished = leftovers(tmp_path)
    assert [path.name for path in aside] == ["0123456789abcdef.corrupt1"]
    assert [path.name for path in unfinished] == [".0123456789abcdef.77.tmp"]


def test_tasks_are_read_apart_and_a_missing_store_is_not_made(tmp_path, fill):
    fill(tmp_path, TASK, "fpa@4", {3: 0.01})
    assert task_names(tmp_path) == ["ladder"]
    assert holdings(tmp_path, {"recall"}) == []
    with pytest.raises(ValueError, match="there is no store at"):
        holdings(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_what_today_s_code_says_is_asked_once_an_arm(tmp_path, fill, monkeypatch):
    fill(tmp_path, TASK, "fpa@4", dict.fromkeys(range(5), 0.01))
    fill(tmp_path, TASK, "fpa@4", {9: 0.01}, recipe=replace(TASK.recipe, steps=9))
    asked = []
    real = module.today
    monkeypatch.setattr(module, "today", lambda described: asked.append(described) or real(described))
    assert [held.state for held in holdings(tmp_path)] == ["current"] * 6
    assert len(asked) == 1


def test_a_change_of_code_makes_what_is_stored_older(tmp_path, fill, monkeypatch):
    monkeypatch.setattr(store_module, "digest", lambda *modules: "1" * 64)
    fill(tmp_path, TASK, "fpa@4", {3: 0.01})
    assert one(tmp_path).state == "current"
    monkeypatch.undo()
    assert (one(tmp_path).state, one(tmp_path).why) == ("older", ("other code",))


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["a pipe", "a directory"])
def test_what_is_no_file_is_named_and_not_waited_for(tmp_path, fill, make):
    fill(tmp_path, TASK, "fpa@4", {3: 0.01})
    (path,) = tmp_path.glob("*/*/*.json")
    make(path.with_name("0" * 16 + ".json"))
    odd, whole = sorted(holdings(tmp_path), key=lambda held: held.path.name != "0" * 16 + ".json")
    assert (odd.state, odd.why) == ("damaged", ("it is no file",))
    assert whole.state == "current"
    assert not [one for one in items(tmp_path) if one.path == odd.path]

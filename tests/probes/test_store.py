"""The store: what names a result, what survives a kill, what is set aside."""

import errno
import json
import os
from dataclasses import replace

import pytest

from attnprobe.probes import code
from attnprobe.probes.spec import parse
from attnprobe.probes.store import Store, checksum, identity, key
from attnprobe.probes.tasks.ladder import Ladder

TASK = Ladder(r=5)
RESULT = {
    "seed": 3, "status": "solved", "score": {"kl": 0.01}, "steps": 800, "losses": [[50, 1.0], [800, None]], "curve": [], "traces": {},
    "data_hash": "x", "head": None, "failure": None,
}  # fmt: skip
RECORDED = {"seconds": 1.5, "date": "2026-11-30T05:00:00+00:00", "versions": {"torch": "2.13.0"}, "host": "here"}


def named(task=TASK, spec="fpa", d=4, recipe=None, seed=3, dtype="float32", device="cpu"):
    return identity(task, parse(spec), d, recipe or task.recipe, seed, dtype, device)


@pytest.fixture
def store(tmp_path):
    lines = []
    kept = Store(tmp_path / "results", warn=lines.append)
    kept.lines = lines
    return kept


def test_what_is_saved_is_loaded(store):
    record = store.save(named(), RESULT, RECORDED)
    assert store.load(named()) == record
    assert record["result"] == RESULT
    assert record["recorded"] == RECORDED
    assert [p.name for p in store.path(named()).parent.iterdir()] == [f"{key(named())[:16]}.json"]


CHANGES = {
    "task option": {"task": Ladder(r=6)},
    "slot": {"task": Ladder(r=5, slot="plain")},
    "arm": {"spec": "fox"},
    "part parameter": {"spec": "fir(taps=3)+fpa"},
    "head_dim": {"d": 5},
    "steps": {"recipe": replace(TASK.recipe, steps=801)},
    "lr": {"recipe": replace(TASK.recipe, lr=0.02)},
    "clip": {"recipe": replace(TASK.recipe, clip=2.0)},
    "betas": {"recipe": replace(TASK.recipe, betas=(0.9, 0.99))},
    "seed": {"seed": 4},
    "dtype": {"dtype": "float64"},
    "device": {"device": "cuda"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_determines_a_result_changes_its_key(change):
    assert key(named(**CHANGES[change])) != key(named())


def test_a_mechanism_has_one_key_however_it_is_written():
    assert key(named(spec="nope")) == key(named(spec="softmax")) == key(named(spec="full+softmax"))


def test_a_task_s_version_is_in_the_key(monkeypatch):
    before = key(named())
    monkeypatch.setattr(Ladder, "version", 2)
    assert key(named()) != before


CORRUPT = {
    "half a file": lambda text: text[: len(text) // 2],
    "nothing": lambda text: "",
    "another key": lambda text: text.replace(json.loads(text)["key"], "0" * 64),
    "another schema": lambda text: text.replace('"schema": 1', '"schema": 0', 1),
    "no result": lambda text: json.dumps({**json.loads(text), "result": {}}),
    "a list": lambda text: "[]",
    "a number": lambda text: "1",
    "binary": lambda text: "\x00\xff",
    "result of the wrong kind": lambda text: json.dumps({**json.loads(text), "result": 3}),
    "another status": lambda text: text.replace('"solved"', '"banana"'),
    "another score": lambda text: text.replace("0.01", "0.02"),
    "a score that is no number": lambda text: text.replace("0.01", "NaN"),
    "no score": lambda text: text.replace('{"kl": 0.01}', "{}"),
    "another seed": lambda text: text.replace('"seed": 3, "status"', '"seed": 77, "status"'),
    "nothing recorded": lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "recorded"}),
    "other seconds": lambda text: text.replace("1.5", "2.5"),
    "no checksum": lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "checksum"}),
    "a deep nest": lambda text: "[" * 100_000,
}


@pytest.mark.parametrize("damage", CORRUPT)
def test_a_corrupt_file_is_named_set_aside_and_not_believed(store, damage):
    store.save(named(), RESULT, RECORDED)
    path = store.path(named())
    whole = path.read_text()
    path.write_text(CORRUPT[damage](whole))
    assert path.read_text() != whole
    assert store.load(named()) is None
    assert str(path) in store.lines[0]
    assert path.with_suffix(".corrupt1").exists()
    assert not path.exists()
    store.save(named(), RESULT, RECORDED)
    assert store.load(named())["result"] == RESULT


FOREIGN = {
    "no result": (lambda r: r.pop("result"), "it has no 'result'"),
    "an empty result": (lambda r: r.update(result={}), "it has no 'seed'"),
    "a result that is a list": (lambda r: r.update(result=[1]), "it is no record"),
    "nothing recorded": (lambda r: r.update(recorded={}), "it has no 'date'"),
    "a score that is a list": (lambda r: r["result"].update(score=[0.01]), "it is no record"),
    "another task's score": (lambda r: r["result"].update(score={"accuracy": 1.0}), "its score has no 'kl'"),
    "a number that is no float": (lambda r: r["result"]["score"].update(kl=10**400), "it is no record"),
    "a score that is a text": (lambda r: r["result"]["score"].update(kl="0.01"), "its result is none"),
    "no losses": (lambda r: r["result"].pop("losses"), "it has no 'losses'"),
    "a curve of triples": (lambda r: r["result"].update(curve=[[1, 2, 3]]), "its result is none"),
    "a failure that solved": (lambda r: r["result"].update(failure={"step": 1, "quantity": "loss"}), "its result is none"),
    "a failed seed without its failure": (lambda r: r["result"].update(status="failed"), "its result is none"),
    "a head without offsets": (lambda r: r["result"].update(head={"keys": []}), "its result is none"),
    "a schema that is a text": (lambda r: r.update(schema="1"), "its schema is no int"),
}


@pytest.mark.parametrize("foreign", FOREIGN)
def test_a_record_of_another_s_is_set_aside_though_its_checksum_fits(store, foreign):
    alter, why = FOREIGN[foreign]
    record = store.save(named(), RESULT, RECORDED)
    alter(record)
    if record.keys() >= {"result", "recorded"}:
        record["checksum"] = checksum(record)
    path = store.path(named())
    path.write_text(json.dumps(record))
    assert store.load(named()) is None
    assert store.lines == [f"{path} is not a readable result ({why}); set aside as {path.stem}.corrupt1, the seed is computed again"]
    assert (path.exists(), path.with_suffix(".corrupt1").exists()) == (False, True)


def test_a_failed_seed_is_loaded_without_the_metric(store):
    failed = RESULT | {"status": "failed", "score": {}, "failure": {"step": 7, "quantity": "loss"}}
    store.save(named(), failed, RECORDED)
    assert store.load(named())["result"] == failed


def test_nothing_is_written_over_a_result_of_a_newer_schema(store):
    store.save(named(), RESULT, RECORDED)
    store.path(named()).write_text('{"schema": 99}')
    with pytest.raises(ValueError, match="newer than 1"):
        store.save(named(), RESULT, RECORDED)
    assert store.path(named()).read_text() == '{"schema": 99}'


def test_files_set_aside_are_all_kept(store):
    for n in (1, 2):
        store.save(named(), RESULT, RECORDED)
        store.path(named()).write_text(f"damage {n}")
        assert store.load(named()) is None
    assert store.path(named()).with_suffix(".corrupt1").read_text() == "damage 1"
    assert store.path(named()).with_suffix(".corrupt2").read_text() == "damage 2"


def test_what_is_no_file_in_a_result_s_place_is_named(store):
    store.path(named()).mkdir(parents=True)
    with pytest.raises(OSError, match="a result is a file"):
        store.load(named())
    store.path(named()).rmdir()
    os.mkfifo(store.path(named()))
    with pytest.raises(OSError, match="a result is a file"):
        store.load(named())


def test_results_are_readable_by_whom_the_umask_lets_read(store):
    store.save(named(), RESULT, RECORDED)
    ordinary = store.root / "ordinary"
    ordinary.write_text("")
    assert store.path(named()).stat().st_mode == ordinary.stat().st_mode


def test_a_write_that_fails_leaves_the_old_result(store, monkeypatch):
    store.save(named(), RESULT, RECORDED)
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.save(named(), {**RESULT, "steps": float("nan")}, RECORDED)
    assert store.load(named())["result"] == RESULT


def test_a_store_that_cannot_be_written_is_found_out_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        Store(tmp_path / "file" / "results")
    with pytest.raises(NotADirectoryError, match="a store is a directory"):
        Store(tmp_path / "file")
    with pytest.raises(ValueError, match="must name a directory"):
        Store("")


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC])
def test_what_cannot_be_written_is_said_of_the_store(store, monkeypatch, code):
    monkeypatch.setattr("os.fsync", lambda number: (_ for _ in ()).throw(OSError(code, os.strerror(code))))
    with pytest.raises(OSError, match=f"a result cannot be written: {os.strerror(code)}") as caught:
        store.save(named(), RESULT, RECORDED)
    assert (caught.value.errno, caught.value.filename) == (code, str(store.root))
    assert [path for path in store.root.rglob("*") if path.is_file()] == []


def test_an_arm_of_layers_has_a_directory_of_its_own(store):
    two = identity(replace(TASK), parse("fir(taps=3)+rope"), 4, TASK.recipe, 3, "float32", "cpu")
    assert store.path(two).parent.name == "fir~taps=3~+rope@4"


def test_the_code_digest_follows_imports_and_ignores_docstrings(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text('"""Doc."""\nfrom attnprobe.b import f\n')
    (tmp_path / "b.py").write_text("def f():\n    '''Doc.'''\n    return 1\n")

    def digest():
        for cache in (code.parsed, code.imports, code.tree):
            cache.cache_clear()
        return code.digest(["attnprobe.a"])

    monkeypatch.setattr(code, "ROOT", tmp_path)
    before = digest()
    (tmp_path / "b.py").write_text("def f():\n    '''Other words.'''\n    return 1  # and a comment\n")
    assert digest() == before
    (tmp_path / "b.py").write_text("def f():\n    return 2\n")
    assert digest() != before
    monkeypatch.undo()
    for cache in (code.parsed, code.imports, code.tree):
        cache.cache_clear()


def test_the_code_of_fpa_includes_its_kernels_and_not_rope():
    modules, queue = set(), ["attnprobe.probes.mixers.bias.path"]
    while queue:
        module = queue.pop()
        if module not in modules:
            modules.add(module)
            queue.extend(code.imports(module))
    assert {"attnprobe.kernels.fpa", "attnprobe.kernels.fpa.reference", "attnprobe.kernels.fpa.tables"} <= modules
    assert "attnprobe.probes.mixers.position.rope" not in modules
    assert named(spec="fpa")["code"] != named(spec="rope+fpa")["code"]

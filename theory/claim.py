"""A claim is a generator of cases whose docstring is its statement and proof; verifying it yields a certificate.

A claim lives in theory/claims/*.py. The catalogue reads those files as syntax trees, so that listing claims imports none of them.

Evidence. A Case may carry `evidence`, one JSON object with what a reader needs to redo it: the construction, the dependency, the
counterexample, the counts. The evidence of all cases, in their order, is the certificate's list, and theory/check.py, which knows the claim
by its name alone, re-checks that list in integers and Fractions, without this package. So: integers, strings, null, lists and dicts; a
rational as "p/q"; no floats; nothing that the checker does not look at (each leaf, changed, must be rejected); and small, since every run
builds it: one entry for a whole claim is normal, at most about 100 kB. What is too large to redo is redone in part, and says so.
"""

import ast
import difflib
import importlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "claims"
# What a run without a failing case has shown, by kind: all cases of the scope, or a sample of them.
PASSED = {"exhaustive": "verified", "exact": "verified", "symbolic": "verified", "sampled": "supported"}


@dataclass(frozen=True)
class Case:
    """One checked instance: whether it holds, what it was (plain JSON data), and how many elementary cases it stands for.

    evidence: None, or a JSON object for the certificate, as the module's docstring says.
    """

    holds: bool
    witness: Any = None
    size: int = 1
    evidence: dict[str, Any] | None = None


@dataclass(frozen=True)
class Span:
    """An integer scope parameter: its default, the bounds within which a caller may set it, and its value in a deep run (or None)."""

    default: int
    low: int
    high: int
    deep: int | None = None


@dataclass(frozen=True)
class Certificate:
    """What a run of a claim showed: `cases` elementary cases checked in `seconds`; `witness` is that of the first failing case.

    evidence: the evidence of the cases that have some, in their order.
    """

    name: str
    kind: str
    source: str
    scope: dict[str, Any]
    cases: int
    verdict: str  # verified | supported | refuted | vacuous
    assumption: str | None
    seconds: float
    witness: Any = None
    evidence: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim that can be run: `scope` maps a name to a Span, which `cases` takes by keyword, or to a constant, which is only printed."""

    name: str
    kind: str
    source: str
    assumption: str | None
    scope: dict[str, Any] = field(hash=False)
    cases: Callable[..., Iterator[Case]]

    @property
    def spans(self) -> dict[str, Span]:
        """The parameters that a caller may set: dict of name to Span."""
        return {name: value for name, value in self.scope.items() if isinstance(value, Span)}


@dataclass(frozen=True)
class Entry:
    """A claim as the catalogue lists it, before its file is imported; `statement` is the docstring's first line."""

    name: str
    kind: str
    source: str
    statement: str
    module: str
    function: str


def claim(
    name: str, kind: str, source: str, assumption: str | None = None, **scope: Any
) -> Callable[[Callable[..., Iterator[Case]]], Claim]:
    """Decorate a generator function of Cases into a Claim; the function takes exactly the parameters that `scope` gives as Spans.

    kind: "exhaustive" (every instance of the scope), "exact" (finitely many exact computations, all of the scope), "symbolic" or
    "sampled" (some instances: it can refute, it cannot verify).
    """
    assert kind in PASSED, f"{name}: no such kind: {kind}"

    def wrap(function: Callable[..., Iterator[Case]]) -> Claim:
        made = Claim(name, kind, source, assumption, scope, function)
        takes = function.__code__.co_varnames[: function.__code__.co_argcount]
        assert set(takes) == set(made.spans), f"{name} takes {takes}, its scope spans {tuple(made.spans)}"
        return made

    return wrap


def settle(claim: Claim, overrides: dict[str, int], deep: bool = False) -> dict[str, int]:
    """Return {parameter: value} for a run of `claim`; ValueError for an override that it does not take or that is out of bounds.

    deep: take a Span's deep value, where it has one, in place of its default.
    """
    spans = claim.spans
    for name, value in overrides.items():
        if name not in spans:
            raise ValueError(f"{claim.name} takes no {name}; it takes {', '.join(spans) or 'no parameter'}")
        span = spans[name]
        if not span.low <= value <= span.high:
            raise ValueError(f"{name} must be in {span.low}..{span.high} for {claim.name}, got {value}")
    usual = {name: span.default if span.deep is None or not deep else span.deep for name, span in spans.items()}
    return usual | overrides


def verify(claim: Claim, *, deep: bool = False, watch: Callable[[int], object] | None = None, **overrides: int) -> Certificate:
    """Run `claim` until its first failing case and return its Certificate; overrides set its Spans.

    deep: as in `settle`. watch: called with the number of cases so far after each Case. Raises ValueError for an override that the claim
    does not take or that is out of its bounds.
    """
    values = settle(claim, overrides, deep)
    count, witness, verdict = 0, None, PASSED[claim.kind]
    evidence: list[dict[str, Any]] = []
    start = time.perf_counter()
    for case in claim.cases(**values):
        count += case.size
        if watch:
            watch(count)
        if case.evidence is not None:
            evidence.append(case.evidence)
        if not case.holds:
            verdict, witness = "refuted", case.witness
            break
    if count == 0:
        verdict = "vacuous"
    seconds = time.perf_counter() - start
    scope = {name: values.get(name, value) for name, value in claim.scope.items()}
    return Certificate(claim.name, claim.kind, claim.source, scope, count, verdict, claim.assumption, seconds, witness, tuple(evidence))


def catalogue(folder: Path = HERE) -> dict[str, Entry]:
    """Return {name: Entry} of the claims in folder/*.py, in the order of their numbers; ValueError for a name used twice."""
    entries: dict[str, Entry] = {}
    for path in sorted(folder.glob("*.py")):
        for entry in _entries(path):
            if entry.name in entries:
                raise ValueError(f"claim {entry.name} is in both {entries[entry.name].module}.py and {entry.module}.py")
            entries[entry.name] = entry
    return dict(sorted(entries.items(), key=lambda item: _natural(item[0])))


def select(names: Iterable[str] | None, entries: dict[str, Entry]) -> list[Entry]:
    """Return the Entries that `names` mean: a whole name (T5-tight), a family (T5) or its file's title (rank-bound); none means all.

    ValueError for an unknown one.
    """
    if not names:
        return list(entries.values())
    chosen: dict[str, Entry] = {}
    for name in names:
        found = [entry for entry in entries.values() if name in _names(entry)]
        if not found:
            hint = f"did you mean {_nearest(name, names_of(entries))!r}?" if name.strip() else "theory list prints their names"
            raise ValueError(f"no claim is named {name!r}; {hint}")
        chosen.update((entry.name, entry) for entry in found)
    return list(chosen.values())


def names_of(entries: dict[str, Entry]) -> list[str]:
    """Return every name that `select` knows, each once."""
    return list(dict.fromkeys(known for entry in entries.values() for known in _names(entry)))


def load(entry: Entry) -> Claim:
    """Import the file of an Entry and return its Claim."""
    return getattr(importlib.import_module(f"{__package__}.claims.{entry.module}"), entry.function)


def _entries(path):
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "claim":
                given = {word.arg: word.value for word in call.keywords} | dict(zip(("name", "kind", "source"), call.args, strict=False))
                name, kind, source = (ast.literal_eval(given[key]) for key in ("name", "kind", "source"))
                yield Entry(name, kind, source, ast.get_docstring(node).splitlines()[0], path.stem, node.name)


def _names(entry):
    """Return the name, the family and the title of an Entry: T5-tight, T5, rank-bound."""
    return entry.name, entry.name.split("-")[0], re.sub(r"^t\d+_", "", entry.module).replace("_", "-")


def _natural(name):
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name) if part]


def _nearest(name, known):
    lower = {other.lower(): other for other in known}
    return lower[max(lower, key=lambda other: difflib.SequenceMatcher(None, name.lower(), other).ratio())]

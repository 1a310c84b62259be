"""What a claim says, in parts: statement, assumption, proof, limits, how it is checked, from its docstring and its metadata."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from attnprobe.theory.claim import Claim, Entry, catalogue, load, select

WIDTH = 100  # columns of an Explanation as text
KINDS = {
    "exhaustive": "every instance of the scope is tried",
    "exact": "finitely many computations in exact arithmetic are the whole scope",
    "symbolic": "the identity is proved symbolically",
    "sampled": "some instances are tried",
}
LIMITS = dict.fromkeys(KINDS, "the run shows it for the scope below and no further; what is beyond rests on the proof") | {
    "sampled": "a run can refute it, not prove it; that rests on the proof"
}


@dataclass(frozen=True)
class Explanation:
    """A claim's `title`, and its parts as (name, paragraphs)."""

    title: str
    parts: tuple[tuple[str, tuple[str, ...]], ...]

    def __str__(self) -> str:
        lines = [self.title]
        for name, paragraphs in self.parts:
            for n, text in enumerate(paragraphs):
                lead = "" if n else name
                lines.append(textwrap.fill(text, WIDTH, initial_indent=f"{lead:<11}", subsequent_indent=" " * 11))
        return "\n".join(lines)


def explain(*names: str) -> tuple[Explanation, ...]:
    """The Explanation of each claim that `names` mean, all if there are none: T5-tight, T5 or rank-bound. Raises ValueError.

    >>> print(explain("T1-ladder")[0].parts[0])
    ('statement', ('One FPA head realises all 2^(r-1) alive sets of the ladder, with levels 0..r.',))
    """
    return tuple(explanation(entry, load(entry)) for entry in select(names, catalogue()))


def explanation(entry: Entry, claim: Claim) -> Explanation:
    """The Explanation of one claim."""
    first, *rest = [" ".join(part.split()) for part in inspect.cleandoc(claim.cases.__doc__ or "").split("\n\n")]
    told = {start: [part.removeprefix(start).strip() for part in rest if part.startswith(start)] for start in ("Limits:", "Checked:")}
    proof = [part for part in rest if not part.startswith(tuple(told))]
    parts = (
        ("statement", (first,)),
        ("assumes", (claim.assumption or "nothing beyond the statement",)),
        ("proof", tuple(proof)),
        ("limits", tuple(told["Limits:"] or [LIMITS[claim.kind]])),
        ("checked", (*told["Checked:"], f"{claim.kind}: {KINDS[claim.kind]}. Scope: {spans_text(claim)}.")),
    )
    return Explanation(f"{entry.name} ({entry.source}; theory/claims/{entry.module}.py)", parts)


def scope_text(scope: Mapping[str, object]) -> str:
    """A scope as `name=value` words."""
    return ", ".join(f"{name}={value}" for name, value in scope.items())


def spans_text(claim: Claim) -> str:
    """A claim's scope with its defaults, and the deep values that differ."""
    usual = claim.scope | {name: span.default for name, span in claim.spans.items()}
    deep = {name: span.deep for name, span in claim.spans.items() if span.deep not in (None, span.default)}
    return scope_text(usual) + (f" (with --deep: {scope_text(deep)})" if deep else "")

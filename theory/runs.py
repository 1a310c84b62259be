"""Which claims names mean, at which scope, and their certificates: what `theory verify` and a script run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attnprobe.theory import claim
from attnprobe.theory.claim import Certificate, Entry


def verify(*names: str, deep: bool = False, **scope: int) -> tuple[Certificate, ...]:
    """Verify the claims that `names` mean, all if there are none, and return a Certificate each.

    Args: names: claims (T5-tight), families (T5) or titles (rank-bound); deep: take each claim's larger scope; scope: values
    of scope parameters, such as r=12, for the claims that take them.
    Raises ValueError for an unknown name, for a value out of bounds, and where a name means no claim that takes a value.

    >>> [(found.name, found.verdict, found.cases) for found in verify("T1-ladder", r=6)]
    [('T1-ladder', 'verified', 32)]
    """
    entries = claim.select(names, claim.catalogue())
    values = settings(entries, names, scope, deep)
    return tuple(claim.verify(claim.load(entry), deep=deep, **own) for entry, own in zip(entries, values, strict=True))


def settings(entries: Iterable[Entry], names: Iterable[str] | None, scope: Mapping[str, int], deep: bool) -> list[dict[str, Any]]:
    """Each claim's overrides: of `scope`, what it takes. ValueError if a name means no claim that takes one, or if it is out of bounds.

    entries: of claim.select(names, ...).
    """
    claims = [claim.load(entry) for entry in entries]
    for parameter in scope:
        takes = {made.name for made in claims if parameter in made.spans}
        if not takes and not names:
            raise ValueError(f"no claim takes {parameter}")
        for name in names or ():
            if not takes & {entry.name for entry in claim.select([name], claim.catalogue())}:
                raise ValueError(f"{name} takes no {parameter}")
    values = [{name: value for name, value in scope.items() if name in made.spans} for made in claims]
    for made, override in zip(claims, values, strict=True):
        claim.settle(made, override, deep)
    return values

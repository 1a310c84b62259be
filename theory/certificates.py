"""A certificate as a file: what a reader needs to redo a claim, and check.py to re-check it, without this package."""

import json
import platform
from importlib.metadata import version

from attnprobe.theory import check, check_sequences, claim

FIELDS = ("name", "kind", "source", "statement", "scope", "cases", "verdict", "assumption", "versions", "evidence")


def write(certificate, statement, folder):
    """Write folder/NAME.json, folder made if it is not there, and return its path. statement: the first line of the claim's docstring."""
    folder.mkdir(parents=True, exist_ok=True)
    row = {name: getattr(certificate, name) for name in FIELDS if hasattr(certificate, name)}
    row |= {"statement": statement, "versions": versions(), "evidence": list(certificate.evidence)}
    path = folder / f"{certificate.name}.json"
    path.write_text(json.dumps({name: row[name] for name in FIELDS}, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path


def problem(text, stem):
    """Return why the certificate in STEM.json does not hold, or None: its evidence by the stand-alone checkers, its texts by the claims.

    text: the file's. A statement, kind, source or assumption must be the claim's own, the scope one that the claim can be run at.
    """
    found = next((why for why in (check.problem(text), check_sequences.problem(text)) if why != check.UNKNOWN), "no such claim")
    if found:
        return found
    row, entry = json.loads(text), claim.catalogue().get(stem)
    if entry is None or row["name"] != stem:
        return f"it is a certificate of {row['name']}"
    made = claim.load(entry)
    own = {"kind": entry.kind, "source": entry.source, "statement": entry.statement, "assumption": made.assumption}
    own |= {name: value for name, value in made.scope.items() if name not in made.spans}
    given = row | row["scope"]
    other = next((name for name, value in own.items() if given.get(name) != value), None)
    if other or set(row["scope"]) != set(made.scope):
        return f"its {other or 'scope'} is not the claim's"
    try:
        claim.settle(made, {name: row["scope"][name] for name in made.spans})
    except ValueError as error:
        return str(error)
    return None


def versions():
    """Return the versions of what computed a certificate: Python, and the packages that the claims use."""
    return {"python": platform.python_version()} | {name: version(name) for name in ("attnprobe", "numpy", "scipy", "sympy", "networkx")}

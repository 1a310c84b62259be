"""A certificate as a file: what a reader needs to redo a claim, and check.py to re-check it, without this package."""

import json
import platform
from hashlib import sha256
from importlib.metadata import version

from attnprobe.theory import check, check_sequences, claim

FIELDS = ("name", "kind", "source", "statement", "scope", "cases", "verdict", "assumption", "versions", "evidence")


def write(certificate, statement, folder):
    """Write folder/NAME.json, folder made if it is not there, and return its path. statement: the first line of the claim's docstring."""
    folder.mkdir(parents=True, exist_ok=True)
    row = {name: getattr(certificate, name) for name in FIELDS if hasattr(certificate, name)}
    row |= {"statement": statement, "versions": versions(), "evidence": list(certificate.evidence)}
    path = folder / f"{certificate.name}.json"
    path.write_text(sealed({name: row[name] for name in FIELDS}) + "\n", encoding="utf-8")
    return path


def sealed(row):
    """Return a certificate as JSON text with its seal, the sha256 of the rest with sorted keys."""
    row = {name: value for name, value in row.items() if name != "seal"}
    row = json.loads(json.dumps(row, allow_nan=False))
    return json.dumps(row | {"seal": sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()}, indent=1)


def problem(text, stem):
    """Return why the certificate in STEM.json does not hold, or None: its texts by the claim, its evidence by the stand-alone checkers.

    text: the file's. A statement, kind, source or assumption must be the claim's own, the scope one that the claim can be run at.
    """
    try:
        why = _foreign(json.loads(text), stem)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        return f"malformed: {type(error).__name__}: {error}"
    verdicts = (checker.problem(text) for checker in (check, check_sequences) if not why)
    return why or next((verdict for verdict in verdicts if verdict != check.UNKNOWN), "no checker knows its claim")


def _foreign(row, stem):
    """Return what of a certificate is not its claim's, or None."""
    if row["name"] != stem:
        return f"it is a certificate of {row['name']}"
    entries = claim.catalogue()
    if stem not in entries:
        return "no such claim"
    entry, made = entries[stem], claim.load(entries[stem])
    own = {"kind": entry.kind, "source": entry.source, "statement": entry.statement, "assumption": made.assumption}
    fixed = {name: value for name, value in made.scope.items() if name not in made.spans}
    given = {name: row["scope"][name] for name in fixed}
    other = next((name for name, value in (own | fixed).items() if (row | given)[name] != value), None)
    if other or set(row["scope"]) != set(made.scope):
        return f"its {other or 'scope'} is not the claim's"
    claim.settle(made, {name: row["scope"][name] for name in made.spans})
    return None


def versions():
    """Return the versions of what computed a certificate: Python, and the packages that the claims use."""
    return {"python": platform.python_version()} | {name: version(name) for name in ("attnprobe", "numpy", "scipy", "sympy", "networkx")}

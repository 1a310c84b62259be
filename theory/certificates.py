"""A certificate as a file: what a reader needs to redo a claim, and check.py to re-check it, without this package."""

import json
import platform
from importlib.metadata import version

FIELDS = ("name", "kind", "source", "statement", "scope", "cases", "verdict", "assumption", "versions", "evidence")


def write(certificate, statement, folder):
    """Write folder/NAME.json, folder made if it is not there, and return its path. statement: the first line of the claim's docstring."""
    folder.mkdir(parents=True, exist_ok=True)
    row = {name: getattr(certificate, name) for name in FIELDS if hasattr(certificate, name)}
    row |= {"statement": statement, "versions": versions(), "evidence": list(certificate.evidence)}
    path = folder / f"{certificate.name}.json"
    path.write_text(json.dumps({name: row[name] for name in FIELDS}, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path


def versions():
    """Return the versions of what computed a certificate: Python, and the packages that the claims use."""
    return {"python": platform.python_version()} | {name: version(name) for name in ("attnprobe", "numpy", "scipy", "sympy", "networkx")}

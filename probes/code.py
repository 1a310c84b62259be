"""A digest of the code that a result depends on, so that a changed formula never answers for an old result."""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PREFIX = "attnprobe."


def digest(modules):
    """sha256 over the syntax trees, without docstrings, of `modules` (import names) and all that they import of this package.

    Fused kernels are left out: they must match the reference, which is in. A user's loaded file counts by what it says, not by its name.
    """
    seen, queue = set(), list(modules)
    while queue:
        module = queue.pop()
        if module not in seen and not module.rpartition(".")[2].startswith("fused"):
            seen.add(module)
            queue.extend(imports(module))
    trees = (f"{module if module.startswith(PREFIX) else 'loaded'} {tree(module)}" for module in seen)
    return hashlib.sha256("\n".join(sorted(trees)).encode()).hexdigest()


def text(module):
    """The source of a module of this package, or of a user's file as it was loaded."""
    if not module.startswith(PREFIX):
        return sys.modules[module].__loader__.get_source(module)
    return source(module).read_text(encoding="utf-8")


def source(module):
    """The file of a module of this package."""
    base = ROOT.joinpath(*module.removeprefix(PREFIX).split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


@functools.cache
def parsed(module):
    return ast.parse(text(module))


@functools.cache
def imports(module):
    """The modules of this package that a module imports, anywhere in its file."""
    found = set()
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PREFIX):
            found.add(node.module)
            found |= {name for name in (f"{node.module}.{alias.name}" for alias in node.names) if source(name).exists()}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith(PREFIX)}
    return frozenset(found)


@functools.cache
def tree(module):
    """The dump of a module's syntax tree without docstrings."""
    root = ast.parse(text(module))
    for node in ast.walk(root):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(root)

"""A digest of the code that a result depends on, so that a changed formula never answers for an old result."""

from __future__ import annotations

import ast
import functools
import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PREFIX = "attnprobe."


def digest(modules, kernels=()):
    """sha256 over the syntax trees, without docstrings, of `modules` (import names) and all that they import of this package.

    kernels: modules of the fused kernels in use, with all that these import; without one, fused modules are left out.
    """
    seen, queue = set(), [*modules, *kernels]
    while queue:
        module = queue.pop()
        if module not in seen and (kernels or not module.rpartition(".")[2].startswith("fused")):
            seen.add(module)
            queue.extend(imports(module))
    return hashlib.sha256("\n".join(f"{module} {tree(module)}" for module in sorted(seen)).encode()).hexdigest()


def source(module):
    """The file of a module of this package."""
    base = ROOT.joinpath(*module.removeprefix(PREFIX).split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


@functools.cache
def parsed(module):
    return ast.parse(source(module).read_text(encoding="utf-8"))


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
    root = ast.parse(source(module).read_text(encoding="utf-8"))
    for node in ast.walk(root):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(root)

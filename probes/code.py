"""A digest of the code that a result depends on, so that a changed formula never answers for an old result."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PREFIX = "attnprobe."


def digest(modules, kernels=()):
    """sha256 over the syntax trees, without docstrings, of `modules` (import names) and all that they import of this package.

    kernels: modules of the fused kernels in use, with all that these import; without one, fused modules are left out. A user's loaded file
    counts by what it says, not by its name, and so do the modules of the user's own that it imports: neither installed nor Python's.
    """
    seen, queue = set(), [*modules, *kernels]
    while queue:
        module = queue.pop()
        if module not in seen and (kernels or not module.rpartition(".")[2].startswith("fused")):
            seen.add(module)
            queue.extend(imports(module))
    trees = (f"{module if module.startswith(PREFIX) else 'loaded'} {tree(module)}" for module in seen)
    return hashlib.sha256("\n".join(sorted(trees)).encode()).hexdigest()


def text(module):
    """The source of a module of this package, of a user's file as it was loaded, or of a module of the user's own."""
    if not module.startswith(PREFIX):
        return importlib.util.find_spec(module).loader.get_source(module)
    return source(module).read_text(encoding="utf-8")


def own(module):
    """Whether a name is that of a module of the user's own."""
    if module.partition(".")[0] in (*sys.stdlib_module_names, PREFIX.rstrip(".")):
        return False
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # it is no module, or is not there
        return False
    installed = {Path(sysconfig.get_paths()[kind]) for kind in ("purelib", "platlib")}
    return bool(spec and spec.origin and spec.origin.endswith(".py")) and not installed & set(Path(spec.origin).parents)


def source(module):
    """The file of a module of this package."""
    base = ROOT.joinpath(*module.removeprefix(PREFIX).split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


@functools.cache
def parsed(module):
    return ast.parse(text(module))


@functools.cache
def imports(module):
    """The modules of this package that a module imports, anywhere in its file; of a user's, those of the user's own too."""
    found = set()
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(base, module.rpartition(".")[0]) if node.level else base
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    users = not module.startswith(PREFIX)
    if users:  # a package runs before its modules
        found |= {name[:at] for name in found for at, letter in enumerate(name) if letter == "."}
    return frozenset(name for name in found if (source(name).exists() if name.startswith(PREFIX) else users and own(name)))


@functools.cache
def tree(module):
    """The dump of a module's syntax tree without docstrings."""
    root = ast.parse(text(module))
    for node in ast.walk(root):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(root)

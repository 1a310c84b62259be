"""A registry fills itself from a folder: a task or a mixer part is one file, found by its `@register` decorator.

Names are found by reading the files' syntax trees, so that listing them imports nothing; a file is imported when one
of its names is looked up.
"""

import ast
import difflib
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


def register(name, **facts):
    """Give a class its public `name`. `facts` (literals, for instance paper=...) are read by `probe list` from the source."""

    def decorate(cls):
        cls.name = name
        return cls

    return decorate


@dataclass(frozen=True)
class Entry:
    """Where a registered class stands: its file, module and class name, and the facts of its decorator."""

    name: str
    path: Path
    module: str
    cls: str
    summary: str
    facts: dict


class Registry(Mapping):
    """Registered name -> class, for the classes in the files of one folder.

    Args: folder: a package folder; module: its import name; noun: what its members are called in messages.
    Raises ValueError on an unknown name (with the nearest one) and on a name registered twice.
    """

    def __init__(self, folder: Path | str, module: str, noun: str) -> None:
        self.folder, self.module, self.noun = Path(folder), module, noun
        self.loaded: dict[str, Entry] | None = None

    @property
    def entries(self) -> dict[str, Entry]:
        """Every Entry by name, in order of file and line."""
        if self.loaded is None:
            found: dict[str, Entry] = {}
            for path in sorted(self.folder.glob("*.py")):
                for entry in registered_in(path, f"{self.module}.{path.stem}"):
                    if entry.name in found:
                        raise ValueError(f"{self.noun} {entry.name!r} is registered twice: in {found[entry.name].path} and in {path}")
                    found[entry.name] = entry
            self.loaded = found
        return self.loaded

    def add(self, entry):
        """Take in an Entry from outside the folder."""
        self.entries[entry.name] = entry

    def remove(self, module):
        """Drop the entries of a module."""
        self.loaded = {name: entry for name, entry in self.entries.items() if entry.module != module}

    def __getitem__(self, name):
        if name not in self.entries:
            raise ValueError(f"unknown {self.noun} {name!r}{nearest(name, self.entries)}")
        entry = self.entries[name]
        return getattr(importlib.import_module(entry.module), entry.cls)

    def __contains__(self, name):
        return name in self.entries

    def __iter__(self):
        return iter(self.entries)

    def __len__(self):
        return len(self.entries)


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest valid ones, or all of them."""
    close = difflib.get_close_matches(name.lower(), list(names), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; there are: {', '.join(names)}"


def registered_in(path, module, text=None):
    """The Entries of one file, read from its syntax tree, or from that of `text` where its content is known.

    Raises ValueError where it does not parse, or where what @register is given is no literal.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8") if text is None else text, str(path))
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}") from None
    except (MemoryError, RecursionError):
        raise ValueError(f"{path} is nested too deeply to be parsed") from None
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "register":
                try:
                    (name,) = map(ast.literal_eval, call.args)
                    facts = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
                except (ValueError, TypeError, MemoryError, RecursionError):
                    what = 'one name and facts, written out: @register("mine", paper="ours")'
                    raise ValueError(f"{path}, line {call.lineno}: @register takes {what}") from None
                summary = (ast.get_docstring(node) or "").partition("\n")[0]
                yield Entry(name, path, module, node.name, summary, facts)

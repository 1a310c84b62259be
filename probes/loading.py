"""Files of a user's own, whose tasks and parts are registered beside the suite's."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import re
import sys
from importlib.abc import ExecutionLoader
from pathlib import Path

from attnprobe.probes import code, spec
from attnprobe.probes.mixers.parts import Bias, KeyFilter, Normaliser, Position, Routing
from attnprobe.probes.registry import registered_in
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.task import Task

AXIS = {"key_filter": KeyFilter, "position": Position, "bias": Bias, "normaliser": Normaliser, "routing": Routing}
NAME = re.compile(r"[a-z0-9_-]+")  # what the grammar of specs can name
PREFIX = "attnprobe_loaded_"  # of the modules' names, so that none hides another module


class Given(ExecutionLoader):
    """Runs a module from a text that was read before: workers and the code's digest see what was run, whatever the file has become."""

    def __init__(self, path, text):
        self.path, self.text = str(path), text

    def get_filename(self, fullname):
        """Where the text was read from."""
        return self.path

    def get_source(self, fullname):
        """The text."""
        return self.text


def load(path):
    """Run a Python file and register its tasks and parts; one that was loaded before is loaded anew. Returns the names registered.

    Raises OSError where it cannot be read, and ValueError, with one line, where it does not parse or run, registers nothing, registers
    what is no task or part, or takes a name that is taken.

    >>> load("no_such_file.py")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no_such_file.py'
    """
    return load_text(path, Path(path).read_bytes())


def load_text(path, source):
    """`load` of a file's content, bytes, read before."""
    resolved = str(Path(path).resolve())
    try:
        text = importlib.util.decode_source(source)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no Python file: {error}") from None
    forget(resolved)
    name = module_name(resolved)
    found = list(registered_in(Path(path), name, text))
    if not found:
        raise ValueError(f'{path} registers nothing: put @register("name") over a class of a part or a task')
    for at, entry in enumerate(found):
        check_name(path, entry.name, [earlier.name for earlier in found[:at]])
    module = run(path, name, Given(resolved, text))
    try:
        targets = [target(path, entry, getattr(module, entry.cls, None)) for entry in found]
    except ValueError:
        del sys.modules[name]
        raise
    for registry, entry in zip(targets, found, strict=True):
        registry.add(entry)
    clear()
    return [entry.name for entry in found]


def loaded():
    """(path, source) of every loaded file, in the order of loading: what a worker process loads to have the same names."""
    return [(given.path, given.text.encode()) for given in (module.__loader__ for module in modules())]


def forget(path=None):
    """Take the names of a loaded file back, or of all of them."""
    for module in modules():
        if path in (None, module.__loader__.path):
            for registry in (TASKS, *spec.REGISTRIES.values()):
                registry.remove(module.__name__)
            del sys.modules[module.__name__]
    clear()


def modules():
    """The modules of the loaded files, in the order of loading."""
    return [module for name, module in list(sys.modules.items()) if name.startswith(PREFIX)]


def clear():
    """Drop what was worked out from the names and sources that there were."""
    for cached in (spec.axis_of, spec.aliases, code.parsed, code.imports, code.tree):
        cached.cache_clear()


def known(text, read):
    """read(), the task or arm that a text names. Raises ValueError as it does, or where it fails and the text has a name that a class
    of no file bears, that of a script, say.
    """
    try:
        return read()
    except ValueError:
        for cls in (cls for base in (Task, *AXIS.values()) for cls in descendants(base)):
            name = vars(cls).get("name")
            if name in NAME.findall(text) and not in_folder(cls):
                where = "the script that runs" if cls.__module__ == "__main__" else f"the module {cls.__module__}"
                raise ValueError(f"{name!r} is registered in {where}: put it in a file of its own and give that to load") from None
        raise


def in_folder(cls):
    """Whether a class is of the suite's own files or of a loaded one."""
    return cls.__module__.startswith((PREFIX, code.PREFIX))


def descendants(cls):
    """The classes that derive from a class, however far."""
    for child in cls.__subclasses__():
        yield child
        yield from descendants(child)


def module_name(resolved):
    """A module's name for a file: the same in every process that loads the same files in the same order."""
    stem = PREFIX + re.sub(r"\W", "_", Path(resolved).stem)
    taken = [module.__name__ for module in modules()]
    return next(name for n in range(1, len(taken) + 2) if (name := stem if n == 1 else f"{stem}_{n}") not in taken)


def check_name(path, name, own):
    """ValueError where a name cannot be said in a spec, or is taken."""
    from attnprobe.probes.named_mixers import NAMED  # which imports what trains, and that this

    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"{path}: a name takes small letters, digits, - and _, not {name!r}")
    if name in own:
        raise ValueError(f"{path} registers {name!r} twice")
    holders = {entry.name: entry.path for registry in (TASKS, *spec.REGISTRIES.values()) for entry in registry.entries.values()}
    suite = {*spec.aliases(), *(mixer.name for mixer in NAMED), *spec.REGISTRIES, "none"}
    if name in holders or name in suite:
        where = holders.get(name)
        own_file = where is not None and where.resolve() in {Path(module.__loader__.path) for module in modules()}
        raise ValueError(f"{path}: the name {name!r} is taken by {where if own_file else 'the suite'}; choose another")


def run(path, name, loader):
    """The module of a text, run. Raises ValueError that names the line where it fails."""
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    module.__file__ = loader.path
    sys.modules[name] = module  # dataclasses and pickle look it up there
    try:
        loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ValueError(f"{path}{line_of(error, loader.path)}: {type(error).__name__}: {error}") from error
    return module


class Blamed(ValueError):
    """An error of a user's file, as the line that `blame` says."""


@contextlib.contextmanager
def blaming(task, specs):
    """Turn an error of a user's file into Blamed, while such a file's task or part is trained: SystemExit too, and any error that arises
    from what it returned. An error of nothing but the suite's goes through as it is.
    """
    try:
        yield
    except Blamed:
        raise
    except (Exception, SystemExit) as error:
        said = blame(error)
        if said is None and not isinstance(error, OSError | MemoryError):
            said = blame_trained(error, task, specs)
        if said is None:
            raise
        raise Blamed(said) from error


def blame(error):
    """One line on an error that passed through a loaded file, here or in a worker: where, what, and what to do; None on any other."""
    for module in modules():
        path = module.__loader__.path
        told = re.findall(rf'File "{re.escape(path)}", line (\d+)', "\n".join(vars(error).get("__notes__", ())))
        where = line_of(error, path) or (f", line {told[-1]}" if told else "")
        if where:
            return f"{path}{where}: {said_by(error)}; probe check {path} may tell more"
    return None


def blame_trained(error, task, specs):
    """One line on an error in the training of a task and specs, whichever of them are of loaded files; None where none is."""
    parts = {str(one): [part for layer in one.layers for part in (*layer.parts().values(), one.swap)] for one in specs}
    named = {name: path for name, values in {task.name: [task], **parts}.items() for value in values if (path := file_of(value))}
    if not named:
        return None
    paths = " ".join(dict.fromkeys(named.values()))
    return f"{', '.join(named)}: {said_by(error)}; probe check {paths} may tell more"


def file_of(value):
    """The loaded file that a value's class stands in, None if in none."""
    module = sys.modules.get(type(value).__module__)
    return module.__loader__.path if module in modules() else None


def said_by(error):
    """An error's kind and message."""
    return f"{type(error).__name__}: {error}".rstrip(" :.")


def line_of(error, path):
    """`, line 12`: the last line of a file that an error passed through, empty where it passed through none."""
    last, traceback = "", error.__traceback__
    while traceback:
        if traceback.tb_frame.f_code.co_filename == path:
            last = f", line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return last


def target(path, entry, cls):
    """The registry that a registered class belongs to. Raises ValueError where it is no complete, frozen task or part."""
    where = f"{path}: class {entry.cls}"
    kinds = {"task": Task, **AXIS}
    kind = next((kind for kind, base in kinds.items() if isinstance(cls, type) and issubclass(cls, base)), None)
    if kind is None:
        raise ValueError(f"{where} is registered and is none of {', '.join(base.__name__ for base in kinds.values())}: derive it from one")
    if "__dataclass_params__" not in vars(cls) or not cls.__dataclass_params__.frozen:
        raise ValueError(f"{where} must be a frozen dataclass: put @dataclass(frozen=True) over it, under @register")
    if cls.__abstractmethods__:
        raise ValueError(f"{where} lacks {', '.join(sorted(cls.__abstractmethods__))}")
    if vars(cls).get("name") != entry.name:
        raise ValueError(f"{where} does not have the name {entry.name!r}: its @register is not the suite's, or a field hides it")
    for field in dataclasses.fields(cls):
        if field.default is dataclasses.MISSING:
            raise ValueError(f"{where}: the field {field.name} needs a default, since the name alone must do")
    paper, aliases = entry.facts.get("paper", ""), entry.facts.get("aliases", {})
    if not isinstance(paper, str):
        raise ValueError(f"{where}: paper must be a text, not {paper!r}")
    if not isinstance(aliases, dict) or not all(isinstance(text, str) for pair in aliases.items() for text in pair):
        raise ValueError(f"{where}: aliases must be names and the specs they are short for, not {aliases!r}")
    for name in aliases:
        if name in spec.axis_of() or name in spec.aliases():
            raise ValueError(f"{where}: the alias {name!r} is taken")
    return TASKS if kind == "task" else spec.REGISTRIES[kind]

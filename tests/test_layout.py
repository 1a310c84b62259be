"""The tree is what DESIGN says: the packages list, who may import whom, who may print, what stays out of start-up."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOPS = ("cli", "kernels", "probes", "theory")
MAY_IMPORT = {"kernels": {"kernels"}, "probes": {"probes", "kernels"}, "theory": {"theory"}, "cli": set(TOPS)}
FILES = sorted(path for top in TOPS for path in (ROOT / top).rglob("*.py"))
LAZY = [path for path in FILES if ROOT / "probes" in path.parents and path.parent not in (ROOT / "probes", ROOT / "probes/checks")]


def imports(path, deep=True):
    """(module, is at module level) of every import of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    for node in ast.walk(tree) if deep else tree.body:
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module, id(node) in top


def relative(path):
    return path.relative_to(ROOT).as_posix()


def test_the_packages_list_names_every_package():
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {"attnprobe." + relative(init.parent).replace("/", ".") for top in TOPS for init in (ROOT / top).rglob("__init__.py")}
    assert listed == found
    assert all((path.parent / "__init__.py").exists() for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_packages_import_only_what_they_may(path):
    own = path.parts[len(ROOT.parts)]
    for module, _ in imports(path):
        if module.startswith("attnprobe."):
            assert module.split(".")[1] in MAY_IMPORT[own], f"{own} must not import {module}"
        assert own != "theory" or module.split(".")[0] not in ("torch", "triton", "typer", "rich")
        if module.split(".")[0] == "triton":
            assert path.name.startswith("fused") or relative(path) in ("kernels/loop.py", "kernels/compile.py")


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_only_the_command_line_prints(path):
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    names = {called.id for called in calls if isinstance(called, ast.Name)}
    standalone = relative(path) in ("theory/check.py", "theory/check_sequences.py", "kernels/compile.py")  # they run alone
    assert "print" not in names or path.parts[len(ROOT.parts)] == "cli" or standalone


@pytest.mark.parametrize("path", LAZY, ids=relative)
def test_tasks_and_parts_import_no_array_library_at_module_level(path):
    assert not {module.split(".")[0] for module, top in imports(path) if top} & {"numpy", "torch", "scipy"}


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_every_file_opens_with_a_sentence(path):
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert doc
    assert doc.split("\n\n")[0].rstrip().endswith((".", ":"))


@pytest.mark.parametrize("top", TOPS)
def test_a_folder_imported_under_its_bare_name_says_what_to_do(top):
    done = subprocess.run([sys.executable, "-c", f"import {top}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"import attnprobe.{top}" in done.stderr


@pytest.mark.parametrize(
    "command",
    ["probe -h", "probe list", "probe run ladder -h", "probe plot curves ladder -h", "probe plot walk -h", "theory -h", "theory list"],
)
def test_help_and_lists_load_neither_torch_nor_scipy(command):
    script = (
        "import sys, runpy; from importlib.metadata import entry_points\n"
        f"sys.argv = {command.split()!r}\n"
        f"app = next(iter(entry_points(group='console_scripts', name={command.split()[0]!r}))).load()\n"
        "try: app()\n"
        "except SystemExit: pass\n"
        "print(*[m for m in ('torch', 'scipy', 'sympy', 'networkx', 'matplotlib') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""

"""A figure as an SVG element to embed or as a file: the same bytes each time, text as text."""

import hashlib
import html
import io
import re
import sys
from pathlib import Path

from attnprobe.cli.plots.style import library, styled
from attnprobe.cli.written import check_place, write_whole
from attnprobe.probes.registry import nearest

FORMATS = ("png", "svg")
DPI = 300
REFERENCE = re.compile(r'(\bid="|url\(#|href="#)([A-Za-z][\w.-]*)')


def check_path(path):
    """The format that a file's name asks for: called before anything is read or drawn.

    Raises ValueError without matplotlib, and on a name that ends otherwise or lies in a directory that is not there.
    """
    library()
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        hint = nearest(kind, FORMATS) if kind else "; give it one of them"
        raise ValueError(f"--out {path}: a figure is a .png or a .svg file{hint}")
    check_place(path)
    return kind


def made(figure, path):
    """Write a Figure, say where."""
    write(figure, path)
    print(f"wrote {path}")


def lacking(arms, line):
    """Say on stderr which arms a figure goes without, and the command that would compute them."""
    if arms:
        print(f"note: not stored, so not drawn: {', '.join(arms)}; {line} computes them", file=sys.stderr)


def write(figure, path):
    """Write a Figure to a .png or .svg file."""
    kind = check_path(path)
    write_whole(path, png(figure) if kind == "png" else document(figure).encode())


def png(figure):
    """A Figure as the bytes of a PNG file."""
    file = io.BytesIO()
    with styled():
        figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
    return file.getvalue()


def document(figure):
    """A Figure as the text of an SVG file."""
    return f'<?xml version="1.0" encoding="utf-8"?>\n{svg(figure)}\n'


def svg(figure):
    """A Figure as an <svg> element: named for screen readers by the figure's label, with ids that no other figure on a page has."""
    file = io.StringIO()
    with styled():
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    drawn = file.getvalue()
    drawn = drawn[drawn.index("<svg") :].strip()
    drawn = re.sub(r"\s*<style type=\"text/css\">.*?</style>", "", drawn, flags=re.DOTALL)  # it would hold for the whole page
    salt = "f" + hashlib.sha256(drawn.encode()).hexdigest()[:8]
    drawn = REFERENCE.sub(rf"\1{salt}-\2", drawn)
    name = html.escape(str(figure.get_label()))
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{name}" stroke-linejoin="round" stroke-linecap="butt" ', 1)

"""A walk as lines of text: each key's line at its level, from where it is written to where the field falls below it, or to the query."""

from dataclasses import dataclass

from rich.text import Text

LABEL = 8  # columns that row labels take


@dataclass(frozen=True)
class Marks:
    """The characters of a drawing: a key that is alive, one that is not, its line, the end of a line, the field where it is no key."""

    alive: str
    killed: str
    line: str
    lives: str
    end: str
    field: str


FULL = Marks("●", "○", "─", "▸", "\u2573", "·")
ASCII = Marks("o", "x", "-", ">", "X", ".")
ALIVE, KILLED, FIELD = "bold green", "dim", ""


def marks(ascii_only):
    """The Marks that an encoding holds."""
    return ASCII if ascii_only else FULL


def walk_lines(walk, first, last, cell, use):
    """The lines of positions first..last-1 of a Walk, from the highest level with a mark there to the lowest.

    cell: columns a position; use: Marks.
    """
    low, high = walk.levels
    rows = {level: [[" ", ""] for _ in range(cell * len(walk.field))] for level in range(low, high + 1)}
    for key in walk.keys:
        end, row = walk.end(key), rows[key.level]
        style = ALIVE if end is None else KILLED
        stop = cell * (len(walk.field) - 1 if end is None else end)
        for x in range(cell * key.at + 1, stop):
            row[x] = [use.line, style]
        if stop > cell * key.at:
            row[stop] = [use.lives if end is None else use.end, style]
    for at, level in enumerate(walk.field):
        if level is not None and rows[level][cell * at][0] not in (use.lives, use.end):
            rows[level][cell * at] = [use.field, FIELD]
    for key in walk.keys:
        alive = walk.end(key) is None
        rows[key.level][cell * key.at] = [use.alive if alive else use.killed, ALIVE if alive else KILLED]
    shown = {level: row[cell * first : cell * last] for level, row in rows.items()}
    marked = [level for level, row in shown.items() if any(mark != " " for mark, _ in row)]
    for level in range(max(marked), min(marked) - 1, -1):
        line = Text(f"{f'level{level:>2}':<{LABEL}}")
        for mark, style in shown[level]:
            line.append(mark, style)
        line.rstrip()
        yield line


def caption(walk, use):
    """What the marks mean."""
    keys = f"{use.alive} a key that is alive at the query, {use.killed} one that is {walk.killed}"
    return f"{keys}, at {use.end} where the field falls below its level; {use.field} the field"

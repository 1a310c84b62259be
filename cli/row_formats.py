"""Rows as CSV, JSON and Parquet, and comparisons as Markdown and LaTeX tables."""

import json
import re

from attnprobe.cli.row_schema import ARMS, SCHEMA, SCORES, SEEDS

SHORT = ("task", "options", "arm", "head_dim", "seed", "status", "metric", "value", "steps", "state")  # of a row a seed, on paper
SIGNS = {letter: f"\\{letter}" for letter in "&%$#_{}"}
NAMED = {
    "\\": "backslash",
    "~": "asciitilde",
    "^": "asciicircum",
    "<": "less",
    ">": "greater",
    "|": "bar",
    '"': "quotedbl",
    "\N{EN DASH}": "endash",
}
LATEX = SIGNS | {letter: rf"\text{name}{{}}" for letter, name in NAMED.items()}
POWER = re.compile(r"(-?[0-9.]+)e([+-])0*([0-9]+)")


def kind(name):
    """The type of a column, by its name."""
    return (SEEDS.get(name) or ARMS.get(name) or SCORES)[0]


def flat(name, value):
    """A cell as one value: what is json is its text."""
    return json.dumps(value, sort_keys=True) if kind(name) == "json" else value


def csv_text(rows):
    """A header line and a line a row; an empty cell where there is nothing."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow(["" if value is None else flat(name, value) for name, value in row.items()])
    return out.getvalue()


def json_text(rows, what):
    """{schema, rows: what, columns: {name: {type, unit, meaning}}, data}."""
    told = {name: dict(zip(("type", "unit", "meaning"), SEEDS.get(name) or ARMS.get(name) or SCORES, strict=True)) for name in rows[0]}
    return json.dumps({"schema": SCHEMA, "rows": what, "columns": told, "data": rows}, allow_nan=False, indent=1) + "\n"


def parquet_bytes(rows):
    """The rows as a Parquet file, each column with its type, the schema's version in the metadata. Raises ValueError without pyarrow."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ValueError("--parquet needs pyarrow: pip install 'attnprobe[parquet]'; --csv and --json need nothing more") from None
    import io

    types = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "text": pa.string(), "json": pa.string()}
    schema = pa.schema([(name, types[kind(name)]) for name in rows[0]], metadata={"attnprobe.schema": str(SCHEMA)})
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([{name: flat(name, value) for name, value in row.items()} for row in rows], schema), out)
    return out.getvalue()


def paper_tables(comparisons):
    """(title, notes, headings, justifications, rows of text) for each (Comparison, report); a control says that it is one."""
    from attnprobe.cli.tables import all_columns, full_columns

    for comparison, report in comparisons:
        names, columns = full_columns(report), all_columns(report)
        cells = [[columns[name][1](row) + " (control)" * (row["control"] and name == "arm") for name in names] for row in report["arms"]]
        yield comparison.title, notes(report), [columns[name][0] for name in names], [columns[name][2] for name in names], cells


def notes(report):
    """The lines under a run's table, at a width where every column stands."""
    from rich.console import Console

    from attnprobe.cli.footer import footer

    return [line.replace("below the blank row: the control, the same", "control: the same") for line in footer(report, Console(width=1000))]


def paper_seeds(rows):
    """The same of rows a seed, as one table."""
    right = [kind(name) in ("int", "float") for name in SHORT]
    cells = [
        ["-" if row[name] is None else options(row[name]) if name == "options" else digits(row[name]) for name in SHORT] for row in rows
    ]
    yield "Results by seed", [], [name.replace("_", " ") for name in SHORT], ["right" if one else "left" for one in right], cells


def options(given):
    """A task's options in one cell."""
    return " ".join(f"{name}={value}" for name, value in given.items())


def digits(value):
    """A value as text, floats with three significant digits."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def markdown_text(tables):
    """Tables as GitHub Markdown, each under its title, its notes below."""
    blocks = []
    for title, below, headings, sides, cells in tables:
        lines = [
            f"**{plain(title)}**",
            "",
            row_line(headings),
            "|" + "|".join("---:" if side == "right" else "---" for side in sides) + "|",
        ]
        blocks.append("\n".join([*lines, *map(row_line, cells), "", *(f"- {plain(line)}" for line in below)]).rstrip() + "\n")
    return "\n".join(blocks)


def row_line(cells):
    """One row of a Markdown table."""
    return "| " + " | ".join(map(plain, cells)) + " |"


def plain(text):
    """Text that Markdown does not read as markup."""
    return re.sub(r"([\\`*_{}\[\]<|~])", r"\\\1", " ".join(text.split()))


def latex_text(tables):
    """Tables for booktabs, each in a table environment with its title as caption and its notes below."""
    blocks = ["% needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}"]
    for title, below, headings, sides, cells in tables:
        lines = [r"\begin{table}", r"\centering", rf"\caption{{\texttt{{{escaped(title)}}}}}", r"\small"]
        lines += [rf"\begin{{tabular}}{{@{{}}{''.join('r' if side == 'right' else 'l' for side in sides)}@{{}}}}", r"\toprule"]
        lines += [" & ".join(map(escaped, headings)) + r" \\", r"\midrule"]
        lines += [" & ".join(map(cell, row)) + r" \\" for row in cells]
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [r"\par\smallskip\footnotesize\raggedright", *(f"{escaped(line)}.\\\\" for line in below)] if below else []
        blocks.append("\n".join([*lines, r"\end{table}"]))
    return "\n\n".join(blocks) + "\n"


def cell(text):
    """One cell: a number in scientific notation as a power of ten, a range with its dash, a lone dash as one, anything else as it is."""
    if power := POWER.fullmatch(text):
        digits, sign, exponent = power.groups()
        return rf"${digits}\times 10^{{{'-' if sign == '-' else ''}{exponent}}}$"
    if text == "-":
        return "--"
    return escaped(re.sub(r"^([0-9]+)-([0-9]+)(?=%|/[0-9])", "\\1\N{EN DASH}\\2", text))


def escaped(text):
    """Text that LaTeX prints as it is."""
    return re.sub("--", "-{}-", "".join(LATEX.get(letter, letter) for letter in " ".join(text.split())))

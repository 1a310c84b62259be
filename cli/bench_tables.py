"""The tables of `probe bench kernels`: ratios first, then what they are of."""

from rich import box
from rich.table import Table

from attnprobe.cli.shell import console

WIDE = 110  # columns of a terminal that the whole table needs
NARROW = ("kernel", "D", "floor", "bound", "loop", "regs", "spills")


def show(found):
    """Print what was found."""
    out = console()
    wide = out.width >= WIDE
    out.print(predicted(found["predicted"]))
    out.print(compiled(found["compiled"], wide))
    out.print(
        "sm_90, bf16. Floors in us on an H200, of B 8, H 12, T 2048, causal or in a window of 256, predicted.", style="dim", highlight=False
    )
    if not wide:
        out.print(f"More columns from a width of {WIDE}, or by --json.", style="dim", highlight=False)
    for title in ("checked", "swept", "timed"):
        if rows := found.get(title):
            done = [row for row in rows if row["measured"]]
            for made in {"checked": checked, "swept": swept, "timed": timed}[title](done) if done else ():
                out.print(made, highlight=False)
            for why, n in reasons(rows).items():
                out.print(f"{title}: {n} of {len(rows)} rows not measured: {why}", highlight=False)
    where = found["device"] or "no GPU: nothing was timed"
    out.print(f"torch {found['torch']}, triton {found['triton']}, {where}", style="dim", highlight=False)


def reasons(rows):
    """Why rows were not measured -> how many."""
    found = {}
    for row in rows:
        if not row["measured"]:
            found[row["why"]] = found.get(row["why"], 0) + 1
    return found


def grid(columns, rows):
    """A table, text to the left and numbers to the right."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, heading in enumerate(columns):
        made.add_column(heading, justify="left" if i == 0 or heading in ("bound", "mode", "of") else "right", no_wrap=True)
    for row in rows:
        made.add_row(*row)
    return made


def predicted(rows):
    """Ratios of floors."""
    cells = [[f"{row['kind']} / {row['over']}", str(row["head_dim"]), f"{row['forward']:.2f}", f"{row['both']:.2f}"] for row in rows]
    return grid(["predicted ratio of floors", "D", "forward", "and backward"], cells)


def compiled(rows, wide):
    """What each kernel uses, and its floor."""
    cells = []
    for row in rows:
        floors = row["floors"]
        cell = {
            "kernel": row["kernel"],
            "D": str(row["head_dim"]),
            "floor": f"{floors['floor']:.0f}" if floors else "-",
            "bound": floors["bound"] if floors else "-",
            "regs": str(row["registers"]),
            **{name: str(row[name]) for name in ("loop", "spills", "stack", "shared", "mma", "mufu", "async")},
        }
        cells.append(cell if wide else {name: cell[name] for name in NARROW})
    return grid(list(cells[0]), [list(cell.values()) for cell in cells])


def checked(rows):
    """Relative errors against float64, the worst of the shapes."""
    worst = {}
    for row in rows:
        worst.setdefault((row["provider"], row["of"]), []).append(row["error"])
    yield grid(["provider", "of", "worst error"], [[*key, f"{max(errors):.1e}"] for key, errors in worst.items()])


def swept(rows):
    """Times by tiles."""
    cells = [
        [row["provider"], row["mode"], str(row["D"]), "x".join(str(v) for v in row["tiles"].values()), f"{row['median']:.3f}"]
        for row in rows
    ]
    yield grid(["provider", "mode", "D", "tiles", "ms"], cells)


def timed(rows):
    """A table a case and mode: ratios, then milliseconds and memory."""
    of = {}
    for row in rows:
        name = "forward and backward" if row["mode"] == "both" else row["mode"]
        of.setdefault(f"{name}, T {row['T']}, D {row['D']}, dead tiles {row['dead_tiles']:.2f}", []).append(row)
    beside = {
        "of_softmax": "/ softmax",
        "of_fox": "/ fox",
        "of_fpa": "/ fpa",
        "of_sdpa_flash": "/ flash",
        "of_flex_fpa": "/ flex",
        "of_sdpa": "/ sdpa",
    }
    for title, some in of.items():
        held = [name for name in beside if any(name in row for row in some)]
        cells = [
            [row["provider"], *(f"{row[name]:.2f}" for name in held), f"{row['median']:.3f}", f"{row['peak_bytes'] / 2**20:.0f}"]
            for row in some
        ]
        yield title
        yield grid(["provider", *(beside[name] for name in held), "ms", "MiB"], cells)

"""The table of `probe field`: measured receptive fields beside the simulated and the computed ones."""

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text


def field_table(result):
    """A run of `probe field` as a Table, with its setting above it and what the columns are below."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, justify in {"arm": "left", "layer": "right", "measured": "right", "simulated": "right", "recursion": "right"}.items():
        table.add_column(name, justify=justify, no_wrap=name != "arm", overflow="fold")
    for arm in result["arms"]:
        for row in arm["layers"]:
            shares = (row[name] for name in ("measured", "simulated", "recursion"))
            cells = ("-" if share is None else f"{share:.4f}" for share in shares)
            table.add_row(arm["mixer"] if row["layer"] == 1 else "", str(row["layer"]), *cells)
        table.add_section()
    config = result["config"]
    weights = f"trained for {config['steps']} steps" if config["trained"] else "initial weights"
    options = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in config["options"].items())
    notes = (
        "measured: share of pairs s <= t whose gradient d h_l[t] / d h_0[s] is not 0, mean over seeds and test-time draws",
        "simulated: share that drawn windows reach, cut at the ends of the order as a model's are",
        "recursion: swa exact; sa by T18, on a ring of slots, which reaches a little more; none for two windows at once",
        "-: no theory where layers differ, a routing looks at content, keys are filtered or a weight may be 0",
    )
    setting = f"{result['task']}: {options}; {weights}; seeds {', '.join(str(seed) for seed in config['seeds'])}"
    return Group(Text(setting, style="bold"), table, *(Text(note, style="dim") for note in notes))

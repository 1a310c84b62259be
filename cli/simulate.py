"""`theory simulate`: what windows over shuffled orders reach, drawn at random, beside what the theory computes."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from attnprobe.cli.shell import Group, command, console

ALL_SOURCES = 1 << 14  # up to here every token is a source; above, SAMPLE of them, evenly spaced
SAMPLE = 128
BOUNDS = {"n": (2, 1 << 20), "window": (1, 1024), "layers": (1, 4096), "seed": (0, 2**63 - 1)}
WORLD = {"n": (64, 1 << 17), "degree": (4, 256), "seed": (0, 2**63 - 1)}
NODES = 256  # from which paths are searched


class Routing(StrEnum):
    sa = "sa"
    swa = "swa"
    both = "sa+swa"


app = typer.Typer(cls=Group, context_settings={"help_option_names": ["-h", "--help"]}, rich_markup_mode="rich")
Seed = Annotated[int, typer.Option(help="Seed of the draw.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]


@app.callback()
def main():
    """[bold]theory simulate receptive-field[/bold]

    [bold]theory simulate small-world[/bold]

    Draw what attention windows over shuffled orders reach, and hold it against the theory (T17, T18, T19).
    """


@app.command("receptive-field", short_help="What tokens have seen, layer by layer.")
@command
def receptive_field(
    n: Annotated[int, typer.Option("--n", help="Tokens.")] = 4096,
    window: Annotated[int, typer.Option(help="Window, the token itself included; sa+swa gives each half of it.")] = 64,
    layers: Annotated[int, typer.Option(help="Layers.")] = 6,
    routing: Annotated[Routing, typer.Option(help="Stochastic attention, a sliding window, or both in a layer.")] = Routing.sa,
    causal: Annotated[bool, typer.Option("--causal", help="Tokens see no later ones.")] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
):
    """[bold]theory simulate receptive-field --n 16384 --window 64 --layers 8[/bold]

    [bold]theory simulate receptive-field --n 4096 --routing sa+swa --causal[/bold]

    Draw one stack of layers and count exactly, bit by bit, which tokens have seen which. Windows go round a ring of slots; a causal sliding
    window looks back only. Beside it stands what the recursion says; for a sliding window it is exact, for sa+swa there is none.
    """
    _check({"n": n, "window": window, "layers": layers, "seed": seed}, BOUNDS)
    if window > n:
        raise ValueError(f"--window must be at most --n, {n}, got {window}")
    result = simulate(n, window, layers, routing.value, causal, seed)
    if as_json:
        print(json.dumps(result, indent=2))
    else:
        from attnprobe.cli.simulate_tables import field_table

        console().print(field_table(result))


@app.command("small-world", short_help="Clustering and mean path of the windows' graphs.")
@command
def small_world(
    n: Annotated[int, typer.Option("--n", help="Nodes.")] = 10240,
    degree: Annotated[int, typer.Option(help="Degree, a multiple of 4; the union gives each half of it.")] = 32,
    seed: Seed = 0,
    as_json: AsJson = False,
):
    """[bold]theory simulate small-world[/bold]

    [bold]theory simulate small-world --n 131072 --degree 24[/bold]

    Draw the graph that a sliding window, stochastic attention, and the two together join tokens by in one layer, and measure how small a
    world it is. sigma = (C / C_rand) / (L / L_rand) needs a random graph to be held against: three are.
    """
    _check({"n": n, "degree": degree, "seed": seed}, WORLD)
    if degree % 4 or 4 * degree > n:
        raise ValueError(f"--degree must be a multiple of 4 and at most a quarter of --n, {n}, got {degree}")
    result = world(n, degree, seed)
    if as_json:
        print(json.dumps(result, indent=2))
    else:
        from attnprobe.cli.simulate_tables import world_table

        console().print(world_table(result))


def simulate(n, w, layers, kind, causal, seed):
    """Return the simulation as JSON data: layer by layer the pairs (token, source) seen and missing, their share, and the recursion's."""
    import numpy as np

    from attnprobe.theory import recursion, routing

    rng = np.random.default_rng(seed)
    drawn = routing.draw(routing.windows(kind, w, causal), n, layers, rng)
    sources = np.arange(n) if n <= ALL_SOURCES else routing.spread(n, SAMPLE, rng)
    possible = int((n - sources).sum()) if causal else n * len(sources)
    shares = recursion.shares(kind, n, w, layers, causal) or [None] * layers
    rows = []
    for layer, (seen, share) in enumerate(zip(routing.coverage(n, drawn, sources), shares, strict=True), 1):
        pairs = int(seen.sum())
        rows.append({"layer": layer, "pairs": pairs, "share": pairs / possible, "recursion": share, "missing": possible - pairs})
    given = {"n": n, "window": w, "layers": layers, "routing": kind, "causal": causal, "seed": seed}
    return {"command": "simulate receptive-field", **given, "sources": len(sources), "pairs": possible, "rows": rows}


def world(n, k, seed):
    """Return the small-world metrics as JSON data: a row a graph, sigma against a random regular graph; the union's against two others."""
    import numpy as np

    from attnprobe.theory import small_world as graphs

    found = graphs.measure(n, k, min(n, NODES), np.random.default_rng(seed))
    regular = (k - 1) / n, found["random regular mean path"]
    lattice = graphs.lattice_clustering(k), graphs.lattice_path(n, k)
    union = found["clustering"], found["mean path"]
    named = (("swa", k, lattice), ("sa", k, lattice), ("sa+swa", found["mean degree"], union), ("random regular", k, regular))
    rows = [
        {"graph": name, "degree": degree, "clustering": C, "mean path": L, "sigma": graphs.sigma(C, L, *regular)}
        for name, degree, (C, L) in named
    ]
    others = {name.removeprefix("sigma, "): value for name, value in found.items() if name.startswith("sigma")}
    given = {"n": n, "degree": k, "seed": seed}
    return {"command": "simulate small-world", **given, "rows": rows, "sigma of sa+swa": others, "connectome": graphs.CONNECTOME}


def _check(values, bounds):
    for name, value in values.items():
        low, high = bounds[name]
        if not low <= value <= high:
            raise ValueError(f"--{name} must be in {low}..{high}, got {value}")

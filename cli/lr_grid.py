"""`--lr-grid`: reads it, runs it, and writes down every point of it."""

SELECTION = "1000:1005"
RULE = "most selection seeds solved, then the better median, then the smaller rate"
MOST_RATES = 12


def read(rates, selection, reported):
    """(rates ascending, selection seeds) from what was typed, None without rates. Raises ValueError, also where reported seeds select."""
    if rates is None:
        if selection is not None:
            raise ValueError("--select-seeds are of --lr-grid, and there is none")
        return None
    from attnprobe.cli import inputs

    values = [inputs.number(float, word.strip(), "--lr-grid") for word in rates.split(",")]
    if not all(0 < value < float("inf") for value in values) or len(set(values)) < len(values) or not 2 <= len(values) <= MOST_RATES:
        raise ValueError(f"--lr-grid takes 2 to {MOST_RATES} different positive rates such as 0.003,0.01,0.03, not {rates!r}")
    seeds = inputs.seeds(selection or SELECTION, "--select-seeds")
    shared = sorted(set(seeds) & set(reported))
    if shared:
        raise ValueError(f"--select-seeds must share no seed with --seeds, or a rate is chosen by what is reported; both have {shared[0]}")
    return tuple(sorted(values)), seeds


def run(task, arms, grid, seeds, recipe, train):
    """(ArmResults on `seeds`, each at its chosen rate, and the grid as plain data). grid: of `read`; train: see selection.search."""
    from attnprobe.probes.selection import choose, report_on, search

    rates, selection = grid
    points = search(task, arms, rates, selection, recipe, train)
    chosen = {arm: choose(found, task.better).lr for arm, found in points.items()}
    results = report_on(arms, chosen, seeds, recipe, train)
    rows = [plain(task, arm, point, chosen[arm]) for arm, found in points.items() for point in found]
    return results, {"rates": list(rates), "seeds": list(selection), "rule": RULE, "points": rows}


def plain(task, arm, point, chosen):
    """One point as a row."""
    seeds = [{"seed": seed, "status": r["status"], "metric": r["score"].get(task.metric)} for seed, r in point.results.items()]
    failed = [seed["seed"] for seed in seeds if seed["status"] == "failed"]
    given = {"arm": str(arm), "mixer": str(arm.spec), "head_dim": arm.head_dim, "lr": point.lr, "chosen": point.lr == chosen}
    given |= {"metric": task.metric}
    return given | {"n": len(seeds), "solved": point.solved, "failed": failed, "median": point.median, "seeds": seeds}


def line(grid):
    """What was done, for a footer."""
    rates, seeds = ", ".join(f"{lr:g}" for lr in grid["rates"]), grid["seeds"]
    return (
        f"lr: chosen for each arm among {rates} on the selection seeds {seeds[0]}:{seeds[-1] + 1} alone ({grid['rule']}); "
        "every point is in --json and --csv"
    )

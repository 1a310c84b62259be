"""What `probe plot ladder` does: find the ladder's stored results at every r, hold them against theory, write the figure."""

from attnprobe.cli.plot_options import asked, run_options
from attnprobe.cli.plots import output, stored
from attnprobe.probes.tasks import TASKS


def draw_ladder(arm, head_dim, slot, seeds, steps, store, out):
    """Read every stored r of the ladder, draw."""
    from attnprobe.cli.plots import ladder

    output.check_path(out)
    if slot not in ("balanced", "plain"):
        raise ValueError(f"--slot must be balanced or plain, not {slot!r}")
    task, given = TASKS["ladder"](slot=slot), {"head_dim": head_dim, "steps": steps}
    question = asked(task, given, arm, seeds, free="r")
    if other := [str(one) for one in question.arms or () if one.head_dim != head_dim]:
        raise ValueError(f"--arm {other[0]}: all arms are drawn at one head dimension, {head_dim}; give it by --head-dim")
    line = stored.run_line(["run"], task, {"r": 6, **run_options(task, given, arm, seeds, store)})
    found = stored.find(store, question)
    if not found.held:
        raise ValueError(f"{stored.absent([found], store, 'such run of the ladder')}; run it at several r: {line}")
    by_r = {one: {r: list(held.values()) for r, held in found.records(one).items()} for one in found.arms}
    stored.tell([found], store, f"; r {', '.join(map(str, sorted(set().union(*by_r.values()))))}")
    output.lacking([str(one) for one in question.arms or () if one not in by_r], line)
    output.made(ladder.draw(ladder.gather({one.name: held for one, held in by_r.items()}, head_dim, slot, found.cut)), out)

"""Receptive fields by layer: the measured share of pairs, each seed a dot, beside what drawn windows reach and theory's recursion."""

from dataclasses import dataclass

from attnprobe.cli.plots import style


@dataclass(frozen=True)
class Arm:
    """An arm's shares by layer: of every seed (seeds x layers), their mean, and what simulation and recursion say, None where nothing."""

    name: str
    seeds: tuple
    measured: tuple
    simulated: tuple
    recursion: tuple


@dataclass(frozen=True)
class Field:
    """What is drawn: the setting in words, how many seeds, and the arms."""

    title: str
    arms: tuple


def gather(result):
    """The Field of a run of `probe field` (its JSON). Raises ValueError where it is none."""
    try:
        arms = tuple(
            Arm(
                arm["mixer"],
                tuple(tuple(seed["shares"]) for seed in arm["seeds"]),
                *(tuple(row[name] for row in arm["layers"]) for name in ("measured", "simulated", "recursion")),
            )
            for arm in result["arms"]
        )
        config = result["config"]
        weights = f"after {config['steps']} steps" if config["trained"] else "initial weights"
        return Field(f"{result['task']}, {weights}, {len(config['seeds'])} seed{'s' * (len(config['seeds']) != 1)} an arm", arms)
    except (KeyError, TypeError) as error:
        raise ValueError(f"this is not the JSON of probe field: {error} is missing or of another kind") from None


def draw(data):
    """The figure of a Field."""
    from matplotlib.lines import Line2D

    with style.styled():
        told = "; ".join(f"{arm.name} " + ", ".join(f"{100 * share:.1f} %" for share in arm.measured) for arm in data.arms)
        figure = style.figure(2.9, f"Share of earlier positions seen, by layer, {data.title}: {told}")
        panel = figure.subplots()
        for place, arm in enumerate(data.arms):
            draw_arm(panel, place, arm)
        panel.set_ylim(0, 104)
        panel.grid(axis="y")
        layers = range(1, max(len(arm.measured) for arm in data.arms) + 1)
        panel.set_xticks(layers)
        panel.set_xlim(layers[0] - 0.3, layers[-1] + 0.3)
        panel.set_xlabel("layer")
        panel.set_ylabel("pairs s ≤ t seen (%)")
        style.title(figure, data.title)
        looks = {"measured": {"marker": "o", "linewidth": 0}} | {
            name: look for name, look in LINES.items() if any(None not in getattr(arm, name) for arm in data.arms)
        }
        handles = [Line2D([], [], color=style.QUIET, label=name, **look) for name, look in looks.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=style.SIZE - 1, columnspacing=1.5)
        style.name_ends(panel, [(place, arm.name, 100 * arm.measured[-1]) for place, arm in enumerate(data.arms)])
        return figure


LINES = {"simulated": {"linewidth": 0.8, "dashes": (1, 1.2)}, "recursion": {"linewidth": 1.1}}


def draw_arm(panel, place, arm):
    """One arm."""
    colour, marker, _ = style.SERIES[place % len(style.SERIES)]
    layers = range(1, len(arm.measured) + 1)
    for name, look in LINES.items():
        shares = getattr(arm, name)
        if None not in shares:
            panel.plot(layers, [100 * share for share in shares], color=colour, zorder=2, **look)
    for shares in arm.seeds:
        panel.plot(layers, [100 * share for share in shares], marker=marker, markersize=1.8, linewidth=0, color=colour, alpha=0.5, zorder=3)
    panel.plot(layers, [100 * share for share in arm.measured], marker=marker, markersize=4.5, linewidth=0, color=colour,
               markeredgecolor="white", markeredgewidth=0.4, zorder=4)  # fmt: skip

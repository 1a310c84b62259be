"""Figures: what is gathered is right by hand, what is drawn is whole, readable and the same each time; no matplotlib settings leak."""

import io
import itertools
import math
import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.image import imread

from attnprobe.cli.plots import curves, field, ladder, matrix, output, size, style, walk
from attnprobe.probes.stats import clopper_pearson
from attnprobe.probes.tasks.flip_flop import FlipFlop
from attnprobe.probes.tasks.ladder import Ladder
from attnprobe.theory.rank import ceiling


def record(seed=0, status="solved", losses=(), curve=(), realised=1.0, seconds=1.0, stack=15):
    """A stored record, as far as figures read it."""
    score = {} if status == "failed" else {"kl": 0.05, "realised": realised}
    points = {"losses": [list(point) for point in losses], "curve": [list(point) for point in curve]}
    result = {"seed": seed, "status": status, "score": score} | points
    return {"identity": {"seed": seed, "device": "cpu"}, "result": result, "recorded": {"seconds": seconds, "stack_size": stack}}


def ladder_data():
    """Five arms at d = 4 and r = 4..10, most at the same heights, so that names and marks crowd."""

    def records(r, name, at):
        status = "solved" if name == "fpa" or r < 8 else "unsolved"
        return [record(seed, status, realised=1.0 if name == "fpa" else 0.9 / (r - 3) + 0.01 * at) for seed in range(15)]

    names = ("fpa", "rope", "nope", "alibi", "fox")
    found = {name: {r: records(r, name, at) for r in range(4, 11)} for at, name in enumerate(names)}
    return ladder.gather(found, 4)


def curves_data():
    def losses(seed, rate):
        return [(step, math.exp(-rate * step * (1 + seed / 20) / 100)) for step in range(50, 801, 50)]

    names = {"fpa": 0.9, "fir+fpa+power-tau": 0.1, "rope": 0.05, "selective(maps=own)": 0.2, "fox": 0.02}
    arms = {
        name: {seed: record(seed, "solved" if rate > 0.15 else "unsolved", losses(seed, rate)) for seed in range(15)}
        for name, rate in names.items()
    }
    arms["fox"][3] = record(3, "failed", [(50, 0.9), (100, None)])
    return curves.gather(Ladder(r=8), arms)


def matrix_data():
    names = ("softmax", "rope", "fpa", "pn_fir_tau", "fir+fpa+power-tau", "fpa-clamped")
    tasks = ("ladder", "unanswerable", "flip-flop")
    kinds = itertools.cycle([("can", 5), ("cannot", 0), (None, 3)])
    cells = [
        {"task": task, "mixer": name, "refused": None, "solved": k, "n": 5, "failed": [], "theory": theory}
        for (task, name), (theory, k) in zip(itertools.product(tasks, names), kinds, strict=False)
    ]
    cells[4]["refused"] = "it makes no sense"
    cells[5] |= {"n": 4, "failed": [2]}
    del cells[9]
    return matrix.gather({"tasks": tasks, "mixers": [{"name": name} for name in names], "cells": cells, "seeds": range(5)})


def one_cell():
    cell = {"task": "name-search", "mixer": "fpa", "refused": None, "solved": 15, "n": 15, "failed": [], "theory": "can"}
    return {"tasks": ["name-search"], "mixers": [{"name": "fpa"}], "cells": [cell], "seeds": range(15)}


def field_json():
    def arm(name, measured, recursion):
        rows = enumerate(zip(measured, recursion, strict=True), 1)
        layers = [{"layer": i, "measured": share, "simulated": share + 0.01, "recursion": said} for i, (share, said) in rows]
        return {"mixer": name, "seeds": [{"seed": s, "shares": [m + 0.002 * s for m in measured]} for s in range(3)], "layers": layers}

    arms = [arm("rope+sa", [0.13, 0.53, 0.82], [0.13, 0.54, 0.83]), arm("rope+gated", [0.17, 0.72, 1.0], [None] * 3)]
    return {"task": "latch", "config": {"trained": False, "steps": 0, "seeds": [0, 1, 2]}, "arms": arms}


def size_data():
    found = {name: {r: [record(seconds=0.1 * r * k)] * 15 for r in (4, 6, 8, 12)} for k, name in enumerate(("fpa", "rope", "nope"), 1)}
    return size.gather("ladder", "r", found)


def walk_data():
    task, word = Ladder(r=10), "101100101"
    even = np.tril(np.ones((task.seq_len, task.seq_len)))
    even /= even.sum(1, keepdims=True)
    return walk.gather(task, word, 3, {"fpa": even.tolist(), "fir+fpa+power-tau": even.tolist()})


def crowded():
    """Nineteen values of r, names of all lengths and all at one height."""
    names = ("fpa", "rope", "fir+fpa+power-tau", "selective(maps=own)", "fpa-nopsi", "zero-keys+fpa", "softmax/fpa:clamp=0.3")
    return ladder.gather({name: {r: [record()] * 15 for r in range(2, 21)} for name in names}, 4)


def wide():
    """A matrix of more mechanisms than tasks, whose cells are as high as they are wide."""
    names, tasks = ["fir+sparsemax", "fir+entmax15", "softmax"] * 3 + ["fir+sparsemax", "power-tau"], ["ladder", "recall"]
    names = [f"{name}{at}" for at, name in enumerate(names)]
    cells = [
        {"task": task, "mixer": name, "refused": None, "solved": 1, "n": 2, "failed": [], "theory": None}
        for task, name in itertools.product(tasks, names)
    ]
    return matrix.gather({"tasks": tasks, "mixers": [{"name": name} for name in names], "cells": cells, "seeds": range(2)})


FIGURES = {
    "wide": lambda: matrix.draw(wide()),
    "crowded": lambda: ladder.draw(crowded()),
    "small": lambda: matrix.draw(matrix.gather(one_cell())),
    "curves": lambda: curves.draw(curves_data()),
    "ladder": lambda: ladder.draw(ladder_data()),
    "matrix": lambda: matrix.draw(matrix_data()),
    "field": lambda: field.draw(field.gather(field_json())),
    "size": lambda: size.draw(size_data()),
    "walk": lambda: walk.draw(walk_data()),
}


def texts(figure):
    """(text, its box in pixels, whether the box is its own alone: not of slanted text) of every text that is drawn."""
    canvas, drawn = FigureCanvasAgg(figure), {}
    renderer = canvas.get_renderer()
    draw_text = renderer.draw_text

    def noted(gc, x, y, s, prop, angle, ismath=False, mtext=None):
        drawn[id(mtext)] = mtext
        draw_text(gc, x, y, s, prop, angle, ismath, mtext)

    renderer.draw_text = noted
    canvas.draw()
    drawn.pop(id(None), None)  # the lines of texts of several
    drawn |= {id(text): text for text in figure.findobj(matplotlib.text.Text) if "\n" in text.get_text()}
    return [(text.get_text(), text.get_window_extent(renderer), text.get_rotation() % 90 == 0) for text in drawn.values()]


@pytest.mark.parametrize("kind", FIGURES)
def test_no_text_is_cut_off_or_stands_on_another(kind):
    figure = FIGURES[kind]()
    found = texts(figure)
    assert len(found) > 3
    width, height = figure.bbox.size
    for text, box, _ in found:
        assert box.x0 >= -0.5, text
        assert box.x1 <= width + 0.5, text
        assert box.y0 >= -0.5, text
        assert box.y1 <= height + 0.5, text
    for (one, a), (other, b) in itertools.combinations([(text, box) for text, box, straight in found if straight], 2):
        overlap = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(overlap) < 2, (one, other)  # pixels at 100 dpi


@pytest.mark.parametrize("kind", FIGURES)
def test_a_figure_is_a_column_wide_and_its_type_no_smaller_than_five_points(kind):
    figure = FIGURES[kind]()
    assert figure.get_figwidth() == 3.4
    sizes = {text.get_fontsize() for text in figure.findobj(matplotlib.text.Text) if text.get_text().strip()}
    assert min(sizes) >= 5
    assert max(sizes) <= 8


@pytest.mark.parametrize("kind", FIGURES)
def test_an_svg_is_the_same_bytes_each_time_with_text_as_text_and_nothing_to_fetch(kind):
    first, again = output.svg(FIGURES[kind]()), output.svg(FIGURES[kind]())
    assert first == again
    root = ElementTree.fromstring(first)
    assert root.tag.endswith("svg")
    assert len([node for node in root.iter() if node.tag.endswith("}text")]) > 3
    assert "<style" not in first
    linked = {value for node in root.iter() for name, value in node.attrib.items() if name.endswith("href")}
    assert all(value.startswith(("#", "data:")) for value in linked)
    assert root.attrib["role"] == "img"
    assert len(root.attrib["aria-label"]) > 40


def test_figures_on_one_page_share_no_id():
    ids = [
        node.attrib["id"] for kind in FIGURES for node in ElementTree.fromstring(output.svg(FIGURES[kind]())).iter() if "id" in node.attrib
    ]
    assert len(ids) == len(set(ids))


def test_what_an_svg_refers_to_is_in_it():
    drawn = output.svg(FIGURES["curves"]())
    root = ElementTree.fromstring(drawn)
    ids = {node.attrib["id"] for node in root.iter() if "id" in node.attrib}
    used = {value[1:] for node in root.iter() for name, value in node.attrib.items() if name.endswith("href")}
    clips = {node.attrib["clip-path"][5:-1] for node in root.iter() if "clip-path" in node.attrib}
    assert used
    assert clips
    assert used | clips <= ids


def test_a_png_is_the_same_bytes_each_time_at_300_dots_an_inch():
    first, again = output.png(FIGURES["ladder"]()), output.png(FIGURES["ladder"]())
    assert first == again
    assert imread(io.BytesIO(first)).shape[1] == round(3.4 * 300)


def test_a_user_s_own_settings_neither_reach_a_figure_nor_change():
    usual = output.svg(FIGURES["field"]())
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        before = dict(matplotlib.rcParams)
        assert output.svg(FIGURES["field"]()) == usual
        assert dict(matplotlib.rcParams) == before


def test_series_differ_in_marker_and_in_dashes_not_in_colour_alone():
    for part in (1, 2):
        assert len({one[part] for one in style.SERIES}) == len(style.SERIES)


@pytest.mark.parametrize(("values", "expected"), [
    ([0, 50, 100], [0, 50, 100]),  # far enough apart
    ([50, 50], [45, 55]),  # each moves by 5
    ([50, 52, 90], [46, 56, 90]),  # the pair around its mean 51, the third stays
    ([0, 0, 0], [0, 10, 20]),  # none below the lowest
    ([100, 98], [100, 90]),  # none above the highest, each in its order
    ([40, 44, 48], [34, 44, 54]),
])  # fmt: skip
def test_names_are_spread_as_little_as_it_takes(values, expected):
    assert style.spread(values, 10, 0, 100) == pytest.approx(expected)


def test_labels_are_thinned_from_the_last_one_down_by_their_distance_on_the_scale():
    """At most 4 of 1..9: a gap of 2 leaves 9 7 5 3 1; on a log scale, gap log(16) / 2 = log 4, of 1 2 4 8 16 stay 16 4 1."""
    assert style.thinned(range(1, 10), 4) == [1, 3, 5, 7, 9]
    assert style.thinned([1, 2, 4, 8, 16], 2, math.log) == [1, 4, 16]
    assert style.thinned([7], 4) == [7]


def test_names_that_do_not_all_fit_stand_closer():
    assert style.spread([5, 5, 5], 10, 0, 10) == pytest.approx([0, 5, 10])


def test_a_curve_s_median_carries_on_the_last_value_of_a_seed_that_left():
    """At step 150 seed 0 has left with 1.0: the median of 1.0, .6 and .7 is .7; at 50 that of .3, .2, .5 is .3, at 100 it is .6."""
    found = {
        0: record(0, "solved", curve=[(50, 0.3), (100, 1.0)]),
        1: record(1, "unsolved", curve=[(50, 0.2), (100, 0.4), (150, 0.6)]),
        2: record(2, "unsolved", curve=[(50, 0.5), (100, 0.6), (150, 0.7)]),
    }
    data = curves.gather(FlipFlop(), {"fpa": found})
    assert data.arms[0].median == ((50, 0.3), (100, 0.6), (150, 0.7))
    assert data.arms[0].solved == 1
    assert (data.what, data.better, data.threshold) == ("accuracy", "high", 0.99)


def test_curves_are_of_the_loss_where_training_was_not_looked_at_and_have_no_threshold():
    data = curves.gather(Ladder(r=6), {"fpa": {0: record(losses=[(50, 0.5), (100, None)])}})
    assert data.arms[0].seeds[0].points == ((50, 0.5),)
    assert (data.better, data.threshold) == ("low", None)
    assert "loss" in data.what
    with pytest.raises(ValueError, match="no stored seed has a learning curve"):
        curves.gather(Ladder(r=6), {"fpa": {0: record(losses=[])}})


def test_an_arm_whose_seeds_all_failed_has_an_empty_panel_that_says_so():
    failed = {seed: record(seed, "failed", [(50, None)]) for seed in range(2)}
    mixed = {0: record(0, "unsolved", [(50, 0.5), (100, 0.4)]), 1: record(1, "failed", [(50, 0.9), (100, None)])}
    data = curves.gather(Ladder(r=6), {"fpa": mixed, "nanny": failed})
    assert [one.name for one in data.arms] == ["fpa", "nanny"]
    told = {text for text, _, _ in texts(curves.draw(data))}
    assert {"nanny", "2 of 2 failed", "0/2 solved, 1 failed", "0/2 solved, 2 failed"} <= told
    with pytest.raises(ValueError, match="no stored seed has a learning curve"):
        curves.gather(Ladder(r=6), {"nanny": failed})


def test_a_title_names_the_first_option_and_those_that_are_not_the_default():
    assert curves.title(Ladder(r=10)) == "ladder, r 10"
    assert curves.title(Ladder(r=10, slot="plain")) == "ladder, r 10, slot plain"


def test_the_ladder_s_points_and_theory_by_hand():
    """d = 4: heads without offsets do all sets up to r = 5 (d >= r - 1), with offsets up to 6; one of 3 seeds solved, the best .75."""
    results = [record(0, "solved", realised=0.5), record(1, "unsolved", realised=0.75), record(2, "failed")]
    data = ladder.gather({"rope": {7: results}, "fox": {}}, 4)
    assert data.limits == (5, 6)
    assert data.ceilings == {r: tuple(ceiling(r, 4, offsets) / 2 ** (r - 1) for offsets in (False, True)) for r in (5, 6, 7)}
    (arm,) = data.arms
    (point,) = arm.points
    assert (point.solved, point.n, point.realised) == (1, 3, 0.75)
    assert point.interval == tuple(clopper_pearson(1, 3))


@pytest.mark.parametrize(("r", "head_dim"), [(4, 4), (9, 4), (4, 64), (20, 4)])
def test_each_line_that_the_legend_names_is_seen_with_one_r_too(r, head_dim):
    """A limit is inside the frame or far beside it; the curve of T6 has two points at least inside."""
    data = ladder.gather({"fpa": {r: [record()] * 2}}, head_dim)
    figure = ladder.draw(data)
    low, high = figure.axes[1].get_xlim()
    named = [line for line in figure.axes[1].lines if line.get_label() in ladder.THEORY]
    assert len(named) == 2
    assert all(sum(low <= x <= high for x in line.get_xdata()) >= 2 for line in named)
    assert all(low < limit + 0.5 < high or abs(limit - r) > ladder.NEAR for limit in data.limits)
    assert "whiskers: 95 %, Clopper-Pearson" in " ".join(text for text, _, _ in texts(figure)).replace("\n", " ")


def test_a_title_says_how_many_seeds_the_arms_have():
    assert [style.seeds(counts) for counts in ([15], [2, 3, 3], [1])] == ["15 seeds an arm", "2-3 seeds an arm", "1 seed an arm"]
    data = ladder.gather({"fpa": {4: [record()] * 2, 5: [record()] * 3}}, 4)
    assert "head dimension 4, 2-3 seeds an arm" in output.svg(ladder.draw(data)).replace("\n", " ")


def test_a_figure_says_where_training_was_cut():
    cell = matrix.gather(one_cell(), "60 steps")
    steps = ladder.gather({"fpa": {4: [record()]}}, 4, cut="60 steps")
    for figure in (matrix.draw(cell), ladder.draw(steps)):
        assert "60 steps" in output.svg(figure)
    assert "steps" not in output.svg(FIGURES["ladder"]())


def test_a_sampled_evaluation_counts_no_sets_and_the_plain_slot_has_no_theory():
    data = ladder.gather({"fpa": {20: [record()]}}, 4, "plain")
    assert data.arms[0].points[0].realised is None
    assert data.limits is None
    assert data.ceilings is None
    output.png(ladder.draw(data))


def test_a_matrix_tells_refused_from_missing_and_from_partial():
    data = matrix_data()
    assert [cell.text for cell in data.cells[0]] == ["5", "0", "3", "5", "·", "3/4!"]
    assert [cell.theory for cell in data.cells[0][:3]] == ["+", style.MINUS, ""]
    assert data.cells[1][3] == matrix.Cell(None, "", "", False)
    assert data.missing == 1
    told = "\n".join(matrix.legend(data))
    for text in ("of 5", "+ theory", f"{style.MINUS} theory", "refused", "nothing stored", "failed"):
        assert text in told


@pytest.mark.parametrize(("gather", "what"), [(matrix.gather, "matrix"), (field.gather, "field")])
def test_other_json_is_refused_in_one_line(gather, what):
    for given in ({}, [], {"tasks": 3, "arms": 3}, {"arms": [{"mixer": "a"}], "task": "latch"}):
        with pytest.raises(ValueError, match=f"not the JSON of probe {what}"):
            gather(given)


def test_a_field_s_arm_keeps_its_seeds_and_what_has_no_theory():
    data = field.gather(field_json())
    assert data.title == "latch, initial weights, 3 seeds an arm"
    assert data.arms[0].recursion == (0.13, 0.54, 0.83)
    assert data.arms[1].recursion == (None, None, None)
    assert len(data.arms[1].seeds) == 3


def test_sizes_are_the_mean_over_seeds_and_need_two():
    found = {"fpa": {4: [record(seconds=1.0), record(seconds=3.0)], 8: [record(seconds=5.0)] * 2}, "rope": {}}
    data = size.gather("ladder", "r", found)
    assert data.arms == (size.Arm(0, "fpa", ((4, 2.0), (8, 5.0))),)
    assert data.seeds == (2, 2)
    with pytest.raises(ValueError, match="fpa at 4"):
        size.gather("ladder", "r", {"fpa": {4: [record()]}})


def test_a_map_s_divergence_by_hand():
    """r = 3, word 10: rungs 2 and 3 live, target 1/2 each. Weights .2, .2, .6: KL = -log 2 - (log .2 + log .6) / 2 = .366985."""
    task = Ladder(r=3)
    weights = np.zeros((8, 8))
    weights[-1, [0, 3, 6]] = 0.2, 0.2, 0.6
    data = walk.gather(task, "10", 0, {"fpa": weights.tolist()})
    (one,) = data.maps
    assert one.kl == pytest.approx(0.366985, abs=1e-6)
    assert one.weights[-1] == (0.2, 0.2, 0.6)
    assert [[key.name for key in walk.alive_at(data.line, t)] for t in (0, 1, 3, 7)] == [["1"], [], ["2"], ["2", "3"]]


@pytest.mark.parametrize("word", ["", "1", "102", "111"])
def test_a_word_that_is_none_of_the_task_s_is_refused(word):
    with pytest.raises(ValueError, match="--word takes 2 digits"):
        walk.example(Ladder(r=3), word)

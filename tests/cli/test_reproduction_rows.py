"""The rows of `probe reproduce`, a figure beside ours, and their tables at every width."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from attnprobe.cli import computed, reproduction, reproduction_tables
from attnprobe.probes.papers import FIGURES
from attnprobe.probes.papers.figure import COMPUTED, Figure
from attnprobe.probes.run import ArmResult
from attnprobe.probes.tasks import TASKS


def record(seed, status, score):
    failure = {"step": 7, "quantity": "loss"} if status == "failed" else None
    result = {"seed": seed, "status": status, "score": score, "steps": 9, "curve": [], "data_hash": "d", "head": None, "failure": failure}
    return {"key": "k", "result": result, "recorded": {"seconds": 0.5, "versions": {"attnprobe": "0"}}}


def outcomes(figures, given):
    """results of `rows`: given: arm -> [(status, score) a seed]."""
    (run,) = reproduction.plan(figures, TASKS)
    return {run: [ArmResult(arm, {s: record(s, *pair) for s, pair in enumerate(given[arm.name])}, 0) for arm in run.arms]}


def solved(k, n=15):
    return [("solved" if seed < k else "unsolved", {}) for seed in range(n)]


def push_pop(arm, value, winner=None):
    return Figure("fpa", "stack", "push-pop", arm, 8, value, 15, "w", {"ask": "members"}, winner=winner, note=f"note of {arm}")


STACK = [push_pop("fpa", 14), push_pop("fpa-sum", 11, "fpa"), push_pop("fox", 0, "fpa"), push_pop("softmax", 0, "fpa")]


def stack_rows(**counts):
    return reproduction.rows(STACK, outcomes(STACK, {name.replace("_", "-"): solved(k) for name, k in counts.items()}))


def test_a_row_holds_the_counts_the_interval_the_paired_p_and_holm_s_over_its_table():
    """15 against 15, 3 and 0: p = 1, 2^-12, 2^-15; Holm times 1, 2, 3 in the order of size."""
    rows = stack_rows(fpa=15, fpa_sum=15, fox=3, softmax=0)
    assert [row["ours"] for row in rows] == [15, 15, 3, 0]
    assert [row["n"] for row in rows] == [15] * 4
    assert [row["p"] for row in rows] == [None, 1.0, 2**-12, 2**-15]
    assert [row["p_holm"] for row in rows] == [None, 1.0, 2 * 2**-12, 3 * 2**-15]
    assert [row["verdict"] for row in rows] == ["matches", "differs", "same direction", "matches"]
    assert rows[0]["interval"][0] == pytest.approx(0.025 ** (1 / 15))
    assert [row["seconds"] for row in rows] == [7.5] * 4


def test_holm_corrects_within_a_table_and_not_over_tables():
    other = [replace(f, table="other") if f.arm == "softmax" else f for f in STACK]
    given = {"fpa": solved(15), "fpa-sum": solved(15), "fox": solved(3), "softmax": solved(0)}
    rows = reproduction.rows(other, outcomes(other, given))
    assert [row["p_holm"] for row in rows] == [None, 1.0, 2 * 2**-12, 2**-15]


def test_scores_are_means_over_seeds_paired_in_the_better_direction():
    def of(arm, value, winner=None):
        return Figure("pn-fir-tau", "u", "unanswerable", arm, 64, value, None, "w", {}, metric="hallucination", winner=winner)

    figures = [of("fir", 0.3, "fir+power-tau"), of("fir+power-tau", 0.0)]
    given = {
        "fir": [("unsolved", {"hallucination": x}) for x in (0.1, 0.2, 0.3)],
        "fir+power-tau": [("solved", {"hallucination": x}) for x in (0.0, 0.2, 0.0)],
    }
    high, low = reproduction.rows(figures, outcomes(figures, given))
    assert high["ours"] == pytest.approx(0.2)
    assert high["p"] == 1 / 4  # two wins, a tie
    assert high["interval"] == pytest.approx([0.0, 0.2 + 4.302653 * 0.1 / 3**0.5], abs=1e-5)  # t of 2 degrees; a share is not below 0
    assert low["verdict"] == "differs"  # .067, neither within .01 nor a fifth
    assert high["verdict"] == "differs"


def test_a_figure_whose_run_failed_says_so_and_has_no_verdict():
    given = {"fpa": solved(15), "fpa-sum": solved(15), "fox": [("failed", {}), *solved(0, 14)], "softmax": solved(0)}
    rows = reproduction.rows(STACK, outcomes(STACK, given))
    assert [row["verdict"] for row in rows] == ["matches", "differs", "run failed", "matches"]
    assert rows[2]["failed"] == [0]
    assert rows[2]["p"] == 2**-14  # the seed takes no part in the pairing
    assert "0/15 (1 failed)" in printed({"rows": rows, "sources": ["fpa"], "seeds": list(range(100, 115)), "steps": None}, 120)


def test_a_figure_has_no_verdict_either_where_the_winner_s_run_failed():
    given = {"fpa": [("failed", {}), *solved(14, 14)], "fpa-sum": solved(15), "fox": solved(0), "softmax": solved(0)}
    rows = reproduction.rows(STACK, outcomes(STACK, given))
    assert {row["verdict"] for row in rows} == {"run failed"}
    assert all(row["failed"] == [0] for row in rows)


def test_figures_are_chosen_by_source_by_task_and_quick_ones_alone():
    def of(*asked):
        return reproduction.chosen(FIGURES, *asked)

    assert {f.source for f in of(("fpa",), False, ["ladder", "recall"])} == {"fpa"}
    assert {f.task for f in of(("fpa", "pn-fir-tau"), False, ["ladder", "recall"])} == {"ladder", "recall"}
    quick = of(("fpa",), True, ["ladder"])
    assert 0 < len(quick) < len(of(("fpa",), False, ["ladder"]))
    assert all(f.quick for f in quick)


def test_one_run_serves_all_figures_of_a_task_and_its_options():
    figures = [f for f in FIGURES if f.source == "fpa" and f.task in ("ladder", "duration", COMPUTED)]
    runs = reproduction.plan(figures, TASKS)
    assert [str(run) for run in runs] == [
        *(f"ladder r={r} slot=balanced" for r in (6, 10, 14, 18)),
        *(f"duration durations={kind}" for kind in ("variable", "fixed")),
    ]
    assert [len(run.arms) for run in runs] == [4, 9, 9, 9, 3, 2]
    for figure in figures:
        if figure.task != COMPUTED:
            run = reproduction.run_of(figure, runs)
            names = {(arm.name, arm.head_dim) for arm in run.arms}
            assert {(figure.arm, figure.head_dim), (figure.winner or figure.arm, figure.head_dim)} <= names
            assert figure.options.items() <= vars(run.task).items()


def printed(report, width):
    out = Console(width=width, file=io.StringIO(), color_system=None)
    for item in reproduction_tables.pages(report, out):
        out.print(item)
    return out.file.getvalue()


@pytest.mark.parametrize("width", [80, 120, 160])
def test_the_tables_fit_the_width_and_keep_arm_values_and_verdict(width):
    rows = stack_rows(fpa=15, fpa_sum=15, fox=3, softmax=0)
    text = printed({"rows": rows, "sources": ["fpa"], "seeds": list(range(100, 115)), "steps": None}, width)
    assert max(map(len, text.splitlines())) <= width
    for line in (r"fpa-sum +8 +11/15 +15/15 +78-100% +1 +differs", r"fox +8 +0/15 +3/15 .* 0.00049 +same direction", "1 note of fpa-sum"):
        assert re.search(line, text), line
    assert "note of softmax" not in text  # it matches


def test_every_figure_fits_80_columns_with_its_verdict():
    rows = [
        reproduction.row(f, {}) | {"verdict": "same direction"}
        if f.task == COMPUTED
        else reproduction.row(replace(f, task=COMPUTED, arm="p: 11 wins, no loss"), {}) | {"arm": f.arm, "verdict": "same direction"}
        for f in FIGURES
    ]
    rows = [row | {"n": 15, "ours": 15, "interval": [0.78, 1.0], "p_holm": 0.00049} if row["theirs_n"] else row for row in rows]
    report = {"rows": rows, "sources": ["fpa", "pn-fir-tau", "stochastic"], "seeds": [100], "steps": None}
    text = printed(report, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert len(re.findall("same direction", text)) == len(rows) + 2  # the summary and the rule


def test_seeds_that_a_recipe_was_changed_after_are_named_where_they_count():
    rows = [{**stack_rows(fpa=15, fpa_sum=15, fox=0, softmax=0)[0], "task": "name-search"}]
    told = printed({"rows": rows, "sources": ["fpa"], "seeds": [114], "steps": None}, 160)
    assert "warning: name-search on seeds 100:115: steps were cut" in told
    assert "warning" not in printed({"rows": rows, "sources": ["fpa"], "seeds": [200], "steps": None}, 160)
    rows[0]["task"] = "push-pop"
    assert "warning" not in printed({"rows": rows, "sources": ["fpa"], "seeds": [114], "steps": None}, 160)


def test_quantities_are_those_of_the_theory():
    """2^-11; r - 2; 3623 / 8192; 1886.9 / 109.3; 10 (64 - 1) + 1; 63 / 4095."""
    assert computed.quantity("p: 11 wins, no loss") == 2**-11
    assert computed.quantity("head dimension for all sets, r = 10") == 8
    assert computed.quantity("share right without a filter") == 3623 / 8192
    assert computed.quantity("memory, 1886.9 MB to 109.3 MB") == pytest.approx(1886.9 / 109.3)
    assert computed.quantity("receptive field of a sliding window") == 631
    assert computed.quantity("chance of a pair in a layer") == 63 / 4095
    assert computed.quantity("layers to full coverage, causal") == 2699
    assert computed.quantity("mean path, window and shortcuts") == pytest.approx(4.52, abs=0.02)


def test_slips_are_computed_and_of_the_sources_asked_for():
    texts = [text for _, text, _ in computed.slips(("fpa", "pn-fir-tau"))]
    assert len(texts) == 4
    assert "0.00049, 0.00024, 0.00012" in texts[0]
    assert "1/8 or 3/16" in texts[1]
    assert "31 of 32 sets" in texts[2]
    assert "17.3 times" in texts[3]


def test_a_note_that_bears_on_a_match_is_told_beside_it_and_numbered_once():
    from attnprobe.cli.reproduction_tables import mark

    marks, base = {}, {"note": "depth", "verdict": "matches", "always": True}
    assert [mark(base, marks), mark(base | {"verdict": "differs"}, marks)] == ["1", "1"]
    assert mark(base | {"note": "other", "always": False}, marks) == mark(base | {"note": None}, marks) == ""
    assert mark(base | {"note": "other", "always": False, "verdict": "differs"}, marks) == "2"
    assert marks == {"depth": 1, "other": 2}

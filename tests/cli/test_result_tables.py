"""The report of a run and its table: p-values, failed seeds, contradictions, and columns at every width."""

import io

import pytest
from rich.console import Console

from attnprobe.cli import footer, tables
from attnprobe.cli.report import build, contradictions, near_threshold
from attnprobe.probes.run import Arm, ArmResult
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks.ladder import Ladder


def arm(text, d=4, control=False):
    return Arm(text, parse(text), d, control)


def record(seed, kl, realised=0.5, status=None, head=None):
    result = {
        "seed": seed,
        "status": status or ("solved" if kl <= 0.1 else "unsolved"),
        "score": {} if status == "failed" else {"kl": kl, "realised": realised},
        "steps": 800,
        "losses": [],
        "curve": [],
        "traces": {},
        "data_hash": "d",
        "head": head,
        "failure": {"step": 7, "quantity": "loss"} if status == "failed" else None,
    }
    return {"key": "k", "result": result, "recorded": {"seconds": 0.1, "versions": {"torch": "2.13.0"}}}


def report(arms, task=None, seeds=5, reference="fpa"):
    """A report from Arm -> list of records."""
    task = task or Ladder(r=10)
    results = [ArmResult(a, {r["result"]["seed"]: r for r in records}, 0) for a, records in arms.items()]
    return build("probe", task, task.recipe, tuple(range(seeds)), 4, "cpu", arm(reference), results)


def typical():
    return report(
        {
            arm("fpa"): [record(s, 0.001, 1.0) for s in range(5)],
            arm("nope"): [record(s, 0.25, 187 / 512) for s in range(5)],
            arm("fox"): [record(s, 0.05 if s == 0 else 0.25, 223 / 512) for s in range(5)],
            arm("nope", 12, control=True): [record(s, 0.002, 1.0) for s in range(5)],
        }
    )


def printed(made, width):
    out = Console(width=width, file=io.StringIO(), color_system=None)
    out.print(tables.result_table(made, out))
    for line in footer.footer(made, out):
        out.print(line)
    return out.file.getvalue()


def test_columns_give_way_at_80_and_none_are_missing_at_160():
    text = printed(typical(), 80)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "not shown at this width" in text
    assert "0/5" in text
    wide = printed(typical(), 160)
    assert "not shown" not in wide
    assert all(heading in wide for heading in ("95 %", "worst", "Holm p", "source", "theory"))


def test_a_theory_column_that_names_no_theorem_is_left_out():
    made = report({arm("fir"): [record(s, 0.25) for s in range(5)]})
    assert made["arms"][0]["theory"]["text"] == "no theorem"
    assert "theory" not in tables.full_columns(made)
    assert "theory" in tables.full_columns(typical())


def test_p_values_are_paired_and_adjusted_over_the_arms_that_are_no_controls():
    """nope: 5 wins, 0 losses: 1/32. fox solves seed 0 too: 4 wins: 1/16. Holm over 2: 1/16, 1/16."""
    rows = {row["arm"]: row for row in typical()["arms"]}
    assert rows["nope@4"]["p"] == 1 / 32
    assert rows["fox@4"]["p"] == 1 / 16
    assert rows["nope@4"]["p_holm"] == rows["fox@4"]["p_holm"] == 1 / 16
    assert rows["fpa@4"]["p"] is None
    assert rows["nope@12"]["p"] is None
    assert rows["fox@4"]["discordant"] == {"reference": [1, 2, 3, 4], "arm": []}
    assert "fox@4: only fpa@4 solves 1, 2, 3, 4; only fox@4 solves none" in list(footer.discordant_lines(typical()))


def test_the_source_s_figures_are_said_to_be_of_full_training_where_this_was_cut():
    whole, cut = typical(), typical()
    cut["config"]["recipe"]["steps"] = 60
    said = f"source: of full training; this run was cut to 60 of the recipe's {Ladder(r=10).recipe.steps} steps"
    assert said in printed(cut, 200).splitlines()
    assert "cut to" not in printed(whole, 200)


def test_a_dash_among_the_sets_is_explained_where_there_is_one():
    """A record without a head has no middle number; one of a head with fixed offsets, fpa's or another's, has."""
    said = "sets, a dash in the middle: that seed's offsets change with the word"
    assert said in printed(typical(), 200)
    fixed = typical()
    for row in fixed["arms"]:
        row["realisable"] = 512
    assert said not in printed(fixed, 200)


def test_without_the_reference_there_is_no_p():
    made = report({arm("nope"): [record(s, 0.25) for s in range(5)]})
    assert made["arms"][0]["p"] is None
    assert made["family"] == []
    assert any("fpa@4 is not among the arms" in line for line in footer.footer(made, Console(width=200)))


def test_the_best_seed_has_the_most_sets_and_ties_go_to_the_lowest():
    made = report({arm("fpa"): [record(0, 0.01, 10 / 512), record(1, 0.01, 12 / 512), record(2, 0.01, 12 / 512)]}, seeds=3)
    assert made["arms"][0]["realised"] == 12
    assert made["arms"][0]["best_seed"] == 1


def test_a_failed_seed_is_named_is_not_solved_and_leaves_the_paired_test():
    """fpa solves 0..4, nope fails on 0 and misses 1..4: 4 discordant pairs, p = 1/16; nope 0 of 5."""
    made = report(
        {
            arm("fpa"): [record(s, 0.001, 1.0) for s in range(5)],
            arm("nope"): [record(0, 0, status="failed"), *(record(s, 0.3) for s in range(1, 5))],
        }
    )
    row = made["arms"][1]
    assert (row["failed"], row["solved"], row["n"], row["p"]) == ([0], 0, 5, 1 / 16)
    assert "0/5 (1 failed)" in printed(made, 160)
    assert "seed 0 failed, loss not finite at step 7" in printed(made, 160)


def test_seeds_close_to_the_threshold_are_warned_of():
    made = report({arm("fpa"): [record(0, 0.096), record(1, 0.104), record(2, 0.2), record(3, 0.01), record(4, 0.0949)]})
    assert made["config"]["near_threshold"] == {"fpa@4": [0, 1]}
    assert "seeds 0, 1 within 5 % of the threshold" in printed(made, 160)


def test_a_contradiction_is_said_in_plain_words_and_exits_1(capsys, monkeypatch):
    from typer import Exit

    from attnprobe.cli.run_command import finish

    made = report({arm("nope"): [record(0, 0.3, 257 / 512)]}, seeds=1)
    assert contradictions(made) == ["nope@4: seed 0 realises 257 sets, where theory (all sets need d >= 9 (T5)) allows at most 256"]
    with pytest.raises(Exit) as raised:
        finish(made, discordant=False, as_json=False, as_csv=True, as_markdown=False, quiet=True)
    assert raised.value.exit_code == 1
    assert "CONTRADICTION with a theorem: nope@4: seed 0 realises 257 sets" in capsys.readouterr().err


def test_failed_seeds_exit_3():
    from typer import Exit

    from attnprobe.cli.run_command import finish

    made = report({arm("nope"): [record(0, 0, status="failed"), record(1, 0.3)]}, seeds=2)
    with pytest.raises(Exit) as raised:
        finish(made, discordant=False, as_json=True, as_csv=False, as_markdown=False, quiet=True)
    assert raised.value.exit_code == 3


def test_where_more_is_better_a_seed_is_close_to_the_threshold_by_its_errors():
    """exact >= 0.95 allows 5 % of errors; within 5 % of that is 0.9475 to 0.9525."""
    seeds = [{"seed": i, "metric": value} for i, value in enumerate((0.9, 0.948, 0.952, 0.96, None))]
    row = {"arm": "fpa@8", "metric": {"threshold": 0.95, "better": "high"}, "seeds": seeds}
    assert near_threshold([row]) == {"fpa@8": [1, 2]}


@pytest.mark.parametrize("width", [20, 30, 40])
def test_rows_can_be_told_apart_at_any_width(width):
    text = printed(typical(), width)
    assert all(name in text for name in ("fpa", "nope", "fox", "0/5"))
    assert "p_holm" not in text

"""What theory says of an arm on a task."""

import pytest

from attnprobe.cli.verdict import verdict
from attnprobe.probes.run import Arm
from attnprobe.probes.spec import parse
from attnprobe.probes.tasks import TASKS
from attnprobe.probes.tasks.ladder import Ladder

VERDICTS = {
    # (arm, d, task options): (text, ceiling)
    ("fpa", 4, ()): ("can (T1)", 512),
    ("fpa-sum", 1, ()): ("can (T1)", 512),
    ("nope", 4, ()): ("all sets need d >= 9 (T5)", 256),
    ("rope", 8, ()): ("all sets need d >= 9 (T5)", 511),
    ("rope", 9, ()): ("can (T5)", 512),
    ("alibi", 4, ()): ("all sets need d >= 8 (T5)", 382),
    ("fox", 7, ()): ("all sets need d >= 8 (T5)", 511),
    ("rope+alibi-fixed", 8, ()): ("can (T5)", 512),
    ("fir", 4, ()): ("no theorem", None),
    ("nope", 4, (("slot", "plain"),)): ("no theorem", None),
    ("fox", 4, (("slot", "plain"),)): ("no theorem (T7)", None),
    ("nope", 4, (("evaluate", "sampled"),)): ("all sets need d >= 9 (T5)", None),
}


@pytest.mark.parametrize("case", VERDICTS, ids=str)
def test_theory_s_verdict_on_an_arm(case):
    name, d, options = case
    said = verdict(Ladder(r=10, **dict(options)), Arm(name, parse(name), d))
    assert (said.text, said.ceiling) == VERDICTS[case]


OTHER_VERDICTS = {
    ("duration", "fpa", 8, ()): "can (T13)",
    ("duration", "fpa-sum", 8, ()): "no exact fit (T14)",
    ("duration", "selective(maps=own)", 8, ()): "no exact fit (T14)",
    ("duration", "fpa-sum", 8, (("durations", "fixed"),)): "can (T14)",
    ("duration", "selective(maps=own)", 8, (("durations", "fixed"),)): "no theorem",
    ("duration", "fox", 8, ()): "no theorem",
    ("duration", "fir+fpa", 8, ()): "no theorem",
    ("two-walks", "fpa", 2, ()): "can (T1)",
    ("two-walks", "selective(maps=own)", 2, ()): "both heads need d >= 4 (T10)",
    ("two-walks", "dcp", 3, (("r", 9),)): "both heads need d >= 4 (T10)",
    ("two-walks", "dcp", 4, ()): "no theorem",
    ("two-walks", "dcp", 11, ()): "can (T5)",
    ("two-walks", "softmax", 2, ()): "all sets need d >= 9 (T5)",
    ("two-walks", "alibi", 8, ()): "can (T5)",
    ("two-walks", "fox", 2, ()): "no theorem",
    ("push-pop", "fpa", 8, ()): "no theorem",
}


@pytest.mark.parametrize("case", OTHER_VERDICTS, ids=str)
def test_theory_s_verdict_on_the_other_tasks(case):
    task, name, d, options = case
    assert verdict(TASKS[task](**dict(options)), Arm(name, parse(name), d)).text == OTHER_VERDICTS[case]

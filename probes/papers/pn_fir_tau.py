"""The figures of pn_fir_tau: shares of examples, without a number of seeds; its sizes and models are not ours."""

from attnprobe.probes.papers.figure import COMPUTED, Figure

WHERE = "pn_fir_tau, "
SILENT = "fir+power-tau"
DECOYS = "fir+power-tau(tau0=-3.0)"

ONE_OFF = "of the three, sparsemax gives values to absent keys most often here, and softmax least"
LEAK = "a virtual sink leaks less here, 30 times as much as the threshold where the source has 50"
SINK = "BOS offers a value of zero: a layer that must be silent uses it, whatever its normaliser"
MODEL = "the source measures a six-layer language model, we one layer at absent keys"
SOME_SEEDS = "without calibration some rows die and not all: a few seeds of 15 pass"


def figures():
    """Every Figure, in the order of the paper."""

    def of(table, arm, value, metric, where, *, task=None, case=None, options=None, winner=None, note=None, quick=True):
        shown = metric if case is None else case
        name, given = task or table, options or {}
        return Figure("pn-fir-tau", table, name, arm, 64, value, None, WHERE + where, given, shown or "", metric, winner, note, quick)

    yield of("recall", "softmax", 0.445, "present", "clean recall: share right", winner="fir")
    yield of("recall", "fir", 1.0, "present", "clean recall: share right")

    table, where = "unanswerable", "unanswerable queries: hallucination"
    for arm in ("fir", "fir+sparsemax", "fir+entmax15"):
        yield of(table, arm, ".272-.344", "hallucination", where, winner=SILENT, note=ONE_OFF, quick=arm == "fir")
    yield of(table, SILENT, 0.0, "hallucination", where)
    yield of(table, SILENT, 0.002, "mass", "unanswerable queries: mass")
    yield of(table, SILENT, 1.0, "present", "unanswerable queries: share of present ones right")
    yield of(table, "fir+softmax1", 0.1, "mass", "a virtual sink leaks 50 times as much", winner=SILENT, note=LEAK, quick=False)

    for eps in ("0.05", "0.2", "0.5", "1"):
        yield of("decoys", DECOYS, 1.0, f"present@{eps}", "decoys: share right at every eps", quick=False)
    for arm in ("fir+power", "fir+power-centred"):
        where = "decoys: uncalibrated variants fail"
        yield of("decoys", arm, "fails", None, where, case="uncalibrated", winner=DECOYS, note=SOME_SEEDS, quick=False)

    yield of("score-shift", "fir+power", "fails", None, "a shift starves a threshold of 0", winner=SILENT)

    where = "a six-layer language model: attention on BOS"
    for bos, note in (("zero", SINK), ("value", MODEL)):
        options, case = {"bos": bos}, f"BOS of {bos}" if bos == "value" else "BOS of value 0"
        yield of("sink", "fir", 0.0177, "sink", where, case=case, options=options, winner=SILENT, note=MODEL, quick=False)
        yield of("sink", SILENT, 0.0031, "sink", where, case=case, options=options, note=note, quick=False)

    printed = "pn_fir_tau, as printed"
    ceiling = Figure(
        "pn-fir-tau", "theory", COMPUTED, "share right without a filter", None, 0.445, None, printed, case="8 pairs", quick=True
    )
    memory = Figure(
        "pn-fir-tau", "theory", COMPUTED, "memory, 1886.9 MB to 109.3 MB", None, 66.5, None, printed, case="times less",
        note="the quotient of the two sizes that it prints", quick=True,
    )  # fmt: skip
    yield from (ceiling, memory)

"""Times functions in turn on a GPU: medians by CUDA events, the second-level cache flushed before each call, rounds interleaved."""

import statistics

import torch

FLUSH = 256 * 2**20  # bytes written before a call, more than any cache holds


class Events:
    """A clock of one GPU: milliseconds that one call takes there."""

    def __init__(self):
        self.flushed = torch.empty(FLUSH, dtype=torch.int8, device="cuda")

    def __call__(self, function):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.flushed.zero_()
        start.record()
        function()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end)


def interleaved(functions, clock, rounds, warm=3):
    """name -> {median, p20, p80} in the clock's units: every round calls each function once, so that drift falls on all alike."""
    for function in functions.values():
        for _ in range(warm):
            clock(function)
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(clock(function))
    return {name: summary(of) for name, of in times.items()}


def summary(times):
    """The median and the quantiles .2 and .8."""
    fifths = statistics.quantiles(times, n=5, method="inclusive") if len(times) > 1 else times * 4
    return {"median": statistics.median(times), "p20": fifths[0], "p80": fifths[3]}


def peak(function):
    """Bytes that a call needs beyond what is allocated before it."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    function()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before

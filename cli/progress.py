"""Progress on stderr: one live line an arm with its ETA, or plain lines where stderr is no terminal."""

import sys
import time

from attnprobe.probes.run import Silent


def watch(arms, steps, quiet):
    """The watch that fits stderr; use it as a context manager."""
    if quiet:
        return Quiet()
    return Live(arms, steps) if sys.stderr.isatty() else Plain(steps)


class Quiet(Silent):
    """Says nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


class Plain(Quiet):
    """A line when an arm's stored seeds are known and one when it is done; arms that share a training end with it."""

    def __init__(self, steps):
        self.steps, self.todo, self.ended, self.start = steps, {}, 0, time.perf_counter()

    def started(self, arm, reused, missing):
        if missing:
            self.todo.setdefault(training(arm), []).append(arm)
        print(f"{arm}: {reused} of {reused + missing} stored" + (f", {missing} to train" if missing else ""), file=sys.stderr, flush=True)

    def finished(self, arm):
        told = f"{arm}: done"
        if arm == self.todo[training(arm)][-1]:
            self.ended += 1
            spent = time.perf_counter() - self.start
            left = spent / self.ended * (len(self.todo) - self.ended)
            told += f", training {self.ended} of {len(self.todo)}, {spent:.0f} s so far, about {left:.0f} s left"
        print(told, file=sys.stderr, flush=True)


def training(arm):
    """What arms share that are trained once."""
    return arm.spec.trained, arm.head_dim


class Live:
    """A bar an arm, gone when the run is over; none where every seed is stored."""

    def __init__(self, arms, steps):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.steps, self.bars = steps, {}
        self.width = max(len(str(arm)) for arm in arms)
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            transient=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.progress.stop()  # which does nothing where it was not started

    def started(self, arm, reused, missing):
        state = f"{reused} of {reused + missing} stored"
        self.bars[arm] = self.progress.add_task(f"{arm!s:{self.width}}", total=self.steps, start=False, state=state)
        if missing:
            self.progress.start()
        else:
            self.progress.update(self.bars[arm], completed=self.steps)

    def stepped(self, arm, step):
        bar = self.bars[arm]
        if not self.progress.tasks[bar].started:
            self.progress.start_task(bar)
        self.progress.update(bar, completed=step, state=f"step {step}")

    def finished(self, arm):
        self.progress.update(self.bars[arm], completed=self.steps, state="done")

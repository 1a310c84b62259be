"""Jobs trained one after the other, or side by side in processes that end with their parent."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import traceback
import types
from collections import deque

from attnprobe.probes.loading import load_text, loaded


def in_this_process(train, jobs, watch):
    """Train jobs one after the other; yields (job, records)."""
    for job in jobs:
        yield job, train(job, lambda step, arm=job.arm: watch.stepped(arm, step))


def in_processes(train, jobs, workers, watch):
    """Train jobs in `workers` processes; yields (job, records) as they finish. train: a function of a module, of (job, progress).

    A worker whose parent is gone fails at its next progress message, so a killed run leaves no process behind. A worker does not
    import the script that started it, so that a script needs no main guard.
    """
    import multiprocessing
    from multiprocessing.connection import wait

    context = multiprocessing.get_context("spawn")
    waiting, running, processes = deque(jobs), {}, []
    try:
        for _ in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(train, theirs, loaded()), daemon=True)
            with hidden_main(), unstopped():
                process.start()
                processes.append(process)
            theirs.close()
            running[ours] = waiting.popleft()
            ours.send(running[ours])
        while running:
            for connection in wait(list(running)):
                job = running[connection]
                try:
                    kind, value = connection.recv()
                except EOFError:
                    raise OSError(f"the process that trained {job.arm} died; what was stored is kept, run the same command again") from None
                if kind == "step":
                    watch.stepped(job.arm, value)
                    continue
                if kind == "error":
                    raise value
                if waiting:
                    running[connection] = waiting.popleft()
                    connection.send(running[connection])
                else:
                    del running[connection]
                    connection.close()
                yield job, value
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


@contextlib.contextmanager
def hidden_main():
    """A bare __main__, so that a process that starts meanwhile imports none."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def unstopped():
    """Hold an interrupt or SIGTERM back meanwhile: a process whose start is cut off would end by itself, with a traceback."""
    if threading.current_thread() is not threading.main_thread():  # signals are handled in no other
        yield
        return
    came = []
    handlers = {number: signal.signal(number, lambda number, _: came.append(number)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: not set from Python
    for number in came:
        signal.raise_signal(number)


def work(train, connection, files):
    """A worker: load the user's files, (path, source), then train the jobs that come over the connection until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    try:
        for file in files:
            load_text(*file)
        while True:
            job = connection.recv()
            try:
                records = train(job, lambda step: connection.send(("step", step)))
            except Exception as error:  # the parent raises it; its own traceback would not show where it came from
                error.add_note(traceback.format_exc())
                connection.send(("error", error))
                return
            connection.send(("done", records))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return

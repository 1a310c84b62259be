"""What every command shares: errors become one line and an exit code."""

import errno
import functools
import inspect
import signal
import sys

import typer
import typer.core
from typer.exceptions import TyperException

EXIT_CONTRADICTION = 1  # a contradiction with a theorem, or a claim that is refuted, vacuous or failed
EXIT_USAGE = 2  # bad input, or a store that cannot be read or written
EXIT_SEEDS_FAILED = 3
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143  # 128 + SIGTERM
EXIT_PIPE = 141  # 128 + SIGPIPE: whoever read stdout has gone
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of a write, which names no path
LONGEST = 400  # characters of a message: what was typed is echoed no further


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a run as Ctrl-C does: workers are ended, and what was finished is kept."""


def terminate(*_):
    """What SIGTERM does."""
    raise Terminated


def stopped(error):
    """Say that a KeyboardInterrupt has stopped the command; returns the exit code."""
    print("interrupted; what was finished is kept", file=sys.stderr)
    return EXIT_TERMINATED if isinstance(error, Terminated) else EXIT_INTERRUPTED


def command(function):
    """Wrap a command body: ValueError and OSError become one line on stderr and exit 2, an interrupt exits 130, SIGTERM 143."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except BrokenPipeError:
            raise
        except (ValueError, OSError, MemoryError) as error:
            print(f"error: {describe(error)}", file=sys.stderr)
            raise typer.Exit(EXIT_USAGE) from None
        except KeyboardInterrupt as error:
            raise typer.Exit(stopped(error)) from None

    run.__doc__ = unfolded(function.__doc__)
    return run


def unfolded(text):
    """A help text whose paragraphs have a line each, to be folded at the terminal's width; examples, which open in bold, as they are."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(one if one.startswith("[bold]") else " ".join(one.split()) for one in paragraphs)


class Group(typer.core.TyperGroup):
    """A group of commands that shows its help when called alone, and a usage error as one line with exit 2."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.help = unfolded(self.help)

    def parse_args(self, ctx, args):
        """No arguments mean --help."""
        return super().parse_args(ctx, args or ["--help"])

    def main(self, *args, standalone_mode=True, **extra):
        """Run; with standalone_mode, exit as the command says."""
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        if sys.stdout is None:
            print("error: stdout is closed", file=sys.stderr)
            sys.exit(EXIT_USAGE)
        signal.signal(signal.SIGTERM, terminate)
        try:
            sys.exit(super().main(*args, standalone_mode=False, **extra))
        except TyperException as error:
            what = short(error.format_message()) or "an argument is missing"
            print(f"error: {what}; --help shows what there is", file=sys.stderr)
            sys.exit(error.exit_code)
        except (ValueError, OSError) as error:  # from a registry that cannot be read, before any command runs
            print(f"error: {describe(error)}", file=sys.stderr)
            sys.exit(EXIT_USAGE)
        except Exception as error:
            from attnprobe.probes.loading import blame

            if (said := blame(error)) is None:
                raise
            print(f"error: {short(said)}", file=sys.stderr)
            sys.exit(EXIT_USAGE)
        except KeyboardInterrupt as error:  # before any command runs
            sys.exit(stopped(error))
        except SystemExit as stop:
            if isinstance(stop.__context__, BrokenPipeError):
                sys.exit(EXIT_PIPE)
            raise


def describe(error):
    """One line for an error: an OSError as `path: reason`, or as what could not be done, anything else as its message."""
    if isinstance(error, OSError) and error.filename:
        return short(f"{error.filename}: {error.strerror}")
    if isinstance(error, OSError) and error.errno in FULL:
        return short(f"cannot write: {error.strerror}")
    if isinstance(error, MemoryError):
        return "out of memory; a smaller --batch, or fewer seeds or workers, take less"
    return short(str(error))


def short(text):
    """`text` on one line, cut in the middle where it is longer than LONGEST."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"


def console():
    """A rich console on stdout: as wide as COLUMNS says, or the terminal, or wide enough for every column in a file."""
    import shutil

    from rich.console import Console

    return Console(width=shutil.get_terminal_size((160, 24)).columns)

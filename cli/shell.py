"""What every command shares: errors become one line and an exit code."""

import functools
import sys

import typer

EXIT_CONTRADICTION = 1  # a contradiction with a theorem, or a claim that is refuted, vacuous or failed
EXIT_USAGE = 2  # bad input, or a store that cannot be read or written
EXIT_SEEDS_FAILED = 3
EXIT_INTERRUPTED = 130


def command(function):
    """Wrap a command body: ValueError and OSError become one line on stderr and exit 2, an interrupt exits 130."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except BrokenPipeError:
            raise
        except (ValueError, OSError) as error:
            print(f"error: {describe(error)}", file=sys.stderr)
            raise typer.Exit(EXIT_USAGE) from None
        except KeyboardInterrupt:
            print("interrupted; what was finished is kept", file=sys.stderr)
            raise typer.Exit(EXIT_INTERRUPTED) from None

    return run


def describe(error):
    """One line for an error: an OSError as `path: reason`, anything else as its message."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())

"""What every command shares: errors become one line and an exit code."""

import functools
import sys

import typer
import typer.core
from typer.exceptions import TyperException

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


class Group(typer.core.TyperGroup):
    """A group of commands that shows its help when called alone, and a usage error as one line with exit 2."""

    def parse_args(self, ctx, args):
        """No arguments mean --help."""
        return super().parse_args(ctx, args or ["--help"])

    def main(self, *args, standalone_mode=True, **extra):
        """Run; with standalone_mode, exit as the command says."""
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        try:
            sys.exit(super().main(*args, standalone_mode=False, **extra))
        except TyperException as error:
            print(f"error: {' '.join(error.format_message().split())}; --help shows what there is", file=sys.stderr)
            sys.exit(error.exit_code)


def describe(error):
    """One line for an error: an OSError as `path: reason`, anything else as its message."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def console():
    """A rich console on stdout: as wide as the terminal, or as COLUMNS says, or wide enough for every column in a file."""
    import os

    from rich.console import Console

    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return Console()
    return Console(width=160)

"""Writes a file whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path


def check_place(path):
    """Raise ValueError where a Path can be no file's: called before what is to be written is made, too."""
    if not path.parent.is_dir():
        raise ValueError(f"--out {path}: there is no directory {path.parent}; make it first")
    if path.is_dir():
        raise ValueError(f"--out {path}: it is a directory; name a file in it")


def write_whole(out, data):
    """Write bytes to a file through a temporary one beside it. Raises OSError; ValueError where the file cannot be."""
    path = Path(out)
    check_place(path)
    if path.exists() and not path.is_file():  # a pipe or a device: /dev/stdout
        with named(path):
            path.write_bytes(data)
        return
    with named(path):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with named(path):
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(temporary).chmod(0o666 & ~umask())
            os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def named(path):
    """Let an OSError name the path that was asked for: that of a write names none, and that of a temporary file another."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def umask():
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

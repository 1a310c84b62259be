"""Writes a file whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(out, data):
    """Write bytes to a file through a temporary one beside it. Raises OSError; ValueError where the file cannot be."""
    path = Path(out)
    if not path.parent.is_dir():
        raise ValueError(f"--out {out}: there is no directory {path.parent}; make it first")
    if path.is_dir():
        raise ValueError(f"--out {out}: it is a directory; name a file in it")
    if path.exists() and not path.is_file():
        path.write_bytes(data)  # a pipe or a device: /dev/stdout
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o666 & ~umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def umask():
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

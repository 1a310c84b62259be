"""What of a store could be removed, as one value; and its removal."""

import time
from dataclasses import dataclass
from pathlib import Path

KINDS = {
    "older": "results of other code, an older task version or schema",
    "corrupt": "damaged results, and those set aside as .corruptN",
    "temporary": "files of writes that were cut off, an hour old or more",
}
UNTOUCHED = 3600  # seconds after which a temporary file is that of no write that goes on


@dataclass(frozen=True)
class Item:
    """A file that could go: why, and what it was when it was looked at."""

    path: Path
    kind: str
    why: str
    size: int
    changed: int

    def same(self):
        """Whether the file is still what it was."""
        try:
            now = self.path.lstat()
        except FileNotFoundError:
            return False
        return (now.st_size, now.st_mtime_ns) == (self.size, self.changed)


def items(root):
    """Every Item of a store, in order of kind and path. Results that are newer, or of a task or part not known here, are none."""
    from attnprobe.probes.holdings import holdings, leftovers

    aside, unfinished = leftovers(root)
    kinds = {"older": "older", "damaged": "corrupt"}
    found = [
        item(held.path, kinds[held.state], "; ".join(held.why)) for held in holdings(root) if held.state in kinds and held.path.is_file()
    ]
    found += [item(path, "corrupt", "set aside") for path in aside]
    now = time.time()
    found += [item(path, "temporary", "unfinished") for path in unfinished if now - mtime(path) >= UNTOUCHED]
    return sorted((one for one in found if one), key=lambda one: (list(KINDS).index(one.kind), one.path))


def item(path, kind, why):
    """One Item; None if the file has gone."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return Item(path, kind, why, found.st_size, found.st_mtime_ns)


def mtime(path):
    """When a file was last changed; now, if it has gone."""
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return time.time()


def remove(found):
    """Remove Items, but those that have changed since, and the directories of arms and tasks that this leaves empty.

    Returns (removed, kept because they changed).
    """
    gone, kept = [], []
    for one in found:
        if one.same():
            one.path.unlink(missing_ok=True)
            gone.append(one)
        else:
            kept.append(one)
    for folder in sorted({one.path.parent for one in gone}):
        for empty in (folder, folder.parent):
            try:
                empty.rmdir()
            except OSError:
                break  # not empty, or of someone else's
    return gone, kept


def count(found):
    """Kind -> {files, bytes} of Items, of every kind."""
    return {
        kind: {"files": sum(one.kind == kind for one in found), "bytes": sum(o.size for o in found if o.kind == kind)} for kind in KINDS
    }

"""A temporary folder that ends with its process, however that ends.

Its maker holds a lock on it for as long as it lives. The next one to make such a folder removes those of this user that nobody
holds: their makers were killed. A folder gets the name by which it is found when it is locked, and not before.
"""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

HELD, DRAFT = "kernelwright-held-", "kernelwright-draft-"
"""How the name of a locked folder begins, and that of one that is not locked yet."""
LEFT_S = 86400.0
"""Seconds after which one that is not locked yet was left by a maker that was killed at once."""


class TempFolder:
    """A folder that other users may pass through."""

    def __init__(self) -> None:
        _sweep_once(place := Path(tempfile.gettempdir()))
        draft = Path(tempfile.mkdtemp(prefix=DRAFT, dir=place))
        draft.chmod(0o711)
        self._lock = os.open(draft, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        # Where a file system knows no such locks, nobody's folder is swept.
        with suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = draft.rename(place / draft.name.replace(DRAFT, HELD, 1))

    def remove(self) -> None:
        """Remove it with all that is in it. Safe to call twice."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


@cache
def _sweep_once(place: Path) -> None:
    sweep(place)


def sweep(place: Path) -> None:
    """Remove this user's folders in a place whose makers are gone."""
    for folder in (*place.glob(f"{HELD}*"), *place.glob(f"{DRAFT}*")):
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if _is_left(folder, os.fstat(descriptor)):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


def _is_left(folder: Path, found: os.stat_result) -> bool:
    old = time.time() - found.st_mtime > LEFT_S
    return found.st_uid == os.geteuid() and (folder.name.startswith(HELD) or old)


def remove_given() -> None:
    """Remove the folder that this process was given as TMPDIR by whoever made it, and who may be gone."""
    if (place := Path(tempfile.gettempdir())).name.startswith(HELD):
        shutil.rmtree(place, ignore_errors=True)

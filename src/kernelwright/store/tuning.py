"""The tuning cache: the best schedule by device, family and shape class, one JSON file of this user.

An entry is only an order of trial: a run tries it first, and the referee judges it as any other. A run reads the file once as
it begins and adds to it once as it ends, under a lock and by replacing the file as a whole, so that two runs that end together
lose nothing. A file that cannot be read, or is of another version, is as good as none.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from kernelwright.errors import StoreError
from kernelwright.records.base import Record
from kernelwright.records.tuning import TuningEntry, TuningKey
from kernelwright.store.files import write_whole

VERSION = 1


class _Held(Record):
    """The file."""

    version: int = VERSION
    entries: tuple[TuningEntry, ...] = ()


def tuning_file() -> Path:
    """Where this user's schedules are kept: below XDG_CACHE_HOME, or ~/.cache."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "kernelwright" / f"tuning-{VERSION}.json"


class TuningCache:
    """Entries by device and key. Nothing is opened between calls."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def find(self, device: str, key: TuningKey) -> TuningEntry | None:
        """The entry; None: there is none."""
        return next((e for e in self._read().entries if (e.device, e.key) == (device, key)), None)

    def keep(self, entry: TuningEntry) -> None:
        """Add an entry, or replace the one in its place: the newest run's schedule is the one for today's versions.

        Raises:
            StoreError: the file cannot be written; what it held is still there.
        """
        with self._locked():
            others = [e for e in self._read().entries if (e.device, e.key) != (entry.device, entry.key)]
            write_whole(self.file, _Held(entries=(*others, entry)).model_dump_json(indent=1))

    def _read(self) -> _Held:
        try:
            found = _Held.model_validate_json(self.file.read_bytes())
        except (OSError, ValidationError):
            return _Held()
        return found if found.version == VERSION else _Held()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as error:
            raise StoreError(
                f"the tuning cache {self.file} cannot be written ({error.strerror}): check the disk"
            ) from None

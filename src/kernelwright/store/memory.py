"""What runs leave for later ones: the states of strategies, and the schedules that won.

**States** are one small SQLite file. A row holds the state for one strategy, device and operator family. A run reads it once
as it begins and merges what it learned once as it ends. The merge and the note that this run has merged are one transaction:
two runs that end together lose nothing, and a run that is killed and resumed counts once.

**Schedules** are one JSON file, by device, family and shape class. An entry is only an order of trial: a run tries it first,
and the referee judges it as any other. A run reads the file once as it begins and adds to it once as it ends, under a lock
and by replacing the file as a whole. A file that cannot be read, or is of another version, is as good as none.

Not covered: a home directory on a network file system where locks do not work.
"""

import fcntl
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from kernelwright.errors import StoreError
from kernelwright.pages import cache_folder, state_folder
from kernelwright.records.base import Record
from kernelwright.records.run import TuningEntry, TuningKey
from kernelwright.store.files import write_whole

BUSY_S = 30.0
"""How long a run waits for another one's merge."""
_TABLES = (
    "CREATE TABLE IF NOT EXISTS states (strategy TEXT NOT NULL, device TEXT NOT NULL, family TEXT NOT NULL,"
    " body TEXT NOT NULL, PRIMARY KEY (strategy, device, family)) STRICT",
    "CREATE TABLE IF NOT EXISTS merged (run TEXT PRIMARY KEY) STRICT",
)
_SELECT = "SELECT body FROM states WHERE strategy = ? AND device = ? AND family = ?"


class StateKey(NamedTuple):
    """What a state is about."""

    strategy: str
    device: str
    family: str
    """Of the task's operations, such as `reduction`."""


def state_file() -> Path:
    """Where this user's strategies keep their states."""
    return state_folder() / "strategies-1.sqlite"


class StrategyStates:
    """States by key. Nothing is opened between calls, and the file is made by the first merge."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def read(self, key: StateKey) -> JsonValue:
        """What earlier runs left; None: nothing.

        Raises:
            StoreError: the file cannot be read.
        """
        if not self.file.exists():
            return None
        with self._opened() as connection:
            return _found(connection, key)

    def merge(self, key: StateKey, run: str, learned: Callable[[JsonValue], JsonValue]) -> None:
        """Replace what is stored by `learned` of it, unless this run did so before.

        Raises:
            StoreError: the file cannot be written; what it held is still there.
        """
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("INSERT OR IGNORE INTO merged VALUES (?)", (run,)).rowcount:
                body = json.dumps(learned(_found(connection, key)))
                connection.execute("INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?)", (*key, body))
            connection.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.file, timeout=BUSY_S, isolation_level=None)) as connection:
                for statement in ("PRAGMA synchronous = FULL", *_TABLES):
                    connection.execute(statement)
                yield connection
        except (sqlite3.Error, OSError, json.JSONDecodeError) as error:
            raise StoreError(
                f"what strategies remember, {self.file}, cannot be used ({error}): check the disk and its permissions, "
                "or remove the file to begin without it"
            ) from error


def _found(connection: sqlite3.Connection, key: StateKey) -> JsonValue:
    row = connection.execute(_SELECT, key).fetchone()
    found: JsonValue = json.loads(row[0]) if row is not None else None
    return found


VERSION = 1


class _Schedules(Record):
    """The file of the tuning cache."""

    version: int = VERSION
    entries: tuple[TuningEntry, ...] = ()


def tuning_file() -> Path:
    """Where this user's schedules are kept."""
    return cache_folder() / f"tuning-{VERSION}.json"


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
            write_whole(self.file, _Schedules(entries=(*others, entry)).model_dump_json(indent=1))

    def _read(self) -> _Schedules:
        try:
            found = _Schedules.model_validate_json(self.file.read_bytes())
        except (OSError, ValidationError):
            return _Schedules()
        return found if found.version == VERSION else _Schedules()

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

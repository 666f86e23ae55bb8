"""One SQLite file, opened so that a commit survives `kill -9`, with every failure as a StoreError. It knows no table.

A commit in WAL mode with `synchronous=FULL` is on the disk before `write` returns, so neither a killed process nor a
power cut loses it. One process writes (a lock that ends with the process); any number may read meanwhile. Not covered:
a file system without working `fsync` or `flock`, as some network ones.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Self

from kernelwright.errors import StoreError

VERSION = 2
"""The version of this schema, in SQLite's `user_version`; a run of another version is refused."""

_TABLES = {
    "card": "id INTEGER PRIMARY KEY CHECK (id = 0), body TEXT NOT NULL",
    "state": "id INTEGER PRIMARY KEY CHECK (id = 0), body TEXT NOT NULL",
    "proposal_requests": "number INTEGER PRIMARY KEY, body TEXT NOT NULL",
    "proposals": "proposal_request INTEGER PRIMARY KEY REFERENCES proposal_requests, body TEXT NOT NULL",
    "evaluations": "key TEXT NOT NULL, sample INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (key, sample)",
    "attempts": "number INTEGER PRIMARY KEY, proposal_request INTEGER NOT NULL REFERENCES proposal_requests,"
    " candidate TEXT NOT NULL, outcome TEXT NOT NULL, body TEXT NOT NULL",
    "tells": "number INTEGER PRIMARY KEY, attempt INTEGER NOT NULL UNIQUE REFERENCES attempts, reward REAL NOT NULL",
    "messages": "number INTEGER PRIMARY KEY, body TEXT NOT NULL",
    "events": "number INTEGER PRIMARY KEY, at TEXT NOT NULL, body TEXT NOT NULL",
    "outcomes": "number INTEGER PRIMARY KEY, body TEXT NOT NULL",
}


def _append_only(table: str) -> str:
    return "".join(
        f"CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table}"
        f" BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END;"
        for verb in ("UPDATE", "DELETE")
    )


def _statements() -> str:
    tables = (f"CREATE TABLE {name} ({columns}) STRICT; {_append_only(name)}" for name, columns in _TABLES.items())
    return "BEGIN;" + "".join(tables) + f"PRAGMA user_version = {VERSION}; COMMIT;"


SCHEMA = _statements()
"""One script, one transaction: a database has all of it or nothing."""


FILE = "run.sqlite"
LOCK_TRIES, LOCK_WAIT_S = 3, 0.02
_DURABLE = ("PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON")
_READ_ONLY = ("PRAGMA query_only = ON",)
Value = str | int | float


class Database:
    """The connection of one run folder."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        self.folder = folder
        self._connection = connection
        self._lock = lock

    @classmethod
    def create(cls, folder: Path, card: str, state: str | None = None) -> Self:
        """A new journal that holds the card and the strategy's state, if it has one.

        It is made under another name and renamed, so it is whole or not there.

        Raises:
            StoreError: the folder already holds a run, or cannot be written.
        """
        path, draft = folder / FILE, folder / f"{FILE}.new"
        if path.exists():
            raise StoreError(
                f"{folder} already holds a run: resume it with `kernelwright resume {folder}`, "
                "or choose another --run-dir"
            )
        with _explained(folder, _fix_of_new), _no_draft_of(folder, draft):
            folder.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(draft)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(SCHEMA)
                connection.execute("INSERT INTO card VALUES (0, ?)", (card,))
                if state is not None:
                    connection.execute("INSERT INTO state VALUES (0, ?)", (state,))
                connection.commit()
            draft.rename(path)
        return cls.open(folder, writing=True)

    @classmethod
    def open(cls, folder: Path, *, writing: bool = False) -> Self:
        """An existing journal; only one process may have it open for writing.

        Raises:
            StoreError: missing, not readable, corrupt, of another schema version, or written by another process now.
        """
        with _explained(folder), ExitStack() as held:
            path = _found(folder)
            lock = _lock(folder) if writing else None
            if lock is not None:
                held.callback(os.close, lock)
            connection = held.enter_context(closing(_writer(path) if writing else _reader(path)))
            database = cls(folder, connection, lock)
            database._prepare(writing)
            held.pop_all()
        return database

    def _prepare(self, writing: bool) -> None:
        for pragma in _DURABLE if writing else _READ_ONLY:
            self.read(pragma)
        version = self.read("PRAGMA user_version")[0][0]
        if version != VERSION:
            raise StoreError(
                f"the run at {self.folder} was written with schema {version}, this version of kernelwright "
                f"reads schema {VERSION}: use the version that wrote it, or start a new run"
            )

    def read(self, query: str, *values: Value) -> list[tuple[Value, ...]]:
        """All rows of a query.

        Raises:
            StoreError: the file is corrupt.
        """
        with _explained(self.folder):
            return self._connection.execute(query, values).fetchall()

    def write(self, statement: str, *values: Value) -> None:
        """One row, committed and on the disk when this returns.

        Raises:
            StoreError: the disk is full, the row is there already, or the file cannot be written.
        """
        with _explained(self.folder), self._connection:
            self._connection.execute(statement, values)

    def written_elsewhere(self) -> bool:
        """Whether another process has the journal open for writing now."""
        if self._lock is not None:
            return False
        try:
            os.close(_lock(self.folder, fcntl.LOCK_SH))
        except StoreError:
            return True
        return False

    def close(self) -> None:
        """Close the file and give the lock back."""
        self._connection.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _found(folder: Path) -> Path:
    """The run's file.

    Raises:
        StoreError: there is none.
    """
    path = folder / FILE
    if path.is_file():
        return path
    if next(folder.glob(f"*/{FILE}"), None) is not None:
        raise StoreError(f"{folder} holds runs and is none: `kernelwright runs --run-dir {folder}` lists them")
    raise StoreError(
        f"there is no run at {folder}: {FILE} is missing. Name the folder that `kernelwright optimize` printed as `run`"
    )


def _writer(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=10)


def _reader(path: Path) -> sqlite3.Connection:
    """Changes no row, but may finish what a killed writer left; a folder that is not writable is as it is."""
    option = "mode=rw" if os.access(path.parent, os.W_OK) else "immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{option}", uri=True, timeout=10)


def _lock(folder: Path, kind: int = fcntl.LOCK_EX) -> int:
    """A lock on the folder itself, which leaves no file behind and ends with the process.

    It is asked for more than once: whoever only looks whether a run is live holds it for an instant.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    for _ in range(LOCK_TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return descriptor
        time.sleep(LOCK_WAIT_S)
    os.close(descriptor)
    raise StoreError(f"the run at {folder} is being worked on by another process: wait until it ends, or stop it first")


@contextmanager
def _no_draft_of(folder: Path, draft: Path) -> Iterator[None]:
    """Remove what an earlier attempt at this run left, and where this one fails, what it leaves."""
    _remove_drafts(draft)
    there = folder.exists()
    try:
        yield
    except (sqlite3.Error, OSError):
        with suppress(OSError):
            _remove_drafts(draft)
            if not there:
                folder.rmdir()
        raise


def _remove_drafts(draft: Path) -> None:
    for leftover in draft.parent.glob(f"{draft.name}*"):
        leftover.unlink()


@contextmanager
def _explained(folder: Path, fix: Callable[[Path, str], str] | None = None) -> Iterator[None]:
    """Turn the failures of SQLite and of the file system into a StoreError with its fix."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError((fix or _fix)(folder, str(error))) from error


def _is_full(reason: str) -> bool:
    return "full" in reason or "No space" in reason or "disk I/O" in reason


def _fix_of_new(folder: Path, reason: str) -> str:
    """The same for a run that had not begun: there is nothing to go on with."""
    if _is_full(reason):
        return (
            f"the disk that holds {folder} is full ({reason}): the run had not begun, and nothing of it is left. Free some "
            "space, or name another --run-dir, and start again"
        )
    return _fix(folder, reason)


def _fix(folder: Path, reason: str) -> str:
    if _is_full(reason):
        return (
            f"the disk that holds {folder} is full ({reason}): free some space, then continue with "
            f"`kernelwright resume {folder}`; every attempt finished so far is kept"
        )
    if any(word in reason for word in ("malformed", "not a database", "no such table", "encrypted")):
        return (
            f"the run at {folder} is corrupt ({reason}): restore {FILE} from a copy, "
            "or start a new run in another folder"
        )
    return f"the run at {folder} cannot be used ({reason}): check the folder's permissions and its disk"

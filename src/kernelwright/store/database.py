"""One SQLite file, opened so that a commit survives `kill -9`, with every failure as a StoreError. It knows no table.

A commit in WAL mode with `synchronous=FULL` is on the disk before `write` returns, so neither a killed process nor a
power cut loses it. One process writes (a lock that ends with the process); any number may read meanwhile. Not covered:
a file system without working `fsync` or `flock`, as some network ones.

Rows are added and read by `add` and `rows` alone: one seals a row in its own transaction, the other believes none that its
seal does not prove (`store/chain.py`). A journal of the version before has no seals: it is read, and `unproved` says so.
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
from kernelwright.store.chain import BrokenError, Chain, Seal, Value
from kernelwright.store.secret import NOBODY_S, OTHERS_WRITE, find_secret, make_secret, must_be_own

VERSION, UNSEALED = 3, 2
"""The version of this schema, in SQLite's `user_version`, and the one before, whose rows have no seals; others are refused."""

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
    "sealer": "id INTEGER PRIMARY KEY CHECK (id = 0), secret TEXT NOT NULL",
    "seals": "number INTEGER PRIMARY KEY, place TEXT NOT NULL, row INTEGER NOT NULL, mark BLOB NOT NULL, digest BLOB NOT NULL",
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
LOWEST, AT_ONCE = -(1 << 63), 200
"""The lowest number that a row can have; rows that are read in one look at the file."""
_DURABLE = ("PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON")
_READ_ONLY = ("PRAGMA query_only = ON",)
_UNTRUSTED = ("PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON")
"""A run's folder may come from somebody else."""


class Database:
    """The connection of one run folder."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        self.folder = folder
        self._connection = connection
        self._lock = lock
        self._chain: Chain | None = None
        self._writing = False
        self.unproved = ""
        """Why nothing proves the rows; empty where their seals do."""

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
        with _store_errors(folder, _fix_of_new), _no_draft_of(folder, draft):
            folder.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(draft)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(SCHEMA)
                connection.execute("INSERT INTO sealer VALUES (0, ?)", (make_secret().id,))
                connection.commit()
                made = cls(folder, connection, None)
                made._prepare(writing=True)
                made.add("card", 0, card)
                if state is not None:
                    made.add("state", 0, state)
            draft.rename(path)
        made = cls.open(folder, writing=True)
        made.unproved = ""  # this very process writes it
        return made

    @classmethod
    def open(cls, folder: Path, *, writing: bool = False) -> Self:
        """An existing journal; only one process may have it open for writing.

        Raises:
            StoreError: missing, not readable, corrupt, of another schema version, or written by another process now.
        """
        with _store_errors(folder), ExitStack() as stack:
            path = _find_file(folder)
            lock = _lock(folder) if writing else None
            if lock is not None:
                stack.callback(os.close, lock)
            connection = stack.enter_context(closing(_writer(path) if writing else _reader(path)))
            database = cls(folder, connection, lock)
            database._prepare(writing)
            stack.pop_all()
        return database

    def _prepare(self, writing: bool) -> None:
        for pragma in (*_UNTRUSTED, *(_DURABLE if writing else _READ_ONLY)):
            self.read(pragma)
        if self.read("SELECT 1 FROM sqlite_master WHERE type = 'view' OR sql LIKE 'CREATE VIRTUAL%'"):
            raise StoreError(f"the run at {self.folder} holds views, which no run has: it is corrupt, or a trap")
        version = self.read("PRAGMA user_version")[0][0]
        if version not in (VERSION, UNSEALED):
            raise StoreError(
                f"the run at {self.folder} was written with schema {version}, this version of kernelwright "
                f"reads schema {VERSION}: use the version that wrote it, or start a new run"
            )
        sealed = bool(self.read("SELECT 1 FROM sqlite_master WHERE name = 'seals'"))
        if sealed != (version == VERSION):
            raise self._broken("its seals and its schema do not belong together")
        if sealed:
            self._begin_chain()
            with self._proving():
                self._writing = writing
        else:
            self.unproved = "it was written by a version of kernelwright that did not seal its rows"

    def _begin_chain(self) -> None:
        sealers = [str(sealer) for (sealer,) in self.read("SELECT secret FROM sealer")]
        if len(sealers) != 1:
            raise self._broken("it does not say who sealed it")
        secret = NOBODY_S if sealers[0] == NOBODY_S.id else find_secret()
        mine = secret is not None and secret.id == sealers[0]
        self._chain = Chain(sealers[0], secret if mine else None)
        if secret is NOBODY_S:
            self.unproved = "it was begun where no secret could be kept to seal its rows with"
        elif not mine:
            self.unproved = f"its rows were sealed by another user, or elsewhere: the secret {sealers[0]} is not here"

    def rows(self, table: str) -> list[tuple[Value, ...]]:
        """All rows of a table in the order of writing, each of them proved by its seal.

        Raises:
            StoreError: the file is corrupt, or a row is not what was written; says which.
        """
        return list(self.each(table))

    def each(self, table: str, first: int = LOWEST) -> Iterator[tuple[Value, ...]]:
        """The same one by one from the row `first` on, so that a long table need not fit in memory.

        Raises:
            StoreError: as `rows`.
        """
        seen = set(range(first))  # nothing below LOWEST; rows before `first` were proved when they were read
        query = f"SELECT rowid, * FROM {table} WHERE rowid >= ? ORDER BY rowid LIMIT {AT_ONCE}"
        while True:
            with self._proving():
                found = self._proved(table, query, first)
                seen.update(row for row, _ in found)
                if self._chain is not None and len(found) < AT_ONCE:
                    self._chain.must_be_all(table, seen)
            yield from (values for _, values in found)
            if len(found) < AT_ONCE:
                return
            first = found[-1][0] + 1

    def row(self, table: str, row: int) -> tuple[Value, ...] | None:
        """One row, proved by its seal; None: there is none of that number.

        Raises:
            StoreError: as `rows`.
        """
        with self._proving():
            found = self._proved(table, f"SELECT rowid, * FROM {table} WHERE rowid = ?", row)
            if self._chain is not None and not found:
                self._chain.must_not_have(table, row)
        return found[0][1] if found else None

    def _proved(self, table: str, query: str, value: int) -> list[tuple[int, tuple[Value, ...]]]:
        found = [(int(row), tuple(values)) for row, *values in self._connection.execute(query, (value,))]
        if self._chain is not None:
            for row, values in found:
                self._chain.must_have(table, row, values)
        return found

    def count(self, table: str) -> int:
        """How many rows a table has, without reading them.

        Raises:
            StoreError: the file is corrupt, or the seals are not what was written.
        """
        if self._chain is None:
            return int(self.read(f"SELECT COUNT(*) FROM {table}")[0][0])
        if not self._writing:
            with self._proving():
                pass
        return self._chain.count(table)

    @contextmanager
    def _proving(self) -> Iterator[None]:
        """One look at the file, with all seals that there are by then."""
        with _store_errors(self.folder):
            self._connection.execute("BEGIN")
            try:
                if self._chain is not None:
                    query = "SELECT number, place, row, mark, digest FROM seals WHERE number >= ? ORDER BY number"
                    self._chain.follow(map(Seal._make, self._connection.execute(query, (len(self._chain),))))
                yield
            except BrokenError as error:
                raise self._broken(str(error)) from None
            finally:
                self._connection.rollback()

    def _broken(self, why: str) -> StoreError:
        return StoreError(
            f"the run at {self.folder} was changed after it was written ({why}): nothing that it says is believed. Restore "
            f"{FILE} from a copy, or start a new run"
        )

    def add(self, table: str, *values: Value) -> None:
        """One row and its seal, committed and on the disk when this returns.

        Raises:
            StoreError: the disk is full, the row is there already, or the file cannot be written.
        """
        places = ", ".join("?" * len(values))
        with _store_errors(self.folder), self._connection:
            row = self._connection.execute(f"INSERT INTO {table} VALUES ({places})", values).lastrowid
            if self._chain is not None:
                assert row is not None
                seal = self._chain.next(table, row, values)
                self._connection.execute("INSERT INTO seals VALUES (?, ?, ?, ?, ?)", seal)
        if self._chain is not None:
            self._chain.take(seal)

    def read(self, query: str, *values: Value) -> list[tuple[Value, ...]]:
        """All rows of a query.

        Raises:
            StoreError: the file is corrupt.
        """
        with _store_errors(self.folder):
            return self._connection.execute(query, values).fetchall()

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


def _find_file(folder: Path) -> Path:
    """The run's file.

    Raises:
        StoreError: there is none.
    """
    path = folder / FILE
    if path.is_file() or path.is_symlink():
        must_be_own(path, OTHERS_WRITE)
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
def _store_errors(folder: Path, fix: Callable[[Path, str], str] | None = None) -> Iterator[None]:
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

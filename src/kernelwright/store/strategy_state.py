"""What strategies remember between runs: one small SQLite file of this user.

A row holds the state for one strategy, device and operator family. A run reads it once as it begins and merges what it
learned once as it ends. Both the merge and the note that this run has merged are one transaction: two runs that end together
lose nothing, and a run that is killed and resumed counts once.
Not covered: a home directory on a network file system where SQLite's locks do not work.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from kernelwright.errors import StoreError

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
    """Where this user's strategies keep their states: below XDG_STATE_HOME, or ~/.local/state."""
    base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "kernelwright" / "strategies-1.sqlite"


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

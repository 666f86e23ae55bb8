"""Summaries of finished runs, so that a list of thousands reads no journal twice.

One file in this user's cache, whose rows are believed only while the journal is to the last change the file that was summed
up: where it lies, its inode, size and times, the time of its last change of any kind among them, which nobody can set. They
are of this version's making, and sealed by this user's secret. A cache that cannot be used is as good as none, and so is a row
that is not what was written.
"""

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

from kernelwright.errors import StoreError
from kernelwright.pages import cache_folder
from kernelwright.store.database import FILE
from kernelwright.store.secret import OTHERS, make_secret, must_be_own

BUSY_S = 2.0
_TROUBLE = (sqlite3.Error, OSError, StoreError)
_TABLE = (
    "CREATE TABLE IF NOT EXISTS summaries (folder TEXT PRIMARY KEY, stamp TEXT NOT NULL, body TEXT NOT NULL,"
    " seal TEXT NOT NULL) STRICT"
)


class Summaries:
    """Bodies by folder and state of the journal.

    Args:
        file: the cache.
        maker: what changes whenever a summary would be made otherwise.
    """

    def __init__(self, file: Path, maker: str) -> None:
        self._file, self._maker = file, maker

    def read(self, folders: Path) -> dict[str, tuple[str, str]]:
        """Stamp and body of every run below a folder that was summed up, by the run's own folder."""
        above = f"{folders.absolute()}{os.sep}"
        query = "SELECT folder, stamp, body, seal FROM summaries WHERE folder >= ? AND folder < ?"
        with suppress(*_TROUBLE), closing(self._open()) as connection:
            secret, rows = make_secret(), connection.execute(query, (above, f"{above}\U0010ffff"))
            return {row[0]: (row[1], row[2]) for *row, seal in rows if seal and seal == secret.seal(json.dumps(row))}
        return {}

    def keep(self, summed: Mapping[Path, tuple[str, str]]) -> None:
        """Keep stamps and bodies by the run's folder."""
        rows = [(str(folder.absolute()), stamp, body) for folder, (stamp, body) in summed.items()]
        with suppress(*_TROUBLE), closing(self._open()) as connection, connection:
            sealed = [(*row, make_secret().seal(json.dumps(row))) for row in rows]
            connection.executemany("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?)", sealed)

    def stamp(self, folder: Path) -> str:
        """The state of a run's journal, and who sums it up."""
        parts = [self._maker]
        for name in (FILE, f"{FILE}-wal"):
            with suppress(OSError):
                at = (folder / name).stat()
                parts += [str(n) for n in (at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns) if at.st_size]
        return " ".join(parts)

    def _open(self) -> sqlite3.Connection:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        if not self._file.exists():
            os.close(os.open(self._file, os.O_CREAT | os.O_RDWR, 0o600))
        must_be_own(self._file, OTHERS)
        connection = sqlite3.connect(self._file, timeout=BUSY_S)
        connection.execute(_TABLE)
        return connection


def summaries_file() -> Path:
    """Where this user's summaries are."""
    return cache_folder() / "runs-2.sqlite"

"""The search cache: evaluations of earlier runs, kept in one file of this user.

It keeps only verdicts about the kernel itself, made with every defence in force. A suspect is examined again, because
each run must form its own suspicion. Crashes, time limits and blurred times are not kept either: a full or busy machine
causes them, and repeating one costs little compared with calling a good kernel dead or slow for ever. The caller passes
the key and ensures that it is a search that asks. A trainer's cache is a file of its own that keeps time limits and doubtful
times too: its workers share a GPU with it and one another, so that hardly a time has no neighbours.

A row is sealed by this user's secret together with the row before it. One that is not what was written, or that lacks the row
before it, makes the whole file one that is not believed. Rows of another secret are as good as not there, and so are those of
another judge: versions of this program that share a file do not take over each other's verdicts.

Many processes may read and write at once; a write that is killed half-way never happened (SQLite's WAL). A file that is
full, corrupt or not writable is a trouble to report, never an error: its contents are judged again. Not covered: a
cache directory on a network file system, where SQLite's locks may not work.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache as computed_once
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from kernelwright.errors import StoreError
from kernelwright.pages import cache_folder
from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import EVALUATION, Evaluation, Measured
from kernelwright.records.measure import Timing
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import Task
from kernelwright.store.secret import NOBODY_S, OTHERS_WRITE, make_secret, must_be_own

KEPT = ("measured", "verified", "compiled", "incorrect", "build_failed", "refused")
"""Outcomes that a later run may take over."""
DOUBTFUL = (*KEPT, "timed_out")
"""Those that a later trainer may take over."""
MOST_BYTES = 512 << 20
"""The largest size of the file; beyond it the oldest tenth of the rows goes."""
BUSY_MS = 5000
_JUDGES = (
    "evaluate",
    "records",
    "tasks",
    "nests",
    "knowledge",
    "export",
    "devices.py",
    "languages.py",
    "calltree.py",
    "tracing.py",
)
"""What decides verdicts: code, and the facts that it asks for."""
_TABLE = (
    "CREATE TABLE IF NOT EXISTS evaluations (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,"
    " run TEXT NOT NULL, body TEXT NOT NULL, before TEXT NOT NULL, seal TEXT NOT NULL) STRICT"
)
_FIND = (
    "SELECT number, run, body, before, seal, (SELECT seal FROM evaluations AS e WHERE e.number = o.number - 1)"
    " FROM evaluations AS o WHERE key = ?"
)


class Kept(NamedTuple):
    """An evaluation and the run that made it."""

    run: str
    evaluation: Evaluation


def cache_file(of: str = "evaluations") -> Path:
    """Where this user's cache is, or `of` trainers."""
    return cache_folder() / f"{of}-2.sqlite"


class EvaluationCache:
    """Evaluations by key. After the first trouble it neither finds nor keeps anything more, and `trouble` says why."""

    def __init__(self, file: Path, *, doubtful: bool = False) -> None:
        """Open the file, or begin it.

        Args:
            file: Where it is.
            doubtful: Whether it keeps what a busy machine may have caused as well.
        """
        self.file, self._doubtful = file, doubtful
        self.trouble: str | None = None
        self._connection: sqlite3.Connection | None = None
        self._secret = NOBODY_S
        try:
            self._secret = make_secret()
            self._connection = _open(file)
            _must_be_whole(self._connection)
        except (sqlite3.Error, OSError, StoreError) as error:
            self._give_up("opened", error)

    def find(self, key: str) -> Kept | None:
        """What an earlier run found for this key, if its judge was today's."""
        if self._connection is None:
            return None
        try:
            row = self._connection.execute(_FIND, (self._row_key(key),)).fetchone()
            if row is None:
                return None
            number, run, body, before, seal, left = row
            if seal != self._seal(before, self._row_key(key), run, body) or left not in (None, before):
                raise StoreError(f"row {number} is not what was written")
        except (sqlite3.Error, StoreError) as error:
            self._give_up("read", error)
            return None
        return _read((run, body), self._kinds)

    def _row_key(self, key: str) -> str:
        return identity("cached", {"key": key, "judge": judge_digest(), "secret": self._secret.id})

    def _seal(self, *fields: str) -> str:
        return self._secret.seal(json.dumps(fields))

    @property
    def _kinds(self) -> tuple[str, ...]:
        return DOUBTFUL if self._doubtful else KEPT

    def keep(self, key: str, run: str, evaluation: Evaluation) -> None:
        """Keep an evaluation for later runs, if it is of a kind that may be kept; the first one stays."""
        if self._connection is None or not self._may_be_kept(evaluation):
            return
        row = self._row_key(key), run, EVALUATION.dump_json(evaluation).decode()
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                if self._connection.execute("SELECT 1 FROM evaluations WHERE key = ?", row[:1]).fetchone() is None:
                    newest = "SELECT seal FROM evaluations ORDER BY number DESC LIMIT 1"
                    (before,) = self._connection.execute(newest).fetchone() or ("",)
                    insert = "INSERT INTO evaluations VALUES (NULL, ?, ?, ?, ?, ?)"
                    self._connection.execute(insert, (*row, before, self._seal(before, *row)))
                    self._make_room()
        except sqlite3.Error as error:
            self._give_up("written", error)

    def close(self) -> None:
        """Close the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _may_be_kept(self, evaluation: Evaluation) -> bool:
        if evaluation.outcome not in self._kinds or evaluation.disabled or evaluation.seeds:
            return False
        return self._doubtful or not (isinstance(evaluation, Measured) and _is_doubtful(evaluation.timing))

    def _make_room(self) -> None:
        assert self._connection is not None
        (pages,), (size,), (free,) = (
            self._connection.execute(f"PRAGMA {name}").fetchone()
            for name in ("page_count", "page_size", "freelist_count")
        )
        if (pages - free) * size > MOST_BYTES:
            self._connection.execute(
                "DELETE FROM evaluations WHERE number IN (SELECT number FROM evaluations ORDER BY number "
                "LIMIT 1 + (SELECT COUNT(*) FROM evaluations) / 10)"
            )

    def _give_up(self, what: str, error: Exception) -> None:
        self.trouble = (
            f"the search cache {self.file} could not be {what} ({error}): everything is judged anew. "
            f"Free some space or remove the file; {'cached = false' if self._doubtful else '--no-cache'} does without it"
        )
        self.close()


def _is_doubtful(timing: Timing) -> bool:
    return any(v.speedup.blurred or v.verdict == "disturbed" for v in timing.versus) or (
        timing.load is not None and timing.load.busy
    )


def _open(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        # Nobody else may put verdicts there.
        file.touch(0o600)
    must_be_own(file, OTHERS_WRITE)
    connection = sqlite3.connect(file, timeout=BUSY_MS / 1000)
    try:
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_TABLE)
        connection.commit()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Wait for whoever is about to write: SQLite itself does not, where a journal of another kind is in use still."""
    last = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
        else:
            return
        time.sleep(0.01)


def _must_be_whole(connection: sqlite3.Connection) -> None:
    """Only the oldest rows may be gone."""
    query = "SELECT COUNT(*), MAX(number) - MIN(number) + 1, MAX(number), (SELECT seq FROM sqlite_sequence) FROM evaluations"
    rows, numbers, newest, last = connection.execute(query).fetchone()
    if rows and (rows, newest) != (numbers, last):
        raise StoreError("rows were taken out of it")


def _read(row: tuple[str, str], kinds: Sequence[str]) -> Kept | None:
    run, body = row
    try:
        found = EVALUATION.validate_json(body)
    except ValidationError:
        # Written by another version under the same code hash, or damaged: as good as not there.
        return None
    return Kept(run, found) if found.outcome in kinds and not found.disabled else None


@computed_once
def judge_digest(parts: tuple[str, ...] = _JUDGES) -> str:
    """Hash of the code that judges: a changed referee does not take over what another one found. Or of other `parts`."""
    package = Path(str(files("kernelwright")))
    found = [
        file
        for part in parts
        for file in ((package / part).rglob("*") if (package / part).is_dir() else [package / part])
    ]
    sources = [file for file in found if file.suffix in (".py", ".toml", ".txt") and "cards" not in file.parts]
    return identity("judge", {file.relative_to(package).as_posix(): file.read_text("utf-8") for file in sources})


def isolation_key(key: str, environment: Environment) -> str:
    """A key in the cache: what a weaker sandbox let pass is not taken over by a stronger one."""
    return f"{key} {' '.join(sorted(environment.isolation))}"


def evaluation_key(task: Task, candidate: Candidate, environment: Environment, policy: Policy, effort: Effort) -> str:
    """Hash of the task, the candidate, the device, all versions, the policy and the effort."""
    device = environment.device
    return identity(
        "evaluation",
        {
            "task": task.id,
            "candidate": candidate.id,
            "device": [device.kind, device.name, device.cores],
            "versions": dict(environment.versions),
            "policy": policy.model_dump(mode="json", exclude={"counters"}),
            "effort": effort,
        },
    )

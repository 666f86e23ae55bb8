"""The chain that seals a journal: every row has a mark, every mark is bound to all before it by this user's secret.

A seal is a row of its own, written in the same transaction as what it seals:

    mark    SHA-256 of a row: its table, its number, its values
    digest  HMAC-SHA256 of the seal before, the place and the mark; of the first one, of the secret's id

So a reader proves the whole order from the seals alone, which are small, and of the rows only those that it reads.
"""

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kernelwright.store.secret import Secret

Value = str | int | float


class Seal(NamedTuple):
    """One row of the table `seals`."""

    number: int
    place: str
    """The table of the row."""
    row: int
    mark: bytes
    digest: bytes


class BrokenError(Exception):
    """A row that is not what was written; says which and how."""


def mark_of(table: str, row: int, values: Sequence[Value]) -> bytes:
    """The mark of a row as SQLite gives it back."""
    found = hashlib.sha256()
    for value in (table, row, *values):
        # SQLite has no negative zero, so none is told from zero.
        said = (value if isinstance(value, str) else repr(value + 0)).encode()
        found.update(b"%s%d:" % (type(value).__name__.encode(), len(said)))
        found.update(said)
    return found.digest()


class Chain:
    """The seals of one journal, as far as they were read or written."""

    def __init__(self, sealer: str, secret: Secret | None) -> None:
        """Nothing yet; `sealer` is the id of the secret that sealed it, `secret` that very one, or None: it is not here."""
        self._secret = secret
        self._last = sealer.encode()
        self._marks: defaultdict[str, dict[int, bytes]] = defaultdict(dict)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def count(self, table: str) -> int:
        """How many rows a table has."""
        return len(self._marks[table])

    def next(self, table: str, row: int, values: Sequence[Value]) -> Seal:
        """The seal of a row that is about to be added."""
        number, mark = len(self), mark_of(table, row, values)
        return Seal(number, table, row, mark, self._digest(number, table, row, mark))

    def follow(self, seals: Iterable[Seal]) -> None:
        """Take up the seals that come next.

        Raises:
            BrokenError: one does not follow from those before it.
        """
        for seal in seals:
            number, table, row, mark, digest = seal
            if number != len(self) or row in self._marks[table]:
                raise BrokenError(f"seal {len(self)} is missing")
            if self._secret is not None and not hmac.compare_digest(digest, self._digest(number, table, row, mark)):
                raise BrokenError(f"the seal of row {row} of `{table}` does not follow from those before it")
            self.take(seal)

    def take(self, seal: Seal) -> None:
        """Take up a seal that was made here."""
        self._last, self._length = seal.digest, seal.number + 1
        self._marks[seal.place][seal.row] = seal.mark

    def must_have(self, table: str, row: int, values: Sequence[Value]) -> None:
        """Ask whether a row is the one that was sealed.

        Raises:
            BrokenError: it is not.
        """
        mark = self._marks[table].get(row)
        if mark is None:
            raise BrokenError(f"row {row} of `{table}` was added by another hand")
        if mark != mark_of(table, row, values):
            raise BrokenError(f"row {row} of `{table}` is not what was written")

    def must_not_have(self, table: str, row: int) -> None:
        """Ask whether a row that is not there never was.

        Raises:
            BrokenError: it was written.
        """
        if row in self._marks[table]:
            raise BrokenError(f"row {row} of `{table}` is missing")

    def must_be_all(self, table: str, rows: Iterable[int]) -> None:
        """Ask whether these are all rows of a table.

        Raises:
            BrokenError: one is missing.
        """
        if lost := self._marks[table].keys() - set(rows):
            raise BrokenError(f"row {min(lost)} of `{table}` is missing")

    def _digest(self, number: int, table: str, row: int, mark: bytes) -> bytes:
        key = self._secret.key if self._secret is not None else b""
        return hmac.digest(key, b"%s %d %s %d %s" % (self._last, number, table.encode(), row, mark), "sha256")

"""What was handed out: the handicaps and the fault of a kernel, found by its text.

Decides what counts as the same text: everything but white space. Refuses to know how kernels are made.
"""

import hashlib
from threading import Lock
from typing import NamedTuple

from kernelwright.testing.drill.breakage import Fault
from kernelwright.testing.drill.writer import words


class Issued(NamedTuple):
    """A kernel that was handed out."""

    task: str
    """Id of the task."""
    handicaps: tuple[str, ...]
    fault: Fault | None = None


class Ledger:
    """All kernels that were handed out. Safe to use from several threads."""

    def __init__(self) -> None:
        self._issued: dict[str, Issued] = {}
        self._lock = Lock()

    def keep(self, source: str, issued: Issued) -> None:
        """Remember a kernel."""
        with self._lock:
            self._issued[_key(source)] = issued

    def find(self, source: str) -> Issued | None:
        """The kernel with this text; None for one of another hand."""
        with self._lock:
            return self._issued.get(_key(source))


def _key(source: str) -> str:
    return hashlib.sha256(words(source).encode("utf-8", "surrogatepass")).hexdigest()

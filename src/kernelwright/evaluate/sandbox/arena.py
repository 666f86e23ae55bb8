"""Shared read-only inputs: one anonymous file that the grader writes and children map without write access.

Each tensor has a segment with room for its draws and for fresh contents; a call names a byte offset into every segment,
so that fresh contents and fresh pointers cost no copy.
"""

import ctypes
import fcntl
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass

PAGE = 4096
F_ADD_SEALS, F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE = 1033, 1, 2, 4, 16
SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE
"""No mapping but the grader's own can write, however the file is opened again: through /proc/self/fd for instance."""


@dataclass(frozen=True)
class Segment:
    """Where one tensor's pool lies in the arena."""

    start: int
    capacity: int


class Arena:
    """Memory of the grader's that children can read. Close it to free it."""

    def __init__(self, capacities: Sequence[int], writable: bool = False) -> None:
        starts, total = [], 0
        for capacity in capacities:
            starts.append(total)
            # One empty page behind each segment, so that an overrun does not read a neighbour.
            total += -(-(capacity + PAGE) // PAGE) * PAGE
        self.segments = tuple(Segment(s, c) for s, c in zip(starts, capacities, strict=True))
        self._file = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self._file, max(total, PAGE))
        self._map = mmap.mmap(self._file, max(total, PAGE))
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        if not writable:
            fcntl.fcntl(self._file, F_ADD_SEALS, SEALS)
            # Whoever may write to a file may also have its pages swapped out.
            os.fchmod(self._file, 0o400)
        mode = os.O_RDWR if writable else os.O_RDONLY
        self.descriptor = os.open(f"/proc/self/fd/{self._file}", mode | os.O_CLOEXEC)

    def where(self, index: int) -> int:
        """Address of a segment in the grader's memory."""
        return self.address + self.segments[index].start

    def memory(self, index: int) -> ctypes.Array[ctypes.c_char]:
        """A whole segment in the grader's memory."""
        return (ctypes.c_char * self.segments[index].capacity).from_address(self.where(index))

    def layout(self) -> list[int]:
        """Starts of the segments, for the children."""
        return [s.start for s in self.segments]

    def close(self) -> None:
        """Free the memory; children that have it mapped keep theirs."""
        os.close(self.descriptor)
        os.close(self._file)

"""Shared read-only inputs: an anonymous file that the grader writes, and children see as tensors without write access.

Each tensor has a segment with room for its draws and for fresh contents; a call names a byte offset into every segment,
so that fresh contents and fresh pointers cost no copy.
"""

import ctypes
import fcntl
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch

from kernelwright.evaluate.sandbox.messages.calls import Found
from kernelwright.records.tensor import TensorSpec

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


class ArenaView:
    """An arena, mapped without write access: its descriptor has none, unless a test switched that off.

    `private` makes writable pages of this process's own instead, copied where they are written to.
    """

    def __init__(self, descriptor: int, starts: Sequence[int], private: bool = False) -> None:
        flags = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED | mmap.MAP_POPULATE
        size = os.fstat(descriptor).st_size
        # Python's mmap keeps no write access either; the address comes from the C library.
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *([ctypes.c_int] * 3), ctypes.c_long)
        writable = private or fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        base = libc.mmap(None, size, access, flags, descriptor, 0)
        if base is None or base == ctypes.c_void_p(-1).value:
            raise MemoryError(f"cannot map {size} bytes of inputs: {ctypes.get_errno()}")
        self.base, self._size = int(base), size
        self.starts = tuple(starts)

    def address(self, index: int, offset: int) -> int:
        """Where the window at `offset` of tensor `index` begins."""
        return self.base + self.starts[index] + offset

    def holds(self, address: int) -> bool:
        """Whether this is memory of the arena's."""
        return self.base <= address < self.base + self._size

    def tensor(self, index: int, offset: int, spec: TensorSpec) -> torch.Tensor:
        """That window as a tensor; writing to it is a segmentation fault."""
        return over(self.address(index, offset), spec)


def over(address: int, spec: TensorSpec) -> torch.Tensor:
    """A tensor over memory that somebody else owns."""
    if not spec.numel:
        return torch.empty(spec.shape, dtype=getattr(torch, spec.dtype))
    buffer = (ctypes.c_char * max(spec.nbytes, 1)).from_address(address)
    flat = torch.frombuffer(buffer, dtype=getattr(torch, spec.dtype), count=prod(spec.shape))
    return flat.view(spec.shape)


def described(tensor: torch.Tensor) -> Found:
    """Address, dtype and shape of a result, for the grader to read."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Found(address=tensor.data_ptr(), dtype=dtype, shape=tuple(tensor.shape))

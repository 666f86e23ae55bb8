"""Tensors over the shared arenas, and how a child describes what it computed. Runs inside children."""

import ctypes
import fcntl
import mmap
import os
from collections.abc import Sequence
from math import prod

import torch

from kernelwright.evaluate.sandbox.messages.calls import Found
from kernelwright.records.tensor import ITEM_BYTES, TensorSpec


class ArenaView:
    """An arena, mapped without write access: its descriptor has none, unless a test switched that off.

    `private` makes writable pages of this process's own instead, copied where they are written to.
    """

    def __init__(self, descriptor: int, starts: Sequence[int], private: bool = False) -> None:
        flags = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED | mmap.MAP_POPULATE
        size = _size(descriptor)
        # Python's mmap keeps no write access either; the address comes from the C library.
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *([ctypes.c_int] * 3), ctypes.c_long)
        writable = private or fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        base = libc.mmap(None, size, access, flags, descriptor, 0)
        if base is None or base == ctypes.c_void_p(-1).value:
            raise MemoryError(f"cannot map {size} bytes of inputs: {ctypes.get_errno()}")
        self.base = int(base)
        self.starts = tuple(starts)

    def address(self, index: int, offset: int) -> int:
        """Where the window at `offset` of tensor `index` begins."""
        return self.base + self.starts[index] + offset

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


def item_bytes(spec: TensorSpec) -> int:
    """Bytes of one element."""
    return ITEM_BYTES[spec.dtype]


def _size(descriptor: int) -> int:

    return os.fstat(descriptor).st_size

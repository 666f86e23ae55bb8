"""What a confined compiler has made: its bytes, read from its memory while it stands still."""

import ctypes

from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.contestant import Contestant


def read_made(child: Contestant, address: int, size: int) -> bytes:
    """`size` bytes at `address` of the child; the caller has bounded `size`.

    Raises:
        OSError: there is no such memory.
    """
    buffer = ctypes.create_string_buffer(size)
    kernel.read_process(child.child.pid, [(address, size)], ctypes.addressof(buffer))
    return buffer.raw

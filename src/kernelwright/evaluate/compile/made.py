"""What a confined compiler has made: its bytes, read from its memory while it stands still."""

import ctypes

from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.contestant import Contestant
from kernelwright.evaluate.sandbox.messages.tools import Made


def read_made(child: Contestant, made: Made) -> bytes:
    """The bytes; the caller has bounded how many.

    Raises:
        OSError: there is no such memory.
    """
    buffer = ctypes.create_string_buffer(made.nbytes)
    kernel.read_process(child.child.pid, [(made.address, made.nbytes)], ctypes.addressof(buffer))
    return buffer.raw

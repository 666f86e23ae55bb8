"""Running a compiler in a confined child, and reading what it made from the child's memory while that stands still.

A compile is foreign code at work (template bombs, `.incbin` of somebody's files), so it has limits and sees no more of the
file system than a compiler must.
"""

import ctypes
import os
import time

from kernelwright.evaluate.languages.artifact import Library
from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.contestant import Contestant
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.records.evaluation import BuildFailed
from kernelwright.records.measure import BuildFacts

LARGEST_SOURCE, LARGEST_BINARY = 256 << 10, 16 << 20
"""Bytes of a source that is compiled, and of a shared object that is loaded."""
LIBRARY = "kernel.so"


def shared_object(
    warm: Warm, argv: list[str], files: dict[str, str], limit_s: float, jail: Jail
) -> Library | BuildFailed:
    """Run a compiler that makes LIBRARY of `files`, confined as `jail` says but for starting programs and memory.

    Raises:
        ChildSlowError, ChildGoneError: the compiler took too long, or was killed.
    """
    confined = jail.model_copy(update={"may_execute": True, "memory_bytes": 4 << 30})
    child = Contestant(warm.spawn("tool", confined), limit_s)
    try:
        start = time.perf_counter()
        answer = child.ask({"do": "execute", "argv": argv, "files": files, "result": LIBRARY})
        seconds = time.perf_counter() - start
        log = str(answer["log"])
        if "address" not in answer:
            return BuildFailed(log=log or f"the compiler exited with status {answer['status']} and said nothing")
        if int(answer["bytes"]) > LARGEST_BINARY:
            return BuildFailed(
                log=f"the shared object has {answer['bytes']} bytes; at most {LARGEST_BINARY} are loaded"
            )
        facts = BuildFacts(compiler=argv[0], seconds=seconds, warnings=log, binary_bytes=int(answer["bytes"]))
        return Library(_fetch(child, int(answer["address"]), int(answer["bytes"])), facts)
    finally:
        child.close()


def read_made(child: Contestant, address: int, size: int) -> bytes:
    """`size` bytes at `address` of the child; the caller has bounded `size`.

    Raises:
        OSError: there is no such memory.
    """
    buffer = ctypes.create_string_buffer(size)
    kernel.read_process(child.child.pid, [(address, size)], ctypes.addressof(buffer))
    return buffer.raw


def _fetch(child: Contestant, address: int, size: int) -> int:
    descriptor = os.memfd_create("kernel.so", os.MFD_CLOEXEC)
    os.write(descriptor, read_made(child, address, size))
    return descriptor

"""Running a compiler in a confined child, and reading what it made from the child's memory while that stands still.

A compile is untrusted code at work (template bombs, `.incbin` of somebody's files), so it has limits and sees no more of the
file system than a compiler must.
"""

import ctypes
import os
import time

from kernelwright.evaluate.languages.builder import Library
from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import Execute, Made
from kernelwright.evaluate.sandbox.process import Process
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.records.evaluation import BuildFailed
from kernelwright.records.measure import BuildFacts

LARGEST_BINARY = 16 << 20
"""Bytes of a shared object that is loaded."""
LIBRARY = "kernel.so"


def shared_object(
    warm: Warm, argv: list[str], files: dict[str, str], limit_s: float, jail: Jail
) -> Library | BuildFailed:
    """Run a compiler that makes LIBRARY of `files`, confined as `jail` says but for starting programs and memory.

    Raises:
        ChildSlowError, ChildGoneError: the compiler took too long, or was killed.
    """
    child = Process(warm.spawn("tool", _confined(jail)), limit_s)
    try:
        start = time.perf_counter()
        executed = child.ask(Execute(argv=argv, texts=files, result=LIBRARY))
        seconds, log, made = time.perf_counter() - start, executed.log, executed.made
        if made is None:
            return BuildFailed(log=log or f"the compiler exited with status {executed.status} and said nothing")
        if made.nbytes > LARGEST_BINARY:
            return BuildFailed(log=f"the shared object has {made.nbytes} bytes; at most {LARGEST_BINARY} are loaded")
        facts = BuildFacts(compiler=argv[0], seconds=seconds, warnings=log, binary_bytes=made.nbytes)
        return Library(_fetch(child, made), facts)
    finally:
        child.close()


def made_text(warm: Warm, argv: list[str], files: dict[str, str], result: str, limit_s: float) -> str:
    """What a compiler writes into the file `result`; empty where it fails, or writes more than LARGEST_BINARY.

    Raises:
        ChildSlowError, ChildGoneError: the compiler took too long, or was killed.
    """
    child = Process(warm.spawn("tool", _confined(Jail(directory="/"))), limit_s)
    try:
        made = child.ask(Execute(argv=argv, texts=files, result=result)).made
        return read_made(child, made).decode(errors="replace") if made and made.nbytes <= LARGEST_BINARY else ""
    finally:
        child.close()


def _confined(jail: Jail) -> Jail:
    """A compiler starts programs of its own and needs memory."""
    return jail.model_copy(update={"may_execute": True, "memory_bytes": 4 << 30})


def read_made(child: Process, made: Made) -> bytes:
    """The bytes; the caller has bounded how many.

    Raises:
        OSError: there is no such memory.
    """
    buffer = ctypes.create_string_buffer(made.nbytes)
    kernel.read_process(child.child.pid, [(made.address, made.nbytes)], ctypes.addressof(buffer))
    return buffer.raw


def _fetch(child: Process, made: Made) -> int:
    descriptor = os.memfd_create("kernel.so", os.MFD_CLOEXEC)
    os.write(descriptor, read_made(child, made))
    return descriptor

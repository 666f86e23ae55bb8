"""What the assembler says about a kernel in its log: registers and spills.

The log is kept in Triton's own metadata, so that a kernel from Triton's cache still has it.
"""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime.errors import PTXASError

from kernelwright.evaluate.triton.untyped import Untyped, replaced
from kernelwright.knowledge.hardware import Hardware

LOG_KEY = "ptxas_log"
"""Where a kernel's metadata keeps the assembler's log."""


def target(device: Hardware) -> GPUTarget:
    """What Triton compiles for."""
    return GPUTarget("cuda", device.number, device.warp)


def registers(log: str) -> int | None:
    """Registers of each thread; None when the log does not say."""
    found = re.findall(r"Used (\d+) registers", log)
    return max(map(int, found)) if found else None


def spill_bytes(log: str) -> int | None:
    """Bytes stored and loaded by spills, for each thread; None when the log does not say."""
    found = re.findall(r"(\d+) bytes spill (?:stores|loads)", log)
    return sum(map(int, found)) if found else None


@contextmanager
def assembler_log() -> Iterator[None]:
    """Within it, compiled kernels carry ptxas's log, and its failures are raised with the message only."""
    original: Callable[..., bytes] = CUDABackend.make_cubin

    def make_cubin(self: object, source: str, metadata: dict[str, Untyped], *rest: object) -> bytes:
        log = io.StringIO()
        try:
            with redirect_stdout(log), replaced(triton.knobs.nvidia, dump_ptxas_log=True):
                cubin = original(self, source, metadata, *rest)
        except PTXASError as error:
            raise PTXASError(compiler_message(str(error))) from None
        metadata[LOG_KEY] = log.getvalue()
        return cubin

    with replaced(CUDABackend, make_cubin=make_cubin):
        yield


def compiler_message(text: str) -> str:
    """Only the assembler's own lines: no command to repeat it, no PTX, no paths of temporary files."""
    kept = [line for line in text.splitlines() if "Repro command" not in line and not line.isspace()]
    return re.sub(r"\S*/tmp\w+\.ptx", "kernel.ptx", "\n".join(kept)).strip()

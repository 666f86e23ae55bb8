"""What the assembler says of a kernel: registers from the cubin, spills from ptxas's log.

Refuses to know how a kernel came to be compiled. The log is kept in Triton's own metadata, so that a
kernel from Triton's cache still has it.
"""

import io
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import triton
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime.errors import PTXASError

from kernelwright.evaluate.triton.device import replaced
from kernelwright.evaluate.triton.foreign import Foreign

LOG_KEY = "ptxas_log"
"""Where a kernel's metadata keeps the assembler's log."""
TOOL_LIMIT_S = 30.0


class Usage(NamedTuple):
    """Resources of one kernel, for each thread; shared memory for each block, the static part only."""

    registers: int
    stack_bytes: int
    local_bytes: int
    shared_bytes: int


def usage(cubin: bytes, kernel: str) -> Usage | None:
    """What the cubin says of `kernel`, through the tool that comes with Triton; None when it says nothing."""
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        try:
            text = subprocess.run(
                [tool, "--dump-resource-usage", file.name],
                capture_output=True, text=True, check=True, timeout=TOOL_LIMIT_S,
            ).stdout  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return None
    return parse_usage(text, kernel)


def parse_usage(text: str, kernel: str) -> Usage | None:
    """Find `Function kernel:` and the line of `KEY:number` pairs after it."""
    match = re.search(rf"^\s*Function {re.escape(kernel)}:\s*\n(.*)$", text, re.MULTILINE)
    if match is None:
        return None
    fields = dict(re.findall(r"([A-Z]+):(\d+)", match[1]))
    return Usage(*(int(fields.get(key, 0)) for key in ("REG", "STACK", "LOCAL", "SHARED")))


def spill_bytes(log: str) -> int | None:
    """Bytes stored and loaded by spills, for each thread; None when the log does not say."""
    found = re.findall(r"(\d+) bytes spill (?:stores|loads)", log)
    return sum(map(int, found)) if found else None


@contextmanager
def assembler_log() -> Iterator[None]:
    """Within it, compiled kernels carry ptxas's log, and its failures are raised with the message only."""
    original: Callable[..., bytes] = CUDABackend.make_cubin

    def make_cubin(self: object, source: str, metadata: dict[str, Foreign], *rest: object) -> bytes:
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

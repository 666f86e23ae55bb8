"""What AMD's compiler says of a kernel in the metadata of its assembly: registers and spills.

The same questions as `cubin.py` answers for NVIDIA's. Triton assembles and links for AMD in its own process, so that neither
ROCm nor `ld.lld` must be installed.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from triton.backends.amd.compiler import HIPBackend
from triton.backends.compiler import GPUTarget

from kernelwright.evaluate.triton.cubin import LOG_KEY
from kernelwright.evaluate.triton.untyped import Untyped, replaced
from kernelwright.knowledge.hardware import Hardware

_FACT = re.compile(r"^[ \t]+\.(?:vgpr_count|vgpr_spill_count|private_segment_fixed_size):[ \t]+\d+$", re.MULTILINE)


def target(device: Hardware) -> GPUTarget:
    """What Triton compiles for."""
    return GPUTarget("hip", device.arch, device.warp)


def registers(log: str) -> int | None:
    """Vector registers of each thread; None when the log does not say."""
    found = re.findall(r"\.vgpr_count:\s+(\d+)", log)
    return max(map(int, found)) if found else None


def spill_bytes(log: str) -> int | None:
    """Bytes of vector registers that are spilled, for each thread; None when the log does not say."""
    found = re.findall(r"\.vgpr_spill_count:\s+(\d+)", log)
    return 4 * sum(map(int, found)) if found else None


@contextmanager
def assembler_log() -> Iterator[None]:
    """Within it, compiled kernels carry what their assembly says of registers and spills."""
    original: Callable[..., bytes] = HIPBackend.make_hsaco

    def make_hsaco(source: str, metadata: dict[str, Untyped], options: Untyped) -> bytes:
        metadata[LOG_KEY] = "\n".join(_FACT.findall(source))
        return original(source, metadata, options)

    with replaced(HIPBackend, make_hsaco=staticmethod(make_hsaco)):
        yield

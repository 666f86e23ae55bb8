"""Triton made ready once: imported by the GPU's warm parent, so that no candidate pays for it again.

Builds the driver's helper, which takes a C compiler, and rehearses a capture, which compiles a kernel. Neither starts a CUDA
context or a thread, which a forked child could not use. Import for the side effect.
"""

from triton.backends.nvidia.driver import CudaUtils

from kernelwright.evaluate.triton.rehearsal import REHEARSED

HELPER = CudaUtils()
CAPTURED = REHEARSED

"""Triton's driver helper, built once: imported by the GPU's warm parent, so that no candidate waits for a C compiler here.

It is a module of functions and starts no CUDA context, which a forked child could not use. Import for the side effect.
"""

from triton.backends.nvidia.driver import CudaUtils

HELPER = CudaUtils()

"""Triton made ready once: imported by the GPU's warm parent, so that no candidate pays for it again.

Builds the driver's helper, which takes a C compiler, and compiles one small kernel, which brings the compiler's own parts
into memory. Neither starts a CUDA context or a thread, which a forked child could not use. Import for the side effect.
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.driver import CudaUtils
from triton.compiler import ASTSource

HELPER = CudaUtils()


@triton.jit  # type: ignore[untyped-decorator]
def _sum(x, out, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, N803
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, SIZE)), axis=0))


SOURCE = ASTSource(_sum, signature={"x": "*fp32", "out": "*fp32", "SIZE": "constexpr"}, constexprs={(2,): 256})
COMPILED = triton.compile(SOURCE, target=GPUTarget("cuda", 80, 32))

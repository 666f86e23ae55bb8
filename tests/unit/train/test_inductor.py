"""What Inductor writes is made to stand alone, or declined."""

import ast

import pytest

from kernelwright.train.data.inductor import UnreadableError, standalone

WRITTEN = """\
from torch._inductor.async_compile import AsyncCompile
empty_strided_cuda = torch._C._dynamo.guards._empty_strided_cuda
async_compile = AsyncCompile()
triton_per_0 = async_compile.triton('triton_per_0', '''
import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math

@triton_heuristics.persistent_reduction(size_hints={'x': 16, 'r0_': 512}, filename=__file__)
@triton.jit
def triton_per_0(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 16
    r0_numel = 300
    R0_BLOCK: tl.constexpr = 512
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    r0 = tl.arange(0, R0_BLOCK)[None, :]
    tmp0 = tl.load(in_ptr0 + (r0 + 300*xindex), r0 < r0_numel, other=0.0)
    tmp1 = triton_helpers.max2(tmp0, 1)[:, None]
    tmp2 = libdevice.exp(tmp0 - tmp1)
    tl.store(out_ptr0 + (r0 + 300*xindex), tmp2, r0 < r0_numel)
''', device_str='cuda')
async_compile.wait(globals())

class Runner:
    def call(self, args):
        arg0_1, = args
        args.clear()
        assert_size_stride(arg0_1, (16, 300), (300, 1), 'input')
        buf0 = empty_strided_cuda((16, 300), (300, 1), torch.float32)
        # Topologically Sorted Source Nodes: [v]
        raw_stream0 = get_raw_stream(0)
        triton_per_0.run(arg0_1, buf0, 16, 300, stream=raw_stream0)
        del arg0_1
        buf1 = buf0; del buf0  # reuse
        return (buf1, )
"""


def test_kernels_launches_and_helpers_stand_on_public_parts():
    made = standalone(WRITTEN)
    assert "_inductor" not in made
    assert "torch._C" not in made
    assert "from triton.language.extra import libdevice" in made
    names = [n.name for n in ast.parse(made).body if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    assert names == ["maximum", "max2", "triton_per_0", "ModelNew"]
    assert "triton_per_0[(16,)](arg0_1, buf0, 16, 300, XBLOCK=1, num_warps=4)" in made
    assert "buf0 = torch.empty_strided((16, 300), (300, 1), dtype=torch.float32, device=arg0_1.device)" in made
    assert made.rstrip().endswith("return buf1")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("triton_helpers.max2", "triton_helpers.welford", "triton_helpers.welford"),
        ("        del arg0_1\n", "        extern_kernels.mm(arg0_1, arg0_1, out=buf0)\n", "extern_kernels.mm"),
        ("persistent_reduction(", "template(", "heuristics"),
        ("async_compile.triton", "async_compile.cpp_pybinding", "a kernel in cpp_pybinding"),
    ],
)
def test_what_is_not_rewritten_is_declined(old, new, why):
    with pytest.raises(UnreadableError, match=why):
        standalone(WRITTEN.replace(old, new))

"""What Inductor writes for a GPU is made to stand alone, or declined."""

import ast

import pytest

from kernelwright.errors import ProposeError
from kernelwright.propose.inductor.inductor import write
from kernelwright.propose.inductor.schedule import TritonLaunches, settings_of
from kernelwright.records.graph import OpGraph
from kernelwright.records.lowering import LoweredKernel, Lowering
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import TensorSpec

MODEL = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(16, 300)]
"""
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
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            arg0_1 = copy_if_misaligned(arg0_1)
            buf0 = empty_strided_cuda((16, 300), (300, 1), torch.float32)
            # Topologically Sorted Source Nodes: [v]
            raw_stream0 = get_raw_stream(0)
            triton_per_0.run(arg0_1, buf0, 16, 300, stream=raw_stream0)
            del arg0_1
            buf1 = buf0; del buf0  # reuse
        return (buf1, )
"""
HELPERS = """\
from .triton_compat import libdevice, math, tl, triton


@triton.jit
def is_floating(x):
    return x.dtype.is_floating()


@triton.jit
def maximum(a, b):
    mask = a > b
    if is_floating(a):
        mask |= a != a
    return tl.where(mask, a, b)


@triton.jit
def max2(a, dim):
    return tl.reduce(a, dim, maximum)


@triton.jit
def odd(a):
    return somebody_else(a)
"""
SETTING = {"XBLOCK": 8, "num_warps": 2, "num_stages": 1}


def task():
    given = TensorSpec(name="x", shape=(16, 300), dtype="float32")
    return Task(
        source=TaskSource(name="softmax", format="kernelbench", source=MODEL),
        target=Target(kind="cuda", arch="sm_90", present=False),
        workload=Workload(inputs=(given,), parameters=(), outputs=(given.model_copy(update={"name": "out"}),)),
        graph=OpGraph(inputs=("x",), parameters=(), nodes=(), outputs=()),
    )


def lowering(text=WRITTEN, grid="Grid1D", settings=(SETTING, {**SETTING, "XBLOCK": 1})):
    return Lowering(
        text=text, helpers=HELPERS, kernels=(LoweredKernel(name="triton_per_0", grid=grid, settings=settings),)
    )


def test_kernels_launches_and_helpers_stand_on_public_parts():
    made = write(task(), lowering(), TritonLaunches())
    assert not [word for word in ("_inductor", "torch._C", "triton_helpers", "heuristics") if word in made.source]
    assert "from triton.language.extra import libdevice" in made.source
    names = [n.name for n in ast.parse(made.source).body if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    helpers = ["helper_is_floating", "helper_maximum", "helper_max2"]
    assert names == ["Model", *helpers, "triton_per_0", "_run", "_fits", "ModelNew"]
    assert 'triton_per_0[(triton.cdiv(16, launch0["XBLOCK"]),)](arg0_1, buf0, 16, 300, **launch0)' in made.source
    assert "buf0 = torch.empty_strided((16, 300), (300, 1), dtype=torch.float32, device=arg0_1.device)" in made.source
    assert "return buf1" in made.source


def test_a_function_that_a_kernel_scans_by_stands_before_it_under_a_name_of_that_kernel():
    own = "@triton.jit\ndef _triton_helper_fn_add0(arg0_0, arg1_0):\n    return arg0_0 + arg1_0\n\n@triton_heuristics"
    scanned = "tmp2, = tl.associative_scan((tmp0,), 1, _triton_helper_fn_add0)"
    text = WRITTEN.replace("@triton_heuristics", own).replace("tmp2 = libdevice.exp(tmp0 - tmp1)", scanned)
    source = write(task(), lowering(text), TritonLaunches()).source
    names = [n.name for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
    assert names[-4:] == ["triton_per_0_triton_helper_fn_add0", "triton_per_0", "_run", "_fits"]
    assert "associative_scan((tmp0,), 1, triton_per_0_triton_helper_fn_add0)" in source
    assert 'triton_per_0[(triton.cdiv(16, launch0["XBLOCK"]),)](' in source


def test_its_own_choices_of_a_launch_stay_open_with_what_lies_beside_the_first():
    (open_one,) = write(task(), lowering(), TritonLaunches()).tunables
    table = settings_of(lowering().kernels[0], TritonLaunches())
    assert (open_one.name, open_one.values) == ("LAUNCH0", tuple(range(len(table))))
    assert table[:2] == (SETTING, {**SETTING, "XBLOCK": 1})
    assert {**SETTING, "num_warps": 4} in table
    assert {**SETTING, "XBLOCK": 16} in table
    scaled = settings_of(lowering().kernels[0], TritonLaunches(blocks="double", warps="double", stages=3))
    assert scaled[0] == {"XBLOCK": 16, "num_warps": 4, "num_stages": 3}


def test_a_library_call_and_a_view_in_place_have_public_names():
    call = "            extern_kernels.mm(arg0_1, reinterpret_tensor(buf0, (300, 16), (1, 300), 0), out=buf0)\n"
    text = WRITTEN.replace("            del arg0_1\n", call)
    source = write(task(), lowering(text), TritonLaunches()).source
    assert "torch.mm(arg0_1, _view(buf0, (300, 16), (1, 300), 0), out=buf0)" in source
    assert "tensor.storage_offset() + offset" in source


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("triton_helpers.max2", "triton_helpers.welford", "triton_helpers.welford is not to be found"),
        ("triton_helpers.max2", "triton_helpers.odd", "triton_helpers.odd needs somebody_else"),
        ("            del arg0_1\n", "            extern_kernels.fft(arg0_1, out=buf0)\n", "extern_kernels.fft"),
        ("            del arg0_1\n", "            extern_kernels.mm(constant0, out=buf0)\n", "the name constant0"),
        ("persistent_reduction(", "template(", "heuristics"),
        ("async_compile.triton", "async_compile.multi_kernel", "a kernel in multi_kernel"),
    ],
)
def test_what_is_not_rewritten_is_declined(old, new, why):
    with pytest.raises(ProposeError, match=why):
        write(task(), lowering(WRITTEN.replace(old, new)), TritonLaunches())


def test_a_grid_that_nobody_knows_is_declined():
    with pytest.raises(ProposeError, match="the grid 'CooperativeReductionGrid'"):
        write(task(), lowering(grid="CooperativeReductionGrid"), TritonLaunches())


def test_what_the_compiler_says_against_the_task_is_told():
    with pytest.raises(ProposeError, match="writes nothing for 'softmax' here: no lowering for fft"):
        write(task(), Lowering(missing="no lowering for fft"), TritonLaunches())

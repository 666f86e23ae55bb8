"""What Inductor writes for a CPU becomes one C++ file, or is declined."""

import pytest

from kernelwright.errors import ProposeError
from kernelwright.propose.inductor.inductor import write
from kernelwright.propose.inductor.schedule import CppLoops
from kernelwright.records.graph import OpGraph
from kernelwright.records.lowering import Lowering
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import TensorSpec

WRITTEN = """\
cpp_fused_tanh_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const float* in_ptr0,
                       float* out_ptr0)
{
    std::atomic<int> inductor_cpu_integer_div_error{0};
    #pragma omp parallel num_threads(2)
    {
        #pragma omp for
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(64L); x0+=static_cast<int64_t>(16L))
        {
            auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
            auto tmp1 = tmp0.tanh();
            tmp1.store(out_ptr0 + static_cast<int64_t>(x0));
        }
    }
}
''')

def call(args):
    arg0_1, = args
    args.clear()
    buf0 = empty_strided_cpu((64, ), (1, ), torch.float32)
    cpp_fused_tanh_0(arg0_1, buf0)
    buf1 = empty_strided_cpu((64, ), (1, ), torch.float32)
    cpp_fused_tanh_0(buf0, buf1)
    return (buf1, )
"""


SORTED = """\
buf2 = torch.ops.aten.sort.stable(arg0_1, stable=False, dim=0, descending=False)
    buf3 = buf2[0]
    buf0.zero_()
    buf4 = torch.ops.aten.sort.stable(buf3, stable=False, dim=0, descending=False)
    extern_kernels.addmm(buf0, buf3, arg0_1, alpha=1, beta=1, out=buf0)"""


def made(text, outputs=1):
    given = TensorSpec(name="x", shape=(64,), dtype="float32")
    task = Task(
        source=TaskSource(name="tanh_twice", format="kernelbench", source="class Model: ..."),
        target=Target(kind="cpu", arch="native", present=True),
        workload=Workload(
            inputs=(given,), parameters=(), outputs=(given.model_copy(update={"name": "out"}),) * outputs
        ),
        graph=OpGraph(inputs=("x",), parameters=(), nodes=(), outputs=()),
    )
    return write(task, Lowering(text=text), CppLoops())


def test_kernels_keep_their_vectors_on_a_page_of_their_own():
    found = made(WRITTEN)
    assert not [word for word in ("torch/", "at::", "inductor_cpu") if word in found.source]
    assert "constexpr int LANES = 16;" in found.source
    assert "Vectorized tanh() const { return each([](float x) { return fast::tanh(x); }); }" in found.source
    assert 'extern "C" void tanh_twice(const float* arg0_1, float* out0, void* workspace)' in found.source
    assert "cpp_fused_tanh_0(buf0, out0);" in found.source
    assert found.workspace_bytes == 64 * 4
    assert "num_threads(THREADS)" in found.source
    assert [(t.name, t.values) for t in found.tunables] == [("THREADS", (2, 1))]


def test_what_the_entry_has_as_bytes_is_handed_to_a_kernel_as_bool():
    text = WRITTEN.replace("['const float*', 'float*']", "['const float*', 'bool*']")
    text = text.replace(
        "buf0 = empty_strided_cpu((64, ), (1, ), torch.float32)", "buf0 = empty_strided_cpu((64, ), (1, ), torch.bool)"
    )
    source = made(text).source
    assert "std::uint8_t* const buf0" in source
    assert "cpp_fused_tanh_0(arg0_1, reinterpret_cast<bool*>(buf0));" in source


def test_a_result_that_is_another_s_memory_is_copied():
    text = WRITTEN.replace("return (buf1, )", "return (buf1, reinterpret_tensor(buf1, (64, ), (1, ), 0), )")
    assert "std::memcpy(out1, out0, 256);" in made(text, outputs=2).source


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("tmp0.tanh()", "tmp0.lgamma()", r"the call of \.lgamma"),
        ("tmp0.tanh()", "at::native::gelu(tmp0)", "the call of at::native::gelu"),
        ("cpp_fused_tanh_0(arg0_1, buf0)", "cpp_fused_tanh_0(buf0, arg0_1)", "it writes to the argument arg0_1"),
        ("cpp_fused_tanh_0(arg0_1, buf0)", "extern_kernels.mm(arg0_1, arg0_1, out=buf0)", "it calls PyTorch: mm$"),
        ("cpp_fused_tanh_0(arg0_1, buf0)", SORTED, r"it calls PyTorch: aten\.sort\.stable, zero_, addmm$"),
        ("return (buf1, )", "return (reinterpret_tensor(buf1, (64, ), (2, ), 0), )", "not dense"),
    ],
)
def test_what_is_not_rewritten_is_declined(old, new, why):
    with pytest.raises(ProposeError, match=why):
        made(WRITTEN.replace(old, new))

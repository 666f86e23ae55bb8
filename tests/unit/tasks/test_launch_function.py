"""Ordinary host code that is read as a launch plan: what is understood, and what is refused with its cure."""

import pytest

from kernelwright.errors import UsageError
from kernelwright.evaluate.languages.cuda.recipe import resolve
from kernelwright.knowledge.hardware import hardware
from kernelwright.languages import language, language_of
from kernelwright.records.candidate import Define
from kernelwright.records.launch import Number, Pointer
from kernelwright.tasks.kernel_file import parse_kernel
from kernelwright.tasks.launch_function import without_launch
from kernelwright.testing.samples import sample_task

H200 = hardware("sm_90")
KERNEL = "__global__ void __launch_bounds__(256) k(const float* x, float* out, int n, float scale) {}\n"
TWO = """// flags: -use_fast_math
// tunable BLOCK: 256 512
#ifndef BLOCK
#define BLOCK 256
#endif
constexpr int N = 1024, PARTS = (N + 3) / 4;
constexpr int PER = BLOCK * 2;
template <int WIDE> __global__ void first(const float* __restrict__ x, float* out, long long n) {}
__global__ void second(float* out, unsigned n, float scale);
/* how it is
   launched */
void launch(const float* x, float* out, cudaStream_t stream) {
  const int n = N;  // elements
  dim3 grid((n + PER - 1) / PER, 2), block = dim3(BLOCK);
  const size_t bytes = 3 * sizeof(float) * 8ul;
  cudaFuncSetAttribute(first<4>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  first<4><<<grid, block, bytes, stream>>>(x, out, (long long)n);
  second<<<std::min(PARTS, 100), 64>>>(out, static_cast<unsigned>(n), 1.0f / n);
}
int behind;
"""


def plan(source, **defines):
    candidate = parse_kernel(source, ".cu")
    if defines:
        candidate = candidate.at(tuple(Define(name=n, value=v) for n, v in defines.items()))
    return resolve(candidate, sample_task().workload, H200)


def launching(body, parameters="const float* x, float* out"):
    return f"{KERNEL}void launch({parameters}) {{\n{body}\n}}\n"


def test_launches_in_order_with_arithmetic_on_sizes():
    found = plan(TWO, BLOCK=512)
    first, second = found.plan.launches
    assert (first.kernel, first.grid, first.block, first.shared_bytes) == ("first<4>", (1, 2, 1), (512, 1, 1), 96)
    assert first.arguments == (
        Pointer(buffer="input", index=0),
        Pointer(buffer="output", index=0),
        Number(type="i64", value=1024),
    )
    assert (second.grid, second.block) == ((100, 1, 1), (64, 1, 1))
    assert second.arguments[1:] == (Number(type="u32", value=1024), Number(type="f32", value=1 / 1024))
    assert found.macros == {"BLOCK": 512}


def test_comments_declare_as_in_other_sources():
    found = parse_kernel(TWO, ".cu")
    assert found.language == "cuda"
    assert found.flags == ("-use_fast_math",)
    assert [(tunable.name, tunable.values) for tunable in found.tunables] == [("BLOCK", (256, 512))]


def test_the_compiler_sees_every_other_line_where_it_was():
    lines, left = TWO.splitlines(), without_launch(TWO).splitlines()
    assert len(left) == len(lines)
    assert left[-1] == "int behind;"
    assert left[:11] == lines[:11]
    assert "<<<" not in "".join(left)
    assert without_launch(KERNEL) == KERNEL


def test_host_code_that_is_called_from_outside_stays_host_code():
    source = launching("k<<<4, 256>>>(x, out, 4, 1.0f);") + 'extern "C" void kernel(float* x, cudaStream_t s) {}\n'
    assert language_of(source, ".cu").name == "cuda_host"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("for (int i = 0; i < 3; ++i) k<<<4, 256>>>(x, out, 4, 1.0f);", "only constants and kernel<<<"),
        ("cudaMemset(out, 0, 4);", "only constants and kernel<<<"),
        ("const int n = 4;", "launches nothing"),
        ("other<<<4, 256>>>(x, out);", "no __global__ function other"),
        ("k<<<4, 256>>>(x, out);", "has 4 parameters, and `launch` passes 2"),
        ("k<<<4, 256>>>(x + 1, out, 4, 1.0f);", "argument 0 of k"),
        ("k<<<4>>>(x, out, 4, 1.0f);", "has 1 parts"),
    ],
)
def test_what_no_plan_can_say_is_refused_with_the_cure(body, told):
    with pytest.raises(UsageError, match=r".") as error:
        parse_kernel(launching(body), ".cu")
    assert told in str(error.value)


def test_dimensions_are_no_parameters():
    with pytest.raises(UsageError, match="constants of the source"):
        parse_kernel(launching("k<<<4, 256>>>(x, out, n, 1.0f);", "const float* x, float* out, int n"), ".cu")


def test_the_contract_shows_one_that_can_be_followed():
    block = language("cuda").contract.split("```cuda\n")[1].split("```")[0]
    (launch,) = plan(block, BLOCK=512).plan.launches
    assert (launch.kernel, launch.grid, launch.block) == ("twice", (128, 1, 1), (512, 1, 1))

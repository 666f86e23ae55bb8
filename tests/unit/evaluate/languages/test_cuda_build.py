"""CUDA C++ with a launch plan through NVRTC, for every architecture, on a machine without a GPU."""

import re
from pathlib import Path

import pytest

from kernelwright.devices import kinds
from kernelwright.errors import MachineError
from kernelwright.evaluate import toolkit
from kernelwright.evaluate.languages.builder import Order, Program
from kernelwright.evaluate.languages.cuda import build as cuda
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.messages.tools import CudaCompiled
from kernelwright.languages import LARGEST_SOURCE
from kernelwright.records.evaluation import BuildFailed, Refused
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec
from kernelwright.tasks.kernel_file import parse_kernel, read_kernel

KERNELS = Path(__file__).parent / "cuda_kernels"
X = TensorSpec(name="x", shape=(64, 1000), dtype="float32")
WORKLOAD = Workload(inputs=(X, X), parameters=(), outputs=(X,))
PLAN = """/* kernelwright
{0}
[[launch]]
kernel = "k"
grid = 1
block = {1}
shared = {2}
arguments = ["in0", "out0", "i32(in0.numel)"]
*/
"""


def build(warm, candidate, arch="sm_90", limit_s=60):
    return cuda.build(Order(warm, candidate, limit_s, WORKLOAD, arch))


def kernel(body, head="", block=32, shared=0, parameters="const float* x, float* y, int n"):
    text = PLAN.format(head, block, shared) + f"__global__ void k({parameters}) {{\n{body}\n}}\n"
    return parse_kernel(text, ".cu")


@pytest.mark.parametrize("arch", kinds()["cuda"].architectures)
def test_every_architecture_gets_a_binary_with_facts(warm, arch):
    for name in ("relu", "mse", "softmax", "scale"):
        made = build(warm, read_kernel(KERNELS / f"{name}.cu"), arch)
        assert isinstance(made, Program), made
        assert made.modules[0].startswith(b"\x7fELF")
        assert made.facts.binary_bytes == len(made.modules[0])
        for facts in made.facts.kernels:
            assert facts.registers > 0
            assert facts.spill_bytes == 0
            assert 0 < facts.occupancy <= 1
        for launch in made.plans[0].launches:
            assert launch.kernel.encode() in made.modules[0]


def test_shared_memory_is_static_and_dynamic(warm):
    made = build(warm, kernel("__shared__ float s[64]; s[threadIdx.x] = x[n]; y[0] = s[n];", shared=512))
    (facts,) = made.facts.kernels
    assert (facts.shared_bytes, facts.warps) == (64 * 4 + 512, 1)


def test_cub_and_other_headers_are_there(warm):
    made = build(warm, read_kernel(KERNELS / "cub_sum.cu"))
    assert made.facts.kernels[0].shared_bytes > 0
    includes = (
        "#include <cmath>\n#include <cfloat>\n#include <cstdint>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
    )
    more = "#include <mma.h>\n#include <cooperative_groups.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
    std = (
        '#include <type_traits>\n#include <limits>\nstatic_assert(std::is_same<std::uint32_t, uint32_t>::value, "");\n'
    )
    body = (
        "y[0] = x[(uint32_t)n] > FLT_MAX ? (float)M_PI : __half2float(__float2half(std::numeric_limits<float>::max()));"
    )
    candidate = kernel(body)
    source = candidate.source.replace("__global__", f"{includes}{more}{std}__global__")
    assert isinstance(build(warm, candidate.model_copy(update={"source": source})), Program)


def test_the_newest_features_of_an_architecture_are_there(warm):
    barrier = 'asm volatile("wgmma.fence.sync.aligned;");'
    assert isinstance(build(warm, kernel(barrier)), Program)
    assert "wgmma" in build(warm, kernel(barrier), "sm_80").log


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        (kernel("y[0] = undefined_thing;"), r"kernel\.cu\(\d+\): error: identifier .undefined_thing. is undefined"),
        (kernel("").model_copy(update={"source": "__global__ void other() {}"}), "k. is undefined"),
        (kernel("", parameters="const float* x, float* y"), "k has 2 parameters, and its launch passes 3"),
        (kernel("", parameters="const float* x, float* y, long long n"), "argument 2 of k has 4 bytes, and the parameter 8"),
        (kernel("", shared=232449), "at most 232448"),
        (kernel("__shared__ float s[4096]; s[n] = x[n]; y[0] = s[1];", shared=220000), r"16384 static, 220000 dynamic"),
        (kernel("__shared__ float s[16384]; s[n] = x[n]; y[0] = s[1];"), "65536 bytes of static shared memory; at most 49152"),
        (kernel("", block=2048), "it must be 1 to 1024"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_told_before_anything_is_launched(warm, candidate, said):
    failed = build(warm, candidate)
    assert isinstance(failed, BuildFailed)
    assert re.search(said, failed.log), failed.log


def test_a_source_that_sets_a_tunable_itself_is_refused(warm):
    candidate = kernel("y[0] = TILE;", "[tunables]\nTILE = [2, 4]")
    clash = candidate.model_copy(update={"source": "#define TILE 8\n" + candidate.source})
    assert "write #ifndef TILE around it" in build(warm, clash).log
    guarded = candidate.model_copy(update={"source": "#ifndef TILE\n#define TILE 8\n#endif\n" + candidate.source})
    assert isinstance(build(warm, guarded), Program)


@pytest.mark.parametrize(
    "flag", ["-o/tmp/x", "-I/etc", "-include=/etc/passwd", "--pch", "-DX=1 -I/etc", "-DX=a/b", "-O3 x"]
)
def test_flags_that_are_not_on_the_list_are_refused_before_anything_runs(flag):
    refused = build(None, kernel("").model_copy(update={"flags": ("-O3", flag)}))
    assert isinstance(refused, Refused)
    assert repr(flag) in refused.reason


def test_flags_on_the_list_are_obeyed(warm):
    flags = ("-O3", "-use_fast_math", "--maxrregcount=32", "-std=c++20", "-DSCALE=3", "-lineinfo")
    made = build(warm, kernel("static_assert(SCALE == 3 && __cplusplus > 201703L); y[0] = expf(x[0]);"))
    assert isinstance(made, BuildFailed)
    candidate = kernel("static_assert(SCALE == 3 && __cplusplus > 201703L); y[0] = expf(x[0]);")
    made = build(warm, candidate.model_copy(update={"flags": flags}))
    assert made.facts.kernels[0].registers <= 32


def test_a_source_without_end_is_refused():
    candidate = kernel("").model_copy(update={"source": "/" * (LARGEST_SOURCE + 1)})
    assert isinstance(build(None, candidate), Refused)


def test_a_template_without_end_meets_a_limit(warm):
    bomb = "template <int A, int B> struct T { static const int v = T<A - 1, B>::v + T<A - 1, B + A>::v; };\n"
    bomb += "template <int B> struct T<0, B> { static const int v = B; };\n"
    candidate = kernel("y[0] = T<64, 1>::v;")
    source = candidate.source.replace("__global__", bomb + "__global__")
    with pytest.raises((ChildSlowError, ChildGoneError)):
        build(warm, candidate.model_copy(update={"source": source}), limit_s=3)


def test_files_of_the_user_are_not_read(warm, tmp_path):
    secret = tmp_path / "secret.h"
    secret.write_text("hunter2 is the password")
    tmp_path.chmod(0o700)
    candidate = kernel("")
    source = f'#include "{secret}"\n{candidate.source}'
    failed = build(warm, candidate.model_copy(update={"source": source}))
    assert "cannot open source file" in failed.log
    assert "hunter2" not in failed.log


LAUNCHED = """// host and device together
#include <cuda_runtime.h>
constexpr int N = 64 * 1000;
__global__ void k(const float* x, const float* w, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] * w[i];
}
void launch(const float* x, const float* w, float* y, cudaStream_t stream) {
  k<<<(N + 255) / 256, 256, 0, stream>>>(x, w, y, N);
}
"""


def test_launches_in_host_code_are_a_program_of_the_device_code_alone(warm):
    made = build(warm, parse_kernel(LAUNCHED, ".cu"))
    assert isinstance(made, Program), made
    (launch,) = made.plans[0].launches
    assert (launch.grid, launch.block) == ((250, 1, 1), (256, 1, 1))
    assert [passed.index for passed in launch.arguments[:3]] == [0, 1, 0]


def test_an_error_behind_launch_is_told_at_its_own_line(warm):
    failed = build(warm, parse_kernel(f"{LAUNCHED}__global__ void broken() {{ undeclared(); }}\n", ".cu"))
    assert f"({LAUNCHED.count(chr(10)) + 1})" in failed.log


def test_a_loader_s_folders_are_not_told_with_the_cure():
    told = cuda._why("\n libnvrtc.so.13: cannot open\n/usr/lib\n/opt/lib\n" + "x" * 999)
    assert told == " (libnvrtc.so.13: cannot open)"
    assert cuda._why("") == ""


def test_without_the_compiler_the_cure_is_told(warm, monkeypatch):
    monkeypatch.setattr(cuda, "_options", lambda *_: (_ for _ in ()).throw(AssertionError))

    class Child:
        child = None

    with pytest.raises(MachineError, match=r"pip install 'kernelwright\[cuda\]'"):
        cuda._read(Child(), CudaCompiled(missing="no such library"), ["k"])


def test_headers_are_found_in_packages_and_in_a_toolkit(monkeypatch, tmp_path):
    packages, root = tmp_path / "site-packages", tmp_path / "cuda"
    for folder in (packages / "nvidia/cu13/include/cccl", root / "include"):
        folder.mkdir(parents=True)
    (root / "include/cuda.h").touch()
    monkeypatch.setattr(toolkit.sys, "path", [str(packages)])
    monkeypatch.setattr(toolkit.site, "getsitepackages", list)
    monkeypatch.setenv("CUDA_HOME", str(root))
    found = [str(Path(i).relative_to(tmp_path)) for i in toolkit.include_directories()]
    assert found == ["site-packages/nvidia/cu13/include", "site-packages/nvidia/cu13/include/cccl", "cuda/include"]
    assert toolkit.toolkit() == root


@pytest.mark.parametrize("name", ["any", "all", "max", "norm", "exp"])
def test_a_kernel_may_have_a_name_of_cuda_s_own(warm, name):
    source = LAUNCHED.replace("void k(", f"void {name}(").replace("  k<<<", f"  {name}<<<")
    made = build(warm, parse_kernel(source, ".cu"))
    assert isinstance(made, Program), made
    assert made.facts.kernels[0].name == name
    assert made.plans[0].launches[0].kernel == f"_Z{len(name)}{name}PKfS0_Pfi"

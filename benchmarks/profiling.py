"""What can be profiled on this machine: `python benchmarks/profiling.py --out FILE [--ladder]`.

Triton kernels with host code of their own, and CUDA kernels under our launcher, each with a known flaw or none, are
judged in no way and profiled: tier, kernels, counters, statement, and seconds. With `--ladder`, a program of our own is first
counted in every jail with one part left out, which says what ncu needs here.
"""

import sys
import time
from collections.abc import Sequence

from campaign import Campaign, command
from cuda.bindings import nvrtc
from provenance import commit_and_date

from kernelwright.engine.target import find_gpu
from kernelwright.evaluate.backends.cuda.backend import CudaBackend
from kernelwright.evaluate.backends.cuda.profiling import LADDER, Profiler, Request, Rung
from kernelwright.evaluate.backends.host import common_versions
from kernelwright.evaluate.backends.table import parent_of
from kernelwright.evaluate.languages.builder import Program
from kernelwright.evaluate.sandbox.cuda_arena import check
from kernelwright.evaluate.sandbox.jail import LOST
from kernelwright.feedback.bottleneck import diagnose
from kernelwright.records.candidate import Candidate
from kernelwright.records.graph import OpGraph
from kernelwright.records.launch import Launch, LaunchPlan, Pointer
from kernelwright.records.measure import BuildFacts
from kernelwright.records.profile import Profile
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import TensorSpec

JAILS = ((), *((part,) for part in (*LOST, "limits")), (*LOST, "limits"))
"""Parts that are left out of a jail: none, each alone, and all."""
ROWS, COLUMNS = 8192, 8192
X = TensorSpec(name="x", shape=(ROWS, COLUMNS), dtype="float32")
HEAD = """import torch
import triton
import triton.language as tl

ROWS, COLUMNS = 8192, 8192
"""
KERNELS = {
    "coalesced": """
@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) * 2.0)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale[(x.numel() // 4096,)](x, y, x.numel(), 4096, num_warps=8)
        return y
""",
    "uncoalesced": """
@triton.jit
def scale(x, y, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    for start in range(0, rows, BLOCK):
        r = start + tl.arange(0, BLOCK)
        tl.store(y + r * columns + i, tl.load(x + r * columns + i) * 2.0)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale[(COLUMNS,)](x, y, ROWS, COLUMNS, 1024, num_warps=8)
        return y
""",
    "two passes and a library": """
@triton.jit
def double(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) * 4.0)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        double[(x.numel() // 4096,)](x, y, 4096, num_warps=8)
        return y * 0.5
""",
    "a few blocks": """
@triton.jit
def scale(x, y, n, stride, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, stride):
        i = start + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i) * 2.0)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale[(40,)](x, y, x.numel(), 40 * 1024, 1024, num_warps=4)
        return y
""",
}


PROGRAMS = {
    "bank conflicts": (
        """extern "C" __global__ void conflicts(const float* x, float* y) {
    __shared__ float tile[32][32];
    long row = (long)blockIdx.x * 1024;
    tile[threadIdx.x][threadIdx.y] = x[row + threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < 256; ++i) sum += tile[threadIdx.x][(threadIdx.y + i) % 32];
    y[row + threadIdx.y * 32 + threadIdx.x] = sum;
}""",
        "conflicts", (65536, 1, 1), (32, 32, 1), (),
    ),
    "spills": (
        """extern "C" __global__ void spilled(const float* x, float* y) {
    float held[96];
    long i = (long)blockIdx.x * 256 + threadIdx.x;
    for (int k = 0; k < 96; ++k) held[k] = x[(i * 96 + k) % 67108864];
    for (int pass = 0; pass < 8; ++pass)
        for (int k = 0; k < 96; ++k) held[k] = held[k] * held[(k + 7) % 96] + held[(k + 41) % 96];
    float sum = 0.0f;
    for (int k = 0; k < 96; ++k) sum += held[k];
    y[i] = sum;
}""",
        "spilled", (4096, 1, 1), (256, 1, 1), (b"--maxrregcount=32",),
    ),
    "arithmetic": (
        """extern "C" __global__ void arithmetic(const float* x, float* y) {
    long i = (long)blockIdx.x * 256 + threadIdx.x;
    float a = x[i], b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
    for (int k = 0; k < 512; ++k) { a = a * a + b; b = b * b + c; c = c * c + d; d = d * d + a; }
    y[i] = a + b + c + d;
}""",
        "arithmetic", (262144, 1, 1), (256, 1, 1), (),
    ),
}  # fmt: skip
"""Source, kernel, grid, block and options of NVRTC."""


async def measure(campaign: Campaign) -> None:
    """Profile what is not known yet."""
    arch = find_gpu()
    if arch is None:
        sys.exit("no GPU answers here")
    y = X.model_copy(update={"name": "y"})
    task = Task(
        source=TaskSource(name="scale", format="kernelbench", source=""),
        target=Target(kind="cuda", arch=arch, present=True),
        workload=Workload(inputs=(X,), parameters=(), outputs=(y,)),
        graph=OpGraph(inputs=("x",), parameters=(), nodes=(), outputs=()),
    )
    with parent_of("cuda") as warm:
        backend = CudaBackend(warm)
        campaign.begin({"device": backend.host.device.name, "versions": _versions(backend), **commit_and_date()})
        for off in campaign.left(JAILS if campaign.asked.ladder else (), lambda off: f"without {', '.join(off)}"):
            profile, seconds = _taken(
                _profiler(backend, (Rung(off, "tried", untrusted=True),)), _request(task, "coalesced")
            )
            row = {"tier": profile.tier, "notes": profile.notes, "seconds": round(seconds, 1)}
            campaign.put({"name": f"without {', '.join(off)}", **row})
        profiler = _profiler(backend)
        for name in campaign.left(campaign.chosen([*KERNELS, *PROGRAMS])):
            profile, seconds = _taken(
                profiler, _program(task, name, arch) if name in PROGRAMS else _request(task, name)
            )
            kept = {"profile": profile.model_dump(mode="json"), "statement": diagnose(profile).model_dump(mode="json")}
            campaign.put({"name": name, "tier": profile.tier, "seconds": seconds, **kept})


def _taken(profiler: Profiler, request: Request) -> tuple[Profile, float]:
    start = time.perf_counter()
    profile = profiler.profile(request)
    return profile, time.perf_counter() - start


def _request(task: Task, name: str) -> Request:
    return Request(task, Candidate(language="triton", source=HEAD + KERNELS[name]))


def _versions(backend: CudaBackend) -> dict[str, str]:
    return {**common_versions(), **backend.versions()}


def _profiler(backend: CudaBackend, ladder: Sequence[Rung] = LADDER) -> Profiler:
    return Profiler(backend.host, backend.clock.ceiling_gbps, lambda: _versions(backend), ladder)


def _program(task: Task, name: str, arch: str) -> Request:
    """Compiled by NVRTC here; the plan is one launch from x to y."""
    source, kernel, grid, block, options = PROGRAMS[name]
    program = check(nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], []))
    flags = [f"--gpu-architecture={arch}".encode(), *options]
    check(nvrtc.nvrtcCompileProgram(program, len(flags), flags))
    image = b" " * check(nvrtc.nvrtcGetCUBINSize(program))
    check(nvrtc.nvrtcGetCUBIN(program, image))
    places = (Pointer(buffer="input", index=0), Pointer(buffer="output", index=0))
    plan = LaunchPlan(launches=(Launch(kernel=kernel, grid=grid, block=block, arguments=places),))
    built = Program((image,), (plan,), BuildFacts(compiler="nvrtc", seconds=0.0))
    return Request(task, Candidate(language="cuda", source=source), program=built)


def main() -> None:
    """Profile, and print what each kernel suffers from."""
    parser = command(__doc__, "cuda")
    parser.add_argument("--ladder", action="store_true")
    campaign = Campaign(parser.parse_args(), key=("name",))
    campaign.run(lambda: measure(campaign))
    campaign.show(
        lambda rows: "\n".join(
            f"{r['name']}: {r['tier']}, {r['seconds']:.1f} s: {r.get('statement', r.get('notes'))}" for r in rows
        )
    )


if __name__ == "__main__":
    main()

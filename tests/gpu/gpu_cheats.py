"""What a cheat on the GPU is, the small tasks that it is tried on, and their honest kernels. Text only."""

from dataclasses import dataclass, field

from kernelwright.records.candidate import Candidate
from kernelwright.tasks.kernel_file import parse_kernel


@dataclass(frozen=True)
class Kernel:
    """A candidate's text, and the task that it is for."""

    task: str
    source: str
    language: str = "triton"

    def candidate(self):
        """What is judged; a `.cu` says its own language."""
        if self.language.startswith("cuda"):
            return parse_kernel(self.source, ".cu")
        return Candidate(language=self.language, source=self.source)


@dataclass(frozen=True)
class Cheat:
    """A dishonest candidate and what must become of it.

    `outcome` is what it must end as, for one of the reasons in `because`, with `told` somewhere in the words. One that must
    end as `measured` must gain nothing: its time is that of `twin`. With `defence` switched off it gets through: it is
    measured, and where it gained nothing it now does. `also` are other defences that catch it too, off in both.
    """

    kernel: Kernel
    outcome: str
    because: tuple[str, ...] = ()
    told: str = ""
    effort: str = "search"
    defence: str = ""
    also: tuple[str, ...] = ()
    options: dict[str, object] = field(default_factory=dict)
    twin: str = ""
    tier: int = 0
    """1 or 2 where that matters."""


def task(forward, *shapes, init="pass"):
    """A task's file; inputs are standard normal."""
    names = ", ".join(f"x{i}" if i else "x" for i in range(len(shapes)))
    drawn = ", ".join(f"torch.randn{shape}" for shape in shapes)
    return f"""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, {names}):
        return {forward}


def get_inputs():
    return [{drawn}]
"""


TASKS = {
    "affine": task("x * 3 + 1", (256, 1024)),
    "signs": task("torch.sign(x)", (256, 1024)),
    "rows": task("(x * x).mean(1)", (256, 4096)),
    "shares": task("torch.softmax(x, -1)", (64, 16384)),
    "product": task("x @ x1", (512, 512), (512, 512)),
    "vector": task("(self.weight * x).sum(1)", (2048,), init="self.weight = nn.Parameter(torch.randn(2048, 2048))"),
    "level": task("x.abs().mean()", (2048, 2048)),
    "gate": task("torch.sigmoid(x.bfloat16() + x1[:, None].bfloat16()).mean(1)", (128, 65536), (128,)),
    "rare": task("x.half() * 3 + 1 > 7.16", (2048, 2048)),
    "low rank": task(
        "x @ (self.a @ self.b)",
        (256, 1024),
        init="self.a, self.b = (nn.Parameter(torch.randn(1024, 1024) / 32) for _ in range(2))",
    ),
    "diagonal": task(
        "torch.diag_embed(x * self.weight)", (16, 512), init="self.weight = nn.Parameter(torch.randn(512))"
    ),
}
"""One to eight MB, and a result of 16; the clock breeds the inputs of all of them."""

HEAD = "import os\nimport threading\nimport time\n\nimport torch\nimport triton\nimport triton.language as tl\n\n\n"
AFFINE = (
    HEAD
    + """@triton.jit
def affine(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 3 + 1, mask=at < n)


class ModelNew(torch.nn.Module):
    calls = 0

    def forward(self, x):
        out = torch.empty_like(x)
        affine[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out
"""
)
SLOW = AFFINE.replace("def affine(x, out, n, BLOCK", "def affine(x, out, n, REPEATS, BLOCK").replace(
    "    tl.store(out + at, tl.load(x + at, mask=at < n) * 3 + 1, mask=at < n)\n",
    "    value = tl.load(x + at, mask=at < n)\n"
    "    for _ in range(REPEATS):\n"
    "        value += tl.load(x + at, mask=at < n, volatile=True) * 0.0\n"
    "    tl.store(out + at, value * 3 + 1, mask=at < n)\n",
).replace("x.numel(), BLOCK=", "x.numel(), 3000, BLOCK=")  # fmt: skip
"""The same, with so much to do that a millisecond can be hidden."""
LAUNCH = "affine[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)"
SLOW_LAUNCH = LAUNCH.replace("x.numel(), BLOCK", "x.numel(), 3000, BLOCK")
FORWARD = f"        out = torch.empty_like(x)\n        {LAUNCH}\n        return out\n"
SLOW_FORWARD = FORWARD.replace(LAUNCH, SLOW_LAUNCH)


def forward(body, before="", source=AFFINE):
    """The kernel with another body of `forward`, and lines before the class."""
    old = FORWARD if source is AFFINE else SLOW_FORWARD
    assert old in source
    lines = "".join(f"        {line}\n" for line in body.strip("\n").splitlines())
    return source.replace(old, lines).replace("class ModelNew", f"{before}class ModelNew")


ROWS = (
    HEAD
    + """@triton.jit
def rows(x, out, width, COUNT: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, COUNT)
    values = tl.load(x + row * width + lanes, mask=lanes < width, other=0.0)
    tl.store(out + row, tl.sum(values * values) / width)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0], device=x.device)
        rows[(x.shape[0],)](x, out, x.shape[1], COUNT=4096)
        return out
"""
)
SHARES = (
    HEAD
    + """@triton.jit
def shares(x, out, width, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    at = row * width + tl.arange(0, WIDTH)
    values = tl.load(x + at)
    powers = tl.exp(values - tl.max(values))
    tl.store(out + at, powers / tl.sum(powers))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        shares[(x.shape[0],)](x, out, x.shape[1], WIDTH=16384, num_warps=16)
        return out
"""
)
PRODUCT = (
    HEAD
    + """@triton.jit
def product(x, y, out, n, B: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, n, K):
        inner = start + tl.arange(0, K)
        a = tl.load(x + rows[:, None] * n + inner[None, :])
        b = tl.load(y + inner[:, None] * n + columns[None, :])
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(out + rows[:, None] * n + columns[None, :], total)


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        product[(16, 16)](x, y, out, 512, B=32, K=32)
        return out
"""
)


def plan(*launches, top=""):
    """The comment that makes a `.cu` a candidate of the referee's launcher."""
    tables = "".join(
        f'[[launch]]\nkernel = "{kernel}"\ngrid = {grid}\nblock = 256\narguments = {list(arguments)!r}\n'
        for kernel, grid, *arguments in launches
    ).replace("'", '"')
    return f"/* kernelwright\n{top}\n{tables}*/\n"


AT = "  const int i = blockIdx.x * 256 + threadIdx.x;\n"
CUDA = plan(("affine", 1024, "in0", "out0")) + (
    f"__global__ void affine(const float* x, float* out) {{\n{AT}  out[i] = x[i] * 3 + 1;\n}}\n"
)
CUDA_SLOW = CUDA.replace(
    "  out[i] = x[i] * 3 + 1;\n",
    "  float value = x[i];\n"
    "  for (int r = 0; r < 3000; ++r) value += *(volatile const float*)(x + i) * 0.0f;\n"
    "  out[i] = value * 3 + 1;\n",
)
CUDA_ROWS = plan(("rows", 256, "in0", "out0")) + (
    """__global__ void rows(const float* x, float* out) {
  __shared__ float parts[256];
  float sum = 0;
  for (int i = threadIdx.x; i < 4096; i += 256) sum += x[blockIdx.x * 4096 + i] * x[blockIdx.x * 4096 + i];
  parts[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    sum = 0;
    for (int i = 0; i < 256; ++i) sum += parts[i];
    out[blockIdx.x] = sum / 4096;
  }
}
"""
)
CUDA_VECTOR = plan(("vector", 2048, "in0", "param0", "out0")) + (
    """__device__ float4 of_weight(const float4* at) {
  return *at;
}
__global__ void vector(const float* x, const float4* weight, float* out) {
  __shared__ float parts[256];
  float sum = 0;
  for (int i = threadIdx.x; i < 512; i += 256) {
    const float4 w = of_weight(weight + blockIdx.x * 512 + i);
    sum += x[4 * i] * w.x + x[4 * i + 1] * w.y + x[4 * i + 2] * w.z + x[4 * i + 3] * w.w;
  }
  parts[threadIdx.x] = sum;
  for (int half = 128; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = parts[0];
}
"""
)
HOST = (
    "#include <cuda_runtime.h>\n#include <unistd.h>\n#include <cstdlib>\n#include <map>\n#include <thread>\n"
    f"__global__ void affine(const float* x, float* out) {{\n{AT}  out[i] = x[i] * 3 + 1;\n}}\n"
    'extern "C" void kernel(const float* x, float* out, cudaStream_t stream) {\n'
    "  affine<<<1024, 256, 0, stream>>>(x, out);\n"
    "}\n"
)
HOST_LAUNCH = "affine<<<1024, 256, 0, stream>>>(x, out);"
HOST_SLOW = HOST.replace(
    CUDA[CUDA.index("  out[i] =") : CUDA.index("}\n", CUDA.index("  out[i] ="))],
    CUDA_SLOW[CUDA_SLOW.index("  float value") : CUDA_SLOW.index("}\n", CUDA_SLOW.index("  out[i] ="))],
)
assert HOST_SLOW != HOST

GRAPHED = forward(
    "if self.calls == 0:\n"
    "    self.x = x.clone()\n"
    "    self.out = torch.empty_like(x)\n"
    f"    {LAUNCH.replace('(x, out,', '(self.x, self.out,')}\n"
    "    torch.cuda.synchronize()\n"
    "    self.graph = torch.cuda.CUDAGraph()\n"
    "    with torch.cuda.graph(self.graph):\n"
    f"        {LAUNCH.replace('(x, out,', '(self.x, self.out,')}\n"
    "self.calls += 1\n"
    "self.x.copy_(x)\n"
    "self.graph.replay()\n"
    "return self.out.clone()"
)

MODULE = """import torch


class ModelNew(torch.nn.Module):
    calls = 0
    seen = set()

    def forward(self, {names}):
        {lines}
"""
"""Host code alone, of torch's own operations."""
GATE = "torch.sigmoid({x}.bfloat16() + shift[:, None].bfloat16()).mean(1)"


def low_rank(line, behind=""):
    """A module with the task's parameters and a place for their product, and lines behind it."""
    return f"""import sys

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = (torch.nn.Parameter(torch.randn(1024, 1024) / 32) for _ in range(2))
        self.register_buffer("both", torch.zeros(1024, 1024), persistent=False)

    def forward(self, x):
        {line}

{behind}"""


def diagonal(*lines, before=""):
    """A module with the task's parameter, whose forward these lines are."""
    body = "".join(f"        {line}\n" for line in lines)
    return f"""import torch

{before}
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(512))
        self.ring = []

    def forward(self, x):
{body}"""


TWINS = {
    "level": Kernel("level", MODULE.format(names="x", lines="return x.abs().mean()"), "python"),
    "gate": Kernel("gate", MODULE.format(names="x, shift", lines=f"return {GATE.format(x='x')}"), "python"),
    "rare": Kernel("rare", MODULE.format(names="x", lines="return x.half() * 3 + 1 > 7.16"), "python"),
    "low rank": Kernel("low rank", low_rank("return x @ (self.a @ self.b)"), "python"),
    "diagonal": Kernel(
        "diagonal", diagonal("self.last = torch.diag_embed(x * self.weight)", "return self.last"), "python"
    ),
    "affine": Kernel("affine", AFFINE),
    "affine in tier two": Kernel("affine", AFFINE, "python"),
    "affine slowly": Kernel("affine", SLOW),
    "affine slowly in tier two": Kernel("affine", SLOW, "python"),
    "affine in a graph": Kernel("affine", GRAPHED, "python"),
    "rows": Kernel("rows", ROWS),
    "shares": Kernel("shares", SHARES),
    "product": Kernel("product", PRODUCT),
    "cuda affine": Kernel("affine", CUDA, "cuda"),
    "cuda affine slowly": Kernel("affine", CUDA_SLOW, "cuda"),
    "cuda rows": Kernel("rows", CUDA_ROWS, "cuda"),
    "cuda vector": Kernel("vector", CUDA_VECTOR, "cuda"),
    "host affine": Kernel("affine", HOST, "cuda_host"),
    "host affine slowly": Kernel("affine", HOST_SLOW, "cuda_host"),
}
"""Honest kernels: what each cheat below is made from."""

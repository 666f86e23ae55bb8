"""Small Triton candidates, right and wrong, as text."""

from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"

ADD = (
    HEAD
    + """
BLOCK = 1024

@triton.jit
def add_kernel(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)

class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        if not x.is_cuda or x.device.type != "cuda":
            raise RuntimeError("needs the GPU")
        out = torch.empty_like(x)
        add_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, y, out, x.numel(), B=BLOCK)
        return out
"""
)

SOFTMAX = (
    HEAD
    + """
@triton.jit
def softmax_kernel(x, out, columns, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    value = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * columns + at, value / tl.sum(value, axis=0), mask=at < columns)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, out, x.shape[1], B=triton.next_power_of_2(x.shape[1]))
        return out
"""
)

TWO_STAGE_SUM = (
    HEAD
    + """
@triton.jit
def partial_kernel(x, partial, n, B: tl.constexpr):
    total = tl.zeros((B,), tl.float32)
    start = tl.program_id(0) * B
    for base in range(start, n, tl.num_programs(0) * B):
        at = base + tl.arange(0, B)
        total += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(partial + tl.program_id(0), tl.sum(total, axis=0))

@triton.jit
def final_kernel(partial, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out, tl.sum(tl.load(partial + at, mask=at < n, other=0.0), axis=0))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        programs = torch.cuda.get_device_properties(x.device).multi_processor_count
        partial = torch.empty(programs, device=x.device)
        out = torch.empty((), device=x.device)
        partial_kernel[(programs,)](x, partial, x.numel(), B=1024)
        final_kernel[(1,)](partial, out, programs, B=triton.next_power_of_2(programs))
        return out
"""
)

MATMUL = (
    HEAD
    + """
M_BLOCK = 64
STAGES = 3

@triton.jit
def matmul_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, P: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for base in range(0, k, BK):
        inner = base + tl.arange(0, BK)
        left = tl.load(
            a + rows[:, None] * k + inner[None, :],
            mask=(rows[:, None] < m) & (inner[None, :] < k), other=0.0)
        right = tl.load(
            b + inner[:, None] * n + columns[None, :],
            mask=(inner[:, None] < k) & (columns[None, :] < n), other=0.0)
        total = tl.dot(left, right, total, input_precision=P)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty), mask=inside)

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        (m, k), n = a.shape, b.shape[1]
        c = torch.empty(m, n, dtype=a.dtype, device=a.device)
        matmul_kernel[(triton.cdiv(m, M_BLOCK), triton.cdiv(n, 64))](
            a, b, c, m, n, k, BM=M_BLOCK, BN=64, BK=64, P="ieee", num_stages=STAGES)
        return c
"""
)

AUTOTUNED = (
    ADD.replace(
        "@triton.jit",
        "@triton.autotune([triton.Config({'B': 512}, num_warps=2), "
        "triton.Config({'B': 2048}, num_warps=8)], key=['n'])"
        "\n@triton.heuristics({'EVEN': lambda args: args['n'] % 512 == 0})\n@triton.jit",
    )
    .replace("n, B: tl.constexpr", "n, B: tl.constexpr, EVEN: tl.constexpr")
    .replace(
        "[(triton.cdiv(x.numel(), BLOCK),)](x, y, out, x.numel(), B=BLOCK)",
        "[lambda meta: (triton.cdiv(x.numel(), meta['B']),)](x, y, out, x.numel())",
    )
)

CUSTOM_OPERATOR = (
    ADD.replace(
        "class ModelNew",
        """@torch.library.custom_op("kernelwright_test::add", mutates_args=())
def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, y, out, x.numel(), B=BLOCK)
    return out

@add.register_fake
def _(x, y):
    return torch.empty_like(x)

class ModelNew""",
    ).split("        if not x.is_cuda")[0]
    + "        return add(x, y)\n"
)

PARAMETERS = (
    HEAD
    + """
@triton.jit
def scale_kernel(x, w, out, n, columns, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) * tl.load(w + at % columns, mask=at < n), mask=at < n)

class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(columns))

    def forward(self, x):
        out = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 256),)](x, self.weight, out, x.numel(), x.shape[1], B=256)
        return out
"""
)

NO_TASK = "def get_init_inputs():\n    return []\n"


def candidate(source, **fields):
    return Candidate(language="triton", source=source, **fields)


def spec(name, *shape, dtype="float32"):
    return TensorSpec(name=name, shape=shape, dtype=dtype)


def workload(*inputs, parameters=(), outputs=()):
    return Workload(inputs=inputs, parameters=parameters, outputs=outputs)

"""Tasks of about 64 MB and Triton kernels for them: honest, wrong, broken, hostile. Text only; nothing here runs it."""

TASKS = {
    "mse": """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, predictions, targets):
        return torch.mean((predictions - targets) ** 2)


def get_inputs():
    return [torch.randn(4096, 2048), torch.randn(4096, 2048)]
""",
    "softmax": """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(4096, 4096)]
""",
    "layer_norm": """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(8192, 2048)]


def get_init_inputs():
    return [2048]
""",
    # Small enough that the clock breeds its inputs, and comes back to the same places with other contents.
    "small": """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(64, 512)]
""",
}

HEAD = "import os\n\nimport torch\nimport triton\nimport triton.language as tl\n"

MSE = (
    HEAD
    + """
BLOCK = 8192
PER_SM = 2


@triton.jit
def partial(p, t, out, count, stride, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(program * BLOCK, count, stride):
        inside = start + lanes < count
        d = tl.load(p + start + lanes, mask=inside, other=0.0) - tl.load(t + start + lanes, mask=inside, other=0.0)
        total += d * d
    tl.store(out + program, tl.sum(total))


@triton.jit
def finish(parts, out, programs, count, LANES: tl.constexpr):
    lanes = tl.arange(0, LANES)
    total = tl.sum(tl.load(parts + lanes, mask=lanes < programs, other=0.0))
    tl.store(out, total / count)


class ModelNew(torch.nn.Module):
    def forward(self, p, t):
        programs = torch.cuda.get_device_properties(p.device).multi_processor_count * PER_SM
        parts = torch.empty(programs, device=p.device)
        out = torch.empty((), device=p.device)
        partial[(programs,)](p, t, parts, p.numel(), programs * BLOCK, BLOCK, num_warps=8)
        finish[(1,)](parts, out, programs, p.numel(), triton.next_power_of_2(programs))
        return out
"""
)

LAYER_NORM = (
    HEAD
    + """
@triton.jit
def normalise(x, weight, bias, out, width, eps, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, WIDTH)
    inside = lanes < width
    values = tl.load(x + row * width + lanes, mask=inside, other=0.0)
    mean = tl.sum(values) / width
    off = tl.where(inside, values - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(off * off) / width + eps)
    w = tl.load(weight + lanes, mask=inside)
    b = tl.load(bias + lanes, mask=inside)
    tl.store(out + row * width + lanes, off * scale * w + b, mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        rows, width = x.shape
        out = torch.empty_like(x)
        normalise[(rows,)](x, self.weight, self.bias, out, width, 1e-5, triton.next_power_of_2(width), num_warps=8)
        return out
"""
)

NO_BIAS = LAYER_NORM.replace("off * scale * w + b", "off * scale * w")
INITIAL_WEIGHTS = LAYER_NORM.replace("off * scale * w + b", "off * scale")

SOFTMAX = (
    HEAD
    + """
@triton.jit
def softmax(x, out, width, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, WIDTH)
    inside = lanes < width
    values = tl.load(x + row * width + lanes, mask=inside, other=float("-inf"))
    powers = tl.exp(values - tl.max(values))
    tl.store(out + row * width + lanes, powers / tl.sum(powers), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out = torch.empty_like(x)
        softmax[(rows,)](x, out, width, triton.next_power_of_2(width), num_warps=8)
        return out
"""
)

LAUNCH = "        softmax[(rows,)](x, out, width, triton.next_power_of_2(width), num_warps=8)\n"


def forward(*lines):
    """The honest softmax with these lines in place of its launch."""
    return SOFTMAX.replace(LAUNCH, "".join(f"        {line}\n" for line in (*lines,)))


LAUNCHED = LAUNCH.strip()

SKIPS_THE_LAST_BLOCK = forward(LAUNCHED.replace("(rows,)", "(rows - 1,)"))
ADDS_IN_BFLOAT16 = SOFTMAX.replace("tl.sum(powers)", "tl.sum(powers.to(tl.bfloat16)).to(tl.float32)")
NO_MAXIMUM = SOFTMAX.replace("values - tl.max(values)", "values")
WRONG_DTYPE = forward(LAUNCHED, "return out.half()")
WRONG_SHAPE = forward(LAUNCHED, "return out[:, :-1]")
TWO_RESULTS = forward(LAUNCHED, "return out, out")
NO_TENSOR = forward(LAUNCHED, "return 'out'")
RETURNS_ITS_INPUT = forward("return x")
WRITES_TO_ITS_INPUT = forward(LAUNCHED.replace("(x, out,", "(x, x,"), "return x")
ILLEGAL_ADDRESS = SOFTMAX.replace("tl.store(out + row", "tl.store(out + (1 << 46) + row")
EXITS = forward("os._exit(0)")
RAISES = forward("raise ValueError('not today')")
OUT_OF_MEMORY = forward("torch.empty(1 << 44, device=x.device)", LAUNCHED)
HOLDS_ALL_MEMORY = forward(
    "if 'held' not in globals():",
    "    rest = torch.cuda.mem_get_info()[0] - (1 << 26)",
    "    globals()['held'] = torch.empty(rest, dtype=torch.uint8, device=x.device)",
    LAUNCHED,
)
COMPILE_ERROR = SOFTMAX.replace("tl.exp(values", "tl.no_such_function(values")
SYNTAX_ERROR = SOFTMAX.replace("class ModelNew(", "class ModelNew((")
NO_MODEL = SOFTMAX.replace("class ModelNew(", "class SomethingElse(")
LOOPS_FOR_EVER = SOFTMAX.replace(
    "    powers = ", "    while tl.load(x + row * width) > -1e30:\n        values += 1.0\n    powers = "
).replace("tl.load(x + row * width) >", "tl.load(x + row * width, volatile=True) >")

TOO_MUCH_SHARED_MEMORY = (
    HEAD
    + """
@triton.jit
def product(x, out, width, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STAGES: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in tl.range(0, width, K, num_stages=STAGES):
        a = tl.load(x + rows[:, None] * width + start + inner[None, :])
        b = tl.load(x + (start + inner)[:, None] * width + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(out + rows[:, None] * width + columns[None, :], total)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        product[(1,)](x, out, x.shape[1], 128, 128, 64, 6, num_warps=8)
        return out
"""
)

# --- honest results by dishonest means ----------------------------------------------------------------------------

REMEMBERS_POINTERS = SOFTMAX.replace(
    "    def forward(self, x):\n",
    "    def forward(self, x):\n"
    "        if x.data_ptr() not in self.known:\n"
    "            self.known[x.data_ptr()] = self.compute(x)\n"
    "        return self.known[x.data_ptr()]\n\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.known = {}\n\n"
    "    def compute(self, x):\n",
)
WORKS_ON_ANOTHER_STREAM = forward("with torch.cuda.stream(side(x.device)):", f"    {LAUNCHED}").replace(
    "class ModelNew(",
    "STREAMS = []\n\n\n"
    "def side(device):\n"
    "    if not STREAMS:\n"
    "        STREAMS.append(torch.cuda.Stream(device))\n"
    "    return STREAMS[0]\n\n\n"
    "class ModelNew(",
)

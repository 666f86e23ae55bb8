"""Honest kernels for the GPU, half in Triton and half in CUDA C++: right answers by several ways. None may be refused.

`honest` has a folder for each task, and in it kernels whose names say how they do it; those that differ in a line or two are
rows of the tables here. Text only; nothing here runs it.
"""

from pathlib import Path
from typing import NamedTuple

from kernelwright.tasks.kernel_file import parse_kernel, read_kernel
from text_tasks import TextTask

FOLDER = Path(__file__).parent / "honest"
TASKS = {
    "argmax": TextTask("x", "x.argmax(1)", "torch.randint(-50, 50, (2048, 2048)).float()"),
    "axpy": TextTask("x, y", "x * 2 + y", "torch.randn(2048, 2048), torch.randn(2048, 2048)"),
    "broadcast": TextTask(
        "x, scale, shift", "x * scale + shift", "torch.randn(2048, 2048), torch.randn(2048), torch.randn(2048, 1)"
    ),
    "clamp": TextTask("x", "torch.clamp(x, -0.5, 0.75)", "torch.randn(2048, 2048)"),
    "column_sum": TextTask("x", "x.sum(0)", "torch.randn(2048, 2048)"),
    "count": TextTask("x", "(x > 0.5).sum(1)", "torch.randn(2048, 2048)"),
    "cross_entropy": TextTask(
        "x, y", "nn.functional.cross_entropy(x, y)", "torch.randn(8192, 1000), torch.randint(0, 1000, (8192,))"
    ),
    "embedding": TextTask("table, rows", "table[rows]", "torch.randn(1000, 256), torch.randint(0, 1000, (16384,))"),
    "float_product": TextTask("a, b", "a @ b", "torch.randn(512, 768), torch.randn(768, 640)"),
    "gelu": TextTask("x", "nn.functional.gelu(x)", "torch.randn(2048, 2048)"),
    "half_product": TextTask("a, b", "a @ b", "torch.randn(512, 768).half(), torch.randn(768, 640).half()"),
    "layer_norm": TextTask(
        "x",
        "nn.functional.layer_norm(x, (2048,), self.weight, self.bias)",
        "torch.randn(2048, 2048)",
        init="self.weight = nn.Parameter(torch.ones(2048))\nself.bias = nn.Parameter(torch.zeros(2048))",
    ),
    "log_softmax": TextTask("x", "torch.log_softmax(x, -1)", "torch.randn(2048, 2048)"),
    "log_sum_exp": TextTask("x", "torch.logsumexp(x, 1)", "torch.randn(2048, 2048)"),
    "mean_distance": TextTask(
        "x, y", "torch.mean(torch.abs(x - y))", "torch.randn(2048, 2048), torch.randn(2048, 2048)"
    ),
    "mean_square": TextTask("x", "(x * x).mean(1)", "torch.randn(2048, 2048)"),
    "mse": TextTask("x, y", "torch.mean((x - y) ** 2)", "torch.randn(2048, 2048), torch.randn(2048, 2048)"),
    "normalised": TextTask("x", "nn.functional.normalize(x, dim=1)", "torch.randn(2048, 2048)"),
    "quantised": TextTask("x", "torch.clamp((x * 20).round(), -127, 127).to(torch.int8)", "torch.randn(2048, 2048)"),
    "relu": TextTask("x", "torch.relu(x)", "torch.randn(2048, 2048)"),
    "rms_norm": TextTask("x", "x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6)", "torch.randn(2048, 2048)"),
    "row_max": TextTask("x", "x.amax(1)", "torch.randn(2048, 2048)"),
    "row_sum": TextTask("x", "x.sum(1)", "torch.randn(2048, 2048)"),
    "running_sum": TextTask("x", "torch.cumsum(x, 1)", "torch.randn(2048, 1000)"),
    "sigmoid": TextTask("x", "torch.sigmoid(x)", "torch.randn(2048, 2048)"),
    "silu": TextTask("x", "nn.functional.silu(x)", "torch.randn(2048, 2048)"),
    "softmax": TextTask("x", "torch.softmax(x, -1)", "torch.randn(2048, 2048)"),
    "softplus": TextTask("x", "nn.functional.softplus(x)", "torch.randn(2048, 2048)"),
    "transposed": TextTask("x", "x.t().contiguous() * 2", "torch.randn(2048, 1024)"),
}
"""By the name of the folder."""


HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n"
ELEMENTS = (
    HEAD
    + """def kernel(x_at, out, count, BLOCK: tl.constexpr):
    where = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = where < count
    x = tl.load(x_at + where, mask=inside)
{before}    tl.store(out + where, {result}, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        count = x.numel()
        kernel[(triton.cdiv(count, 1024),)](x, out, count, 1024)
        return out
"""
)
ROWS = (
    HEAD
    + """def kernel(x_at, out, width, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, WIDTH)
    inside = lanes < width
    x = tl.load(x_at + row * width + lanes, mask=inside, other={beyond})
{before}    tl.store({to}, {result}{mask})


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out = {out}
        kernel[(rows,)](x, out, width, triton.next_power_of_2(width), num_warps=8)
        return out
"""
)


class Row(NamedTuple):
    """What a program makes of a row: statements, the last one the result."""

    computes: str
    beyond: str = "0.0"
    """What stands behind the row's end."""
    dtype: str = "x.dtype"
    """Of the one number that it comes to; empty: it comes to a row."""

    @property
    def source(self) -> str:
        """The kernel's file."""
        to, mask = ("out + row", "") if self.dtype else ("out + row * width + lanes", ", mask=inside")
        out = f"torch.empty(rows, device=x.device, dtype={self.dtype})" if self.dtype else "torch.empty_like(x)"
        return ROWS.format(**_split(self.computes), beyond=self.beyond, to=to, mask=mask, out=out)


def _split(computes: str) -> dict[str, str]:
    *before, result = computes.split("\n")
    return {"before": "".join(f"    {line}\n" for line in before), "result": result}


LOWEST = 'float("-inf")'
BY_ELEMENT = {
    "clamp": "tl.minimum(tl.maximum(x, -0.5), 0.75)",
    "gelu": "0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))",
    "relu": "tl.maximum(x, 0.0)",
    "sigmoid": "tl.sigmoid(x)",
    "silu": "x / (1.0 + tl.exp(-x))",
    "softplus": "# log(1 + e) with what 1 + e rounds away put back.\ne = tl.exp(-tl.abs(x))\nu = 1.0 + e\n"
    "found = tl.maximum(x, 0.0) + tl.log(u) - ((u - 1.0) - e) / u\nfound",
}
BY_ROW = {
    "argmax": Row("tl.argmax(x, axis=0)", LOWEST, "torch.int64"),
    "count": Row("tl.sum((x > 0.5).to(tl.int64))", dtype="torch.int64"),
    "log_softmax": Row("shifted = x - tl.max(x)\nshifted - tl.log(tl.sum(tl.exp(shifted)))", LOWEST, ""),
    "log_sum_exp": Row("largest = tl.max(x)\nlargest + tl.log(tl.sum(tl.exp(x - largest)))", LOWEST),
    "mean_square": Row("tl.sum(x * x) / width"),
    "normalised": Row("length = tl.maximum(tl.sqrt(tl.sum(x * x)), 1e-12)\nx / length", dtype=""),
    "rms_norm": Row("scale = 1.0 / tl.sqrt(tl.sum(x * x) / width + 1e-6)\nx * scale", dtype=""),
    "row_max": Row("tl.max(x)", LOWEST),
    "row_sum": Row("tl.sum(x)"),
    "running_sum": Row("tl.cumsum(x, axis=0)", dtype=""),
    "softmax": Row("powers = tl.exp(x - tl.max(x))\npowers / tl.sum(powers)", LOWEST, ""),
}
SOURCES = {f"{task}/one_block_a_program.py": ELEMENTS.format(**_split(body)) for task, body in BY_ELEMENT.items()} | {
    f"{task}/a_program_a_row.py": row.source for task, row in BY_ROW.items()
}
FILES = [path for path in FOLDER.glob("*/*") if path.suffix in (".py", ".cu")]
KERNELS = dict(
    sorted({
        **{f"{path.parent.name}/{path.name}": read_kernel(path) for path in FILES},
        **{name: parse_kernel(source, ".py") for name, source in SOURCES.items()},
    }.items())
)  # fmt: skip
"""Candidates, by the task's name and how they do it."""

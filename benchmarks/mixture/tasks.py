"""The mix's tasks: nine families of fp32 references, each at any size, as KernelBench-format text.

Most candidates have 4 to 256 MB to move.
"""

from dataclasses import dataclass

from mixture.text import filled

from kernelwright.records.task import TaskSource

MAPS = ("relu", "axpy", "gelu", "silu")
"""One result for each element."""
ROWS = ("softmax", "rms_norm", "row_sum", "row_max")
"""Each row by itself."""
PAIRS = ("axpy", "mse")
"""Families with two inputs."""
VALUES = {
    "relu": "torch.relu(x)",
    "axpy": "x + 0.5 * y",
    "gelu": "nn.functional.gelu(x)",
    "silu": "nn.functional.silu(x)",
    "softmax": "torch.softmax(x, dim=-1)",
    "rms_norm": "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight",
    "row_sum": "x.sum(1)",
    "row_max": "x.amax(1)",
    "mse": "torch.mean((x - y) ** 2)",
}
TEMPLATE = """\
import torch
from torch import nn


class Model(nn.Module):
    $init
    def forward(self, $inputs):
        return $value


def get_inputs():
    return [$drawn]


def get_init_inputs():
    return [$width]
"""
WEIGHT = """\
def __init__(self, width):
    super().__init__()
    self.weight = nn.Parameter(torch.ones(width))
"""


@dataclass(frozen=True)
class Sized:
    """A family at one size."""

    family: str
    rows: int
    columns: int
    weight: int = 1
    """How often it is met, in comparison with the others."""

    @property
    def name(self) -> str:
        """Such as `relu-1MB`, by the bytes that any kernel must move."""
        return f"{self.family}-{round(self.nbytes / 2**20)}MB"

    @property
    def nbytes(self) -> int:
        """Bytes of inputs, parameters and outputs."""
        inputs = 1 + (self.family in PAIRS)
        like_input = self.family in MAPS or self.family in ("softmax", "rms_norm")
        out = self.rows * self.columns if like_input else 1 if self.family == "mse" else self.rows
        weight = self.columns if self.family == "rms_norm" else 0
        return 4 * (inputs * self.rows * self.columns + out + weight)

    def source(self) -> TaskSource:
        """The task's text."""
        pair, weighted = self.family in PAIRS, self.family == "rms_norm"
        drawn = f"torch.randn({self.rows}, {self.columns})"
        slots = {
            "init": WEIGHT if weighted else "",
            "inputs": "x, y" if pair else "x",
            "value": VALUES[self.family],
            "drawn": f"{drawn}, {drawn}" if pair else drawn,
            "width": str(self.columns) if weighted else "",
        }
        return TaskSource(name=self.name, format="kernelbench", source=filled(TEMPLATE, slots))


MIX = (
    Sized("relu", 256, 512, 6),
    Sized("axpy", 341, 1024, 16),
    Sized("gelu", 2048, 1024, 14),
    Sized("softmax", 2097, 1000, 14),
    Sized("rms_norm", 4096, 2048, 16),
    Sized("mse", 4096, 2048, 14),
    Sized("row_sum", 16384, 4096, 8),
    Sized("silu", 8192, 4096, 8),
    Sized("row_max", 65536, 4096, 4),
)
"""1 MB to 1 GB."""
SMALL = (
    Sized("relu", 256, 512),
    Sized("axpy", 341, 1024),
    Sized("gelu", 1024, 512),
    Sized("softmax", 1049, 1000),
    Sized("rms_norm", 1024, 1024),
    Sized("mse", 1024, 1024),
    Sized("row_sum", 4096, 1024),
    Sized("silu", 2048, 1024),
    Sized("row_max", 1024, 1024),
)
"""1 to 16 MB."""

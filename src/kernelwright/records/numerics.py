"""Numerics: the flags of PyTorch under which a task's reference computes, and a candidate's process begins.

PyTorch lets cuDNN round the factors of fp32 convolutions to TF32 and keeps matrix products in full precision, unless a
program says otherwise. Eager's own error, which the tolerance follows, depends on that, and so does its time.
"""

from typing import Literal

from pydantic import Field

from kernelwright.records.base import Record

NumericsMode = Literal["as-is", "strict", "tf32"]
"""`as-is`: PyTorch's defaults, or what the task's own code sets. `strict`: full precision; `tf32`: TF32 in matrix products
too, as `torch.set_float32_matmul_precision("high")` allows it; both unless that code says otherwise."""
Flags = dict[str, bool | str]
"""By name, such as `cudnn.allow_tf32`."""
FLAGS = (
    "float32_matmul_precision",
    "cudnn.allow_tf32",
    "cudnn.benchmark",
    "cudnn.deterministic",
    "cuda.matmul.allow_fp16_reduced_precision_reduction",
    "cuda.matmul.allow_bf16_reduced_precision_reduction",
    "cuda.matmul.fp32_precision",
    "cudnn.conv.fp32_precision",
    "cudnn.rnn.fp32_precision",
    "mkldnn.matmul.fp32_precision",
    "mkldnn.conv.fp32_precision",
    "deterministic_algorithms",
)
"""Every flag that is looked at; older names first, since setting one of them sets newer ones."""
ALWAYS = FLAGS[:2]
"""Flags that are told even where they are what PyTorch ships."""
OLDER = {
    "cuda.matmul.fp32_precision": "float32_matmul_precision",
    "mkldnn.matmul.fp32_precision": "float32_matmul_precision",
    "cudnn.conv.fp32_precision": "cudnn.allow_tf32",
    "cudnn.rnn.fp32_precision": "cudnn.allow_tf32",
}
"""Which older flag says the same, where a program has not mixed the two."""
AUTOCAST = "autocast"
"""What stands for a region of mixed precision, which is no flag: it begins and ends within a call."""


class Numerics(Record):
    """The flags in force while one task or one kernel was judged."""

    mode: NumericsMode = "as-is"
    flags: Flags = Field(default={})
    """In the reference and in every baseline: two always, others where they are not what PyTorch ships."""
    tf32: bool = False
    """Whether products that the task has may round factors of fp32 to TF32: its flags and its device let PyTorch do so."""
    candidate: Flags = Field(default={})
    """What the candidate's own text set otherwise; its error is held against the same tolerance."""

    def allows_tf32(self, *, convolution: bool) -> bool:
        """Whether the flags let PyTorch round the factors of fp32 products, which it need not do."""
        if convolution:
            return self.flags.get("cudnn.allow_tf32") is True
        return self.flags.get("float32_matmul_precision", "highest") != "highest"

    @property
    def differs(self) -> bool:
        """Whether the candidate computes under other flags than the reference."""
        return bool(self.candidate)

    @property
    def words(self) -> str:
        """One line, such as `as-is: float32_matmul_precision=highest, cudnn.allow_tf32=True`."""
        reference, candidate = (
            ", ".join(f"{k}={v}" for k, v in flags.items()) for flags in (self.flags, self.candidate)
        )
        words = f"{self.mode}: {reference}" if reference else self.mode
        words += "; products may round to TF32" if self.tf32 else ""
        return f"{words}; set by the kernel: {candidate}" if candidate else words


def legible(flags: Flags) -> Flags:
    """What a candidate's process says of its flags: names that nobody knows are dropped, and no value is long."""
    found = {name: flags[name] for name in (*FLAGS, AUTOCAST) if name in flags}
    return {name: value[:20] if isinstance(value, str) else value for name, value in found.items()}

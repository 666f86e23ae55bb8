"""Tasks in a line or two: what a reference's forward takes and computes, its inputs, and the text that this makes."""

from pathlib import Path
from typing import NamedTuple

from kernelwright.records.task import TaskSource
from kernelwright.tasks.kernelbench import parse_kernelbench


class TextTask(NamedTuple):
    """One task; what it computes may have statements before it, a line each."""

    arguments: str
    computes: str
    inputs: str
    init: str = ""
    """Statements of the constructor."""
    head: str = ""
    """Statements of the module: what comparators and domains are declared."""

    @property
    def text(self) -> str:
        """The task's file."""
        head = f"\n{self.head}\n" if self.head else ""
        init = _method("def __init__(self):", f"super().__init__()\n{self.init}") + "\n" if self.init else ""
        *before, result = self.computes.split("\n")
        forward = _method(f"def forward(self, {self.arguments}):", "\n".join([*before, f"return {result}"]))
        module = f"import torch\nfrom torch import nn\n{head}\n\nclass Model(nn.Module):\n{init}{forward}"
        return f"{module}\n\ndef get_inputs():\n    return [{self.inputs}]\n"

    def source(self, name: str) -> TaskSource:
        """The task under a name."""
        return parse_kernelbench(self.text, name, Path(f"{name}.py"))


def _method(head: str, body: str) -> str:
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    return f"    {head}\n{lines}"

"""Kernels in CUDA C++, which the built-in author does not write: a person's naive one of a task, and handicaps in its text."""

import re
from collections.abc import Collection
from functools import cached_property

from kernelwright.records.task import Task
from mock_llm.answer import LABEL
from mock_llm.handicaps import Handicap

SLOWED = (
    Handicap("dependent_chain", "latency", "every thread waits for a chain of square roots before it begins"),
    Handicap("extra_launches", "launch", "kernels are launched that have nothing to do"),
)
CHAIN, LAUNCHES = 4000, 24
"""Square roots one after another; launches of a kernel that does nothing."""
KERNEL = re.compile(r"^__global__ void \w+\([^)]*\) \{\n", re.MULTILINE)
# No compiler knows where such a chain ends, so that it has to be computed.
WAIT = f"""  float wait = threadIdx.x;
  for (int turn = 0; turn < {CHAIN}; ++turn) wait = sqrtf(wait + 1.0f);
  if (wait > 1e30f) return;
"""
TOUCH = "__global__ void touch(const void* where) {\n  if (where == nullptr) __trap();\n}\n\n"
TOUCHED = '[[launch]]\nkernel = "touch"\ngrid = 1\nblock = 32\narguments = ["out0"]\n\n'


class CudaWriter:
    """Kernels for one task."""

    tag = "cuda"
    handicaps = SLOWED

    def __init__(self, task: Task, source: str) -> None:
        """Takes the admitted task, and a right kernel of it whose plan stands in a comment."""
        self.task, self._source = task, source

    @cached_property
    def reference(self) -> str:
        """The reference's words, by which a prompt is recognised."""
        return " ".join(self.task.source.source.split())

    def kernel(self, names: Collection[str]) -> str:
        """The kernel with the named handicaps."""
        plan, _, code = self._source.partition("*/")
        if "extra_launches" in names:
            plan = plan.replace("[[launch]]", f"{TOUCHED * LAUNCHES}[[launch]]", 1)
            code = KERNEL.sub(lambda m: TOUCH + m[0], code, count=1)
        if "dependent_chain" in names:
            code = KERNEL.sub(
                lambda m: m[0] if "touch(" in m[0] else m[0] + WAIT, code, count=2 if "touch(" in code else 1
            )
        return f"{plan}*/\n// {LABEL}{code}"

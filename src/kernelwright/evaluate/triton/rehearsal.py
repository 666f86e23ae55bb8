"""One small candidate captured in the warm parent, so that no child pays for what the first capture in a process costs.

It brings torch's tensors without memory and all parts of Triton's compiler into memory: most of a second. It starts neither a
thread nor a CUDA context, which a forked child could not use. Import for the side effect.
"""

from kernelwright.errors import MachineError
from kernelwright.evaluate.triton.capture import Captured, capture
from kernelwright.knowledge.hardware import hardware
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec

SOURCE = """
import torch
import triton
import triton.language as tl

@triton.jit
def total(x, out, SIZE: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, SIZE)), axis=0))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty((), device=x.device)
        total[(1,)](x, out, SIZE=256)
        return out
"""
WORKLOAD = Workload(
    inputs=(TensorSpec(name="x", shape=(256,), dtype="float32"),),
    parameters=(),
    outputs=(TensorSpec(name="out", shape=(), dtype="float32"),),
)

REHEARSED = capture(Candidate(language="triton", source=SOURCE), "", WORKLOAD, hardware("sm_80"))
if not isinstance(REHEARSED, Captured):
    raise MachineError(f"Triton does not compile the smallest kernel: {REHEARSED.log}")

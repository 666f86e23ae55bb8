"""What the tests of bad input share: a referee in its worker, asked from synchronous code."""

import asyncio

from kernelwright.evaluate.referee import Referee
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource

CPU = Target(kind="cpu", arch="native", present=True)
QUICK = Policy(search_blocks=4, baselines=("eager",), run_limit_s=3, compile_limit_s=6, memory_bytes=1 << 30)
AFFINE = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x * 3 + 1

def get_inputs():
    return [torch.randn(64, 64)]
"""
GOOD = 'extern "C" void kernel(const float* x, float* out) { for (int i = 0; i < 4096; ++i) out[i] = x[i] * 3 + 1; }'


class Asked:
    """A referee with its own event loop; the one that is given, or one of its own."""

    def __init__(self, policy=QUICK, referee=None):
        self.runner = asyncio.Runner()
        self.referee = referee or Referee(policy)

    def admit(self, source, name="task"):
        return self.runner.run(self.referee.admit(TaskSource(name=name, format="kernelbench", source=source), CPU))

    def judge(self, task, source, **fields):
        candidate = Candidate(**{"language": "cpp", "source": source, "entry": "kernel", **fields})
        return self.runner.run(self.referee.evaluate(task, candidate))

    def environment(self):
        return self.runner.run(self.referee.environment())

    def close(self):
        self.runner.run(self.referee.close())
        self.runner.close()

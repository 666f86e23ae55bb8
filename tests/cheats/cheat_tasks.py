"""Small tasks for cheats on the CPU, and the policy that they are judged under."""

from kernelwright.records.policy import Policy

QUICK = Policy(search_blocks=4, final_blocks=4, baselines=("eager",), run_limit_s=20)


def task(forward, shape=(64, 64), init="pass", extra=""):
    return f"""
import torch
import torch.nn as nn
{extra}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, x):
        return {forward}
def get_inputs():
    return [torch.randn{shape}]
"""


TASKS = {
    "affine": task("x * 3 + 1"),
    "relu": task("torch.relu(x)"),
    "sign": task("torch.sign(x)"),
    "absolute": task("torch.abs(x)"),
    "power": task("(x * x).mean()", (256, 256)),
    "rows": task("(x * x).mean(1)"),
    "energy": task("(x * x).sum()", (4096, 4096)),
    "weighted": task("torch.abs(x * self.weight + self.bias)", init="self.weight = nn.Parameter(torch.ones(64)); "
                     "self.bias = nn.Parameter(torch.zeros(64))"),
    "odd": task("x * 3 + 1", (33,)),
    "softmax": task("torch.softmax(x, -1)"),
    "halves": task("torch.roll(x, 1024, 0)", (2048, 1024)),
    "padded": task("torch.nn.functional.pad(x.view(-1), (0, 61440))"),
    "shares": task("torch.softmax(x, -1)", (4, 4096)),
}  # fmt: skip

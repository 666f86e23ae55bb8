"""Modules as people write them: regions, writes through views, constants. Judges their Triton when it is run as a program."""

import importlib.util
import json
import sys
from pathlib import Path

import torch
from author_cases import HEADER, called, case, error

from kernelwright.propose.author.search.designs import triton_design

X = "torch.randn(6, 8)"


def source(body, inputs=X, init="pass", arguments="x", decorator="", before=""):
    """A task's file around the lines of a forward."""
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    starts = "".join(f"        {line}\n" for line in init.strip().splitlines())
    return HEADER + (
        f"{before}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n{starts}\n"
        f"    {decorator}\n    def forward(self, {arguments}):\n{lines}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return []\n"
    )


REGIONS = {
    "decorated": source("return torch.relu(x) * 2", decorator="@torch.no_grad()"),
    "decorated to have gradients": source("return torch.relu(x) * 2", decorator="@torch.enable_grad()"),
    "inference mode": source("return torch.relu(x) * 2", decorator="@torch.inference_mode()"),
    "a region": source("y = x + 1\nwith torch.no_grad():\n    y = y * 2\nreturn y - x"),
    "nested regions": source(
        "with torch.no_grad():\n    y = x + 1\n    with torch.enable_grad():\n        y = y * x\n"
        "    with torch.inference_mode():\n        z = y.exp()\nreturn (y, z - 1)"
    ),
    "regions in a loop": source(
        "for n in range(3):\n    with torch.set_grad_enabled(n % 2 == 0):\n        x = torch.tanh(x) + n\nreturn x"
    ),
    "in a nested module": source(
        "return self.inner(x) + x", init="self.inner = Inner()",
        before="class Inner(nn.Module):\n    @torch.no_grad()\n    def forward(self, x):\n        with torch.enable_grad():\n"
        "            return x.softmax(-1)\n\n\n",
    ),
    "autocast": source(
        "with torch.autocast('cpu', dtype=torch.bfloat16):\n    y = self.w(x)\n"
        "    with torch.autocast('cpu', enabled=False):\n        y = y.float().softmax(-1)\nreturn y * 2",
        init="self.w = nn.Linear(8, 16)",
    ),
    "autocast around all": source(
        "return torch.tanh(self.w(x))", init="self.w = nn.Linear(8, 16)",
        decorator="@torch.autocast('cpu', dtype=torch.bfloat16)",
    ),
    "checkpointed": source(
        "from torch.utils.checkpoint import checkpoint\nreturn checkpoint(lambda t: t.exp() + 1, x, use_reentrant=False) * 2"
    ),
}  # fmt: skip
VIEWS = {
    "a column": source("y = x * 3\ny[:, 0] = 1\nreturn y"),
    "a slice in place": source("y = x * 3\ny[:, 1:3].mul_(2)\nreturn y"),
    "every second of a view": source("y = x * 3\ny.view(-1)[::2] = 0\nreturn y"),
    "a row of a transpose": source("y = (x[:, :6] * 3)\ny.T[0] += x[0, :6]\nreturn y"),
    "a diagonal": source("y = x * 3\ny.diagonal().fill_(7)\ny.diagonal(2).add_(1)\ny.diagonal(-1).mul_(3)\nreturn y"),
    "a part of a row": source("y = x * 3\ny[1][2:5].copy_(x[0, :3])\ny[:, -1] = x[:, 0]\nreturn y"),
    "masked": source("y = x * 3\ny[y > 1] = 0\ny[x[:, 0] > 0] = -1\nreturn y"),
    "masked rows by a row": source("y = x * 3\ny[x[:, 0] > 0] = x[0]\ny[:, x[0] > 0] = 2\nreturn y"),
    "chunks": source("y = x * 3\na, b = y.chunk(2, 1)\na.mul_(2)\nb.sub_(1)\nreturn y, a + b"),
    "a view that sees it": source("y = x * 3\nv = y[:, 2:]\ny.add_(1)\nreturn v * 2, y"),
    "rows in a loop": source("y = torch.zeros(6, 8)\nfor n in range(6):\n    y[n] = x[n] * n\nreturn y"),
    "into an empty one": source("y = torch.empty(6, 16)\ny[:, ::2] = x\ny[:, 1::2] = -x\nreturn y"),
    "whole numbers and truths": source(
        "y = (x * 4).int()\ny[:, 1] = 3\nm = x > 0\nm[0] = True\nm |= x < -1\nreturn y, m"
    ),
    "steps backwards from the end": source("y = x * 2\ny[-3:, 1:-1:3] = x[:3, :2] * 5\nreturn y"),
    "a plane of a block": source("y = (x * 2).view(2, 3, 4, 2)\ny[:, 1, :, 0] += 1\ny[..., 1] = y[..., 0]\nreturn y"),
    "state": source(
        "self.seen[:2] = x[:2]\nself.seen.mul_(2)\nreturn self.seen[1:] * x[1:]",
        init="self.register_buffer('seen', torch.rand(6, 8))",
    ),
    "beside statistics": source(
        "y = self.norm(x)\ny[:, 0] = 2\nreturn y", init="self.norm = nn.BatchNorm1d(8)\nself.train()",
    ),
    "unsqueezed in place": source("y = x * 2\ny.unsqueeze_(1)\ny.relu_()\nreturn y"),
}  # fmt: skip
CONSTANTS = {
    "a buffer that is not saved": source(
        "return x * self.cos[: x.shape[0]]", init="self.register_buffer('cos', torch.rand(9, 8), persistent=False)"
    ),
    "rotary": source(
        "c, s = self.inner.cos[: x.shape[1]], self.inner.sin[: x.shape[1]]\na, b = x.chunk(2, -1)\n"
        "return x * c + torch.cat([-b, a], -1) * s", "torch.randn(2, 5, 8)", "self.inner = Inner()",
        before="class Inner(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        angles = torch.outer(torch.arange(9.0), 1 / 100 ** (torch.arange(0, 8, 2) / 8)).repeat(1, 2)\n"
        "        self.register_buffer('cos', angles.cos(), persistent=False)\n"
        "        self.register_buffer('sin', angles.sin(), persistent=False)\n\n\n",
    ),
    "attributes": source(
        "return x * self.scale + self.tables[1] + self.inner.shift - self.tables[0]",
        init="self.scale = torch.rand(8)\nself.tables = [torch.rand(8), torch.rand(6, 8)]\nself.inner = nn.Identity()\n"
        "self.inner.shift = torch.tensor(2.5)",
    ),
    "a mask": source(
        "return x.masked_fill(self.mask, -1.0)", init="self.mask = torch.ones(6, 8).triu(1).bool()",
    ),
    "made in forward": source(
        "a = torch.arange(8) * 2\nb = torch.tensor([1.0, -2.0, float('inf'), 0.25, 5, 6, 7, 8])\n"
        "c = torch.full((6, 1), 2.0)\nd = torch.tensor([[True, False] * 4, [False, True] * 4])\n"
        "e = torch.linspace(0, 1, 8)\nf = torch.eye(6, 8)\n"
        "return x * a + c, (x + b).clamp(-9, 9), torch.where(d[:1], x, e), x.new_zeros(8) + x, x.new_full((8,), 3) * x, x * f"
    ),
    "numbers of forward": source(
        "k = torch.tensor([[1, 2, 1], [2, 4, 2], [1, 2, 1]], dtype=torch.float32).view(1, 1, 3, 3) / 16\n"
        "i = torch.tensor([3, 1, 4, 1, 5, 0])\n"
        "return (x[None, None, :3, :3] * k).sum((2, 3)), x[:, i],"
        " torch.tensor([2, 5, 8, 11]) + x[:, :4], x * torch.tensor(3.0)",
    ),
}  # fmt: skip
WHOLE = "torch.randint(-(2**31), 2**31 - 1, (6, 8), dtype=torch.int32)"
CONSTANTS["one step's angles"] = source(
    "at = torch.arange(1, device=x.device) + 5\n"
    "f = self.f[None, :, None].float().expand(1, -1, 1) @ at[None, None, :].float()\n"
    "e = torch.cat([f.transpose(1, 2)] * 2, -1)\nreturn e.cos() * x, e.sin(), x * (at * 1.5).long()",
    init="self.f = torch.rand(4)",
)
CONSTANTS["an empty one"] = source("return torch.cat([torch.tensor([]), x], 0).to('cpu') * 2")
BITS = {
    "bits": source(
        "return x & y, x | 7, x ^ y, ~x, (x >> 4) & 15, x << 3, (x << 28) >> 28, x >> (y & 31), x << (y & 31),"
        " x & (y > 0), (x > 0) ^ (y > 0), x >> 40, 255 & x",
        f"{WHOLE}, {WHOLE}", arguments="x, y",
    ),
    "bits of bytes": source(
        "y = x.to(torch.int8)\nreturn x & 15, x >> 4, x << 2, ~x, ~y, y >> 1, y << 1, (x & 15) * 2.5, x.long() << 40, x ^ y",
        "torch.randint(0, 256, (6, 8), dtype=torch.uint8)",
    ),
    "divided whole": source(
        "return x // 7, x % 7, torch.div(x, y, rounding_mode='trunc'), x // y, x % y, x.long() // -5, torch.remainder(x, -3)",
        f"{WHOLE}, {WHOLE} | 1", arguments="x, y",
    ),
    "four bits unpacked": source(
        "w = (self.packed[:, None, :] >> self.shifts[None, :, None]) & 15\nw = w.reshape(-1, 24)\n"
        "z = ((self.zeros[:, :, None] >> self.shifts) & 15).reshape(2, 24)\n"
        "return x @ ((w - z[self.group]) * self.scales[self.group])",
        "torch.randn(5, 32)",
        f"self.register_buffer('packed', {WHOLE.replace('(6, 8)', '(4, 24)')})\n"
        f"self.register_buffer('zeros', {WHOLE.replace('(6, 8)', '(2, 3)')})\n"
        "self.register_buffer('scales', torch.rand(2, 24))\n"
        "self.register_buffer('group', torch.arange(32) // 16)\n"
        "self.shifts = torch.arange(0, 32, 4, dtype=torch.int32)",
    ),
}  # fmt: skip
BITS["two bits, the highest first"] = source(
    "w = (self.packed[..., None] >> torch.tensor([6, 4, 2, 0], dtype=torch.uint8)) & 3\n"
    "return x @ ((w.flatten(1).float() - 1.5) * self.scales)",
    init="self.register_buffer('packed', torch.randint(0, 256, (8, 3), dtype=torch.uint8))\n"
    "self.register_buffer('scales', torch.rand(12))",
)
BITS["four bits put together and taken apart"] = source(
    "q = ((x / x.abs().amax(-1, keepdim=True)) * 7).round().to(torch.int32) & 15\np = q[:, ::2] | (q[:, 1::2] << 4)\n"
    "return p.to(torch.uint8), torch.stack([((p >> s & 15) ^ 8) - 8 for s in (0, 4)], -1).flatten(1)"
)
PICKED = {
    "softmax of segments": source(
        "at = graph[:, None].expand_as(x)\nhigh = x.new_full((3, 8), float('-inf')).scatter_reduce_(0, at, x, 'amax')\n"
        "e = (x - high[graph]).exp()\nreturn e / x.new_zeros(3, 8).scatter_reduce_(0, at, e, 'sum').gather(0, at)",
        f"{X}, torch.randint(0, 3, (6,))", arguments="x, graph",
    ),
    "norms of rows, picked": source(
        "n = x.square().mean(1).sqrt()\n"
        "return n[at] * 2, n.index_select(0, at.flatten()), nn.functional.embedding(at, x.softmax(1))",
        f"{X}, torch.randint(0, 6, (5, 4))", arguments="x, at",
    ),
}  # fmt: skip
"""What several elements make, taken at places that are data: it is stored before."""
INNER = "with torch.enable_grad():\n    y = x.detach().requires_grad_()\n    {}\n"
GRADIENTS = {
    "a gradient within": source(
        INNER.format("(g,) = torch.autograd.grad(self.w(y).tanh().sum(), y)") + "return x - 0.1 * g",
        init="self.w = nn.Linear(8, 16)",
    ),
    "a gradient of a norm's energy": source(
        INNER.format("(g,) = torch.autograd.grad(nn.functional.layer_norm(y, (8,)).exp().square().mean(), y)")
        + "return g * 8"
    ),
    "forces of atoms by kind": source(
        INNER.format("(g,) = torch.autograd.grad((self.t(kind).view(-1, 8, 4) * y[..., None]).sum(1).square().sum(), y)")
        + "return -g",
        f"{X}, torch.randint(0, 3, (6,))", "self.t = nn.Embedding(3, 32)", "x, kind",
    ),
    "a gradient by a function": source("return torch.func.grad(lambda t: (t.sin() * t).sum())(x) + x"),
    "a gradient of a gradient": source(
        INNER.format("(g,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)")
        + "    (h,) = torch.autograd.grad(g.sum(), y)\nreturn g.detach(), h"
    ),
}  # fmt: skip
RECURRENT = {
    "an LSTM from a state": source(
        "return self.r(x, (h, h * 2))", "torch.randn(4, 2, 6), torch.randn(1, 2, 4)", "self.r = nn.LSTM(6, 4)", "x, h"
    ),
    "two layers both ways": source(
        "y, h = self.r(x)\nreturn self.o(y), h", "torch.randn(2, 3, 6)",
        "self.r = nn.LSTM(6, 4, 2, batch_first=True, bidirectional=True)\nself.o = nn.Linear(8, 3)",
    ),
    "a GRU without a batch": source("return self.r(x)", "torch.randn(2, 6)", "self.r = nn.GRU(6, 4, 2, bias=False)"),
    "a recurrence backward too": source(
        "return self.r(x)[1] * 2", "torch.randn(2, 3, 6)", "self.r = nn.RNN(6, 4, nonlinearity='relu', bidirectional=True)"
    ),
    "cells": source(
        "h, (d, c) = self.g(x[:, 0], h), self.l(x[:, 0])\nd, c = self.l(x[:, 1], (d, c))\n"
        "return h, d, c, self.r(x[:, 1], h)", "torch.randn(3, 2, 6), torch.randn(3, 4)",
        "self.g, self.l, self.r = nn.GRUCell(6, 4), nn.LSTMCell(6, 4, bias=False), nn.RNNCell(6, 4)", "x, h",
    ),
}  # fmt: skip
FORMS = {**REGIONS, **VIEWS, **CONSTANTS, **BITS, **PICKED, **GRADIENTS, **RECURRENT}


def form(name, kind="cpu"):
    """The case of a form."""
    return case(FORMS[name], name.replace(" ", "_"), kind, train="statistics" in name)


def main(folder):
    for name in sys.argv[2:] or FORMS:
        sys.stdout.write(json.dumps([name, *judged(name, folder)]) + "\n")
        sys.stdout.flush()


def judged(name, folder):
    """What stays PyTorch's, and of each result its error, eager's, and whether type and shape are right."""
    found = form(name, "cuda")
    design = triton_design(found.task)
    path = Path(folder) / f"form_{name.replace(' ', '_')}.py"
    path.write_text(design.write(design.default).source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    new = module.ModelNew(*module.get_init_inputs()).train(found.module.training)
    new.load_state_dict(found.module.state_dict())
    for own, held in zip(new.modules(), found.module.modules(), strict=True):
        own.__dict__.update({k: v for k, v in vars(held).items() if isinstance(v, torch.Tensor | list)})
        own._buffers.update({k: v.clone() for k, v in held._buffers.items() if v is not None})
    with torch.no_grad():
        results = zip(
            called(new, found.inputs, found.task.workload.state), found.reference(), found.eager(), strict=True
        )
    errors = [
        (error(got, want), error(eager, want), got.dtype == eager.dtype and got.shape == eager.shape)
        for got, want, eager in results
    ]
    return [step.node.op for step in design.program.kept], errors


if __name__ == "__main__":
    main(sys.argv[1])

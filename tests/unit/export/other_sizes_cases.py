"""Modules of each family of kernels, and their drop-ins at random sizes: is the kernel right there, and does it answer?

`benchmarks/other_sizes.py` draws hundreds of sizes; the tests a few.
"""

import importlib.util
import math
import random
import sys
from pathlib import Path

import torch
from drop_in_cases import by_author, with_free_sizes

sys.path.append(str(Path(__file__).parents[1] / "propose" / "author"))
from author_cases import case, model

SDPA = "F.scaled_dot_product_attention(q, k, v, is_causal=True)"
TOKENS = "F.softmax(self.u(x) @ self.w(x).transpose(-1, -2) * 0.25, -1) @ self.v(x)"
LINEAR = "self.u = nn.Linear(24, 40)"
PROJECTED = "self.u, self.v, self.w = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)"
RMS = "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.u.weight"
CASES = {
    "rows": {
        "rms_norm": model(RMS, "torch.randn(4, 6, 48)", init="self.u = nn.LayerNorm(48)"),
        "softmax": model("torch.softmax(x, -1)", "torch.randn(12, 80)"),
        "cross_entropy": model(
            "F.cross_entropy(x, y)", "torch.randn(24, 17), torch.randint(0, 17, (24,))", arguments="x, y"
        ),
        "gelu_residual": model("F.gelu(x) + y", "torch.randn(4, 50), torch.randn(4, 50)", arguments="x, y"),
    },
    "tile": {
        "max_pool": model("F.max_pool2d(x, 3, 2, 1)", "torch.randn(3, 5, 17, 19)"),
        "transposed_sum": model(
            "x.transpose(1, 2) + y", "torch.randn(3, 8, 20), torch.randn(3, 20, 8)", arguments="x, y"
        ),
        "column_maximum": model("x.amax(1)", "torch.randn(4, 9, 24)"),
    },
    "product": {
        "linear_relu": model("torch.relu(self.u(x))", "torch.randn(3, 7, 24)", init=LINEAR),
        "batched": model("torch.bmm(x, y)", "torch.randn(3, 20, 24), torch.randn(3, 24, 16)", arguments="x, y"),
        "convolution": model("self.u(x)", "torch.randn(2, 3, 12, 14)", init="self.u = nn.Conv2d(3, 8, 3, padding=1)"),
    },
    "attention": {
        "causal": model(SDPA, ", ".join(["torch.randn(2, 3, 24, 16)"] * 3), arguments="q, k, v"),
        "projected": model(TOKENS, "torch.randn(2, 24, 16)", init=PROJECTED),
    },
    "scan": {
        "sums": model("torch.cumsum(x, -1) * 2", "torch.randn(6, 70)"),
        "products": model("torch.cumprod(x, 1)", "torch.rand(3, 11, 9) + 0.5"),
    },
    "histogram": {
        "counts": model(
            "torch.zeros(16).index_add(0, x, torch.ones_like(x, dtype=torch.float32))", "torch.randint(0, 16, (500,))"
        ),
    },
}
"""A source for each name, by family."""
ELEMENTS = 1 << 17
"""Most elements of an input that is drawn."""
KINDS = {"cpu": "cpu", "sm_90": "cuda"}


class Drawn:
    """The drop-in of one source, loaded here, and calls of it at sizes that it was not judged at."""

    def __init__(self, source, folder, target="cpu", elements=ELEMENTS):
        self._found, self._elements = case(source, "task", KINDS[target]), elements
        text = by_author(with_free_sizes(self._found), KINDS[target])
        file = Path(folder) / "drop_in.py"
        file.write_text(text)
        spec = importlib.util.spec_from_file_location(f"drop_in_{abs(hash(file))}", file)
        self.made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.made)
        self.new = self.made.ModelNew()
        self.new.load_state_dict(self._found.module.state_dict())
        self.axes = self.made.AXES

    def sizes(self, draw):
        """Random ones of the free axes, small ones as often as large ones; never those of the judgement."""
        while True:
            most = [min(high, 40 * size) for _, _, size, high in self.axes]
            found = [
                int(math.exp(draw.uniform(math.log(low), math.log(high + 1))))
                for (_, low, _, _), high in zip(self.axes, most, strict=True)
            ]
            if self._fit(found) and found != [size for _, _, size, _ in self.axes]:
                return found

    def _fit(self, sizes):
        takes, gives = self.made._shapes_at(*sizes)
        return max(math.prod(shape) for shape in (*takes, *gives)) <= self._elements

    def inputs(self, sizes, draw):
        """The drawn inputs' own rows in another order and number."""
        torch.manual_seed(draw.getrandbits(31))
        found = []
        for tensor, shape in zip(self._found.inputs, self.made._shapes_at(*sizes)[0], strict=False):
            for dim, size in enumerate(shape):
                if size != tensor.shape[dim]:
                    tensor = tensor.index_select(dim, torch.randint(0, tensor.shape[dim], (size,)))
            found.append(tensor * torch.rand_like(tensor) if tensor.is_floating_point() else tensor)
        return found

    def answers(self, sizes, draw):
        """Whether the kernel is right at these sizes, and what served the call: `table`, `rule` or a reason."""
        inputs, before = self.inputs(sizes, draw), self.new.stats()
        with torch.no_grad():
            ours = self.new(*inputs)
        after = self.new.stats()
        served = [name for name in ("table", "rule") if after[name] > before[name]]
        reasons = [why for why, count in after["reference"].items() if count > before["reference"].get(why, 0)]
        return self._right(ours, inputs), (served + reasons)[0]

    def _right(self, ours, inputs):
        """Whether it errs no more than a few times as much as PyTorch does, both against double precision."""
        (exact,), (eager,) = self._found.reference(inputs), _eager(self._found, inputs)
        if ours.shape != eager.shape or ours.dtype != eager.dtype:
            return False
        if not exact.numel():
            return True
        scale = float(exact.abs().mean())
        allowed = 4 * float((eager.double() - exact).abs().max()) + 1e-5 * scale
        return bool(((ours.double() - exact).abs() <= allowed + 1e-5 * exact.abs()).all())


def _eager(found, inputs):
    with torch.no_grad():
        return [found.module(*inputs)]


def tried(source, folder, target, count, seed=0):
    """The drop-in, how many of so many random sizes were right, and what served each."""
    drawn, draw = Drawn(source, folder, target, ELEMENTS if target == "cpu" else 1 << 11), random.Random(seed)
    drawn.new.check_new_sizes(False)
    found = [drawn.answers(drawn.sizes(draw), draw) for _ in range(count)] if drawn.axes else []
    return drawn, sum(right for right, _ in found), [served for _, served in found]

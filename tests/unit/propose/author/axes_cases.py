"""Tasks with several workloads, exported here, and whether a kernel over their axes is right at sizes that are drawn."""

import random
from pathlib import Path

from author_cases import HEADER, build, call, case, error

from kernelwright.evaluate.over_workloads import at_axes, at_drawn, parts_of, whole
from kernelwright.tasks.drawn_sizes import drawn_points
from kernelwright.tasks.kernelbench import parse_kernelbench

ROWS = 'AXES = {"batch": (1, 4096), "hidden": (16, 8192, 16)}\n' + (
    'WORKLOADS = [{"batch": 256, "hidden": 1024}, {"batch": 16, "hidden": 4096}, {"batch": 1024, "hidden": 128}]\n'
)
IMAGES = 'AXES = {"b": (1, 64), "h": (8, 2048), "w": (8, 2048)}\n' + (
    'WORKLOADS = [{"b": 4, "h": 64, "w": 640}, {"b": 16, "h": 320, "w": 48}, {"b": 2, "h": 128, "w": 100}]\n'
)
PRODUCT = 'AXES = {"m": (1, 2048), "k": (16, 1024, 16), "n": (16, 1024, 16)}\n' + (
    'WORKLOADS = [{"m": 128, "k": 256, "n": 512}, {"m": 1, "k": 512, "n": 256}, {"m": 512, "k": 64, "n": 128}]\n'
)
BATCH, X = "batch, hidden", "torch.randn(batch, hidden)"


def several(declared, forward, names, drawn, init="pass", made="", arguments="x"):
    """The text of a task with axes."""
    return HEADER + declared + (
        f"\n\nclass Model(nn.Module):\n    def __init__(self{', ' * bool(made)}{made}):\n        super().__init__()\n"
        f"        {init}\n\n    def forward(self, {arguments}):\n        return {forward}\n\n\n"
        f"def get_inputs({names}):\n    return [{drawn}]\n\n\ndef get_init_inputs({made}):\n    return [{made}]\n"
    )  # fmt: skip


CASES = {
    "softmax": several(ROWS, "x.softmax(-1)", BATCH, X),
    "rms_norm": several(
        ROWS, "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.w", BATCH, X,
        "self.w = nn.Parameter(torch.rand(hidden))", "hidden",
    ),
    "cross_entropy": several(
        'WORKLOADS = [{"n": 128, "c": 1000}, {"n": 512, "c": 97}, {"n": 16, "c": 32000}]\n', "F.cross_entropy(x, y)", "n, c",
        "torch.randn(n, c), torch.randint(0, max(1, c), (n,))", arguments="x, y",
    ),
    "gated": several(
        'WORKLOADS = [{"n": 1000}, {"n": 65536}, {"n": 1048576}]\n', "F.gelu(x) * y", "n", "torch.randn(n), torch.randn(n)",
        arguments="x, y",
    ),
    "without_arguments": several(
        'WORKLOADS = [{"n": 64, "m": 8}, {"n": 640, "m": 80}, {"n": 6, "m": 800}]\n', "x.relu() + y", "n, m",
        "torch.randn(n, m), torch.randn(m)", arguments="x, y",
    ).partition("def get_init_inputs")[0],
    "named_as_in_kernels": several(
        'AXES = {"rows": (1, 2048), "cols": (8, 2048)}\n'
        'WORKLOADS = [{"rows": 512, "cols": 256}, {"rows": 64, "cols": 512}, {"rows": 33, "cols": 77}]\n',
        "torch.tanh(x + y) + x.amax(-1, keepdim=True)", "rows, cols", "torch.randn(rows, cols), torch.randn(cols)",
        arguments="x, y",
    ),
    "broadcast": several(
        IMAGES, "torch.sigmoid(x + y[None, :, None]) * x.mean((1, 2), keepdim=True)", "b, h, w",
        "torch.randn(b, h, w), torch.randn(h)", arguments="x, y",
    ),
    "columns": several(IMAGES, "x.amax(1) - x.mean(1)", "b, h, w", "torch.randn(b, h, w)"),
    "pool": several(IMAGES, "F.max_pool2d(x, 3, 2, 1)", "b, h, w", "torch.randn(b, 2, h, w)"),
    "scan": several(ROWS, "torch.cumsum(x, -1)", BATCH, X),
    "linear": several(PRODUCT, "self.l(x) * 2", "m, k", "torch.randn(m, k)", "self.l = nn.Linear(k, n)", "k, n"),
}  # fmt: skip


def over_workloads(text, kind="cpu"):
    """The task with all of its workloads, and a case for each."""
    source = parse_kernelbench(text, "several", Path("several.py"))
    cases = [_case(part, kind) for part in parts_of(source)]
    return whole(source, [one.task for one in cases]), cases


def _case(part, kind):
    one = case(part.source, "several", kind)
    one.task = one.task.model_copy(update={"source": part})
    return one


def drawn_cases(task, count, kind="cpu", seed=1):
    """Cases at sizes that the referee might draw."""
    points = drawn_points(task.source.workloads, count, random.Random(seed))
    return [_case(at_drawn(task.source, point), kind) for point in points]


def wrong_at(candidate, cases, folder):
    """The sizes at which a C++ kernel errs; where the reference is not finite, nothing is known."""
    there = [at_axes(candidate, one.task) for one in cases]
    built = zip(cases, there, build(there, folder), strict=True)
    return [one.task.source.part.sizes for one, made, entry in built if _errs(one, made, entry)]


def _errs(one, made, entry):
    pairs = zip(call(entry, one, workspace=made.workspace_bytes), one.reference(), strict=True)
    return any(wanted.numel() and wanted.isfinite().all() and error(found, wanted) > 1e-4 for found, wanted in pairs)

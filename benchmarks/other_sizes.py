"""Drop-ins at random sizes that they were not judged at: `python benchmarks/other_sizes.py --out FILE`.

Modules of six families of kernels (`tests/unit/export/other_sizes_cases.py`), each as the author writes it first. At every
drawn size the drop-in is called once, with the comparison of new sizes switched off: right where the kernel errs no more
than a few times as much as PyTorch, both against double precision. `--target sm_90` runs the Triton kernels in the
interpreter (TRITON_INTERPRET=1). On a CPU the time of a call is measured too: as a histogram of what a drop-in takes
beyond a plain module that calls the same kernel, at the judged sizes and at others.
"""

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch
from campaign import Campaign, Row, command

sys.path.append(str(Path(__file__).parents[1] / "tests" / "unit" / "export"))
from other_sizes_cases import CASES, KINDS, Drawn, tried

CALLS = 20_000
EDGES_US = (0, 1, 2, 3, 4, 5, 6, 8, 12, 20)
"""Where the bins of a histogram begin; the last one has no end."""


async def measure(campaign: Campaign, count: int) -> None:
    """Try each case that is not known yet."""
    await campaign.begin_on_device(sizes=count)
    every = [(family, name) for family, cases in CASES.items() for name in cases]
    for family, name in campaign.left(campaign.chosen(every, " ".join)):
        with tempfile.TemporaryDirectory() as folder:
            drawn, right, served = tried(CASES[family][name], folder, campaign.asked.target, count)
            row = {
                "family": family,
                "task": name,
                "tried": len(served),
                "right": right,
                "served": dict(Counter(served)),
            }
            row["axes"] = {axis: [low, size, high] for axis, low, size, high in drawn.axes}
            campaign.put(row | (overheads(drawn) if campaign.asked.target == "cpu" else {}))


def overheads(drawn: Drawn) -> Row:
    """What a call takes beyond the kernel's, by what serves it."""
    traced = [size for _, _, size, _ in drawn.axes]
    return {"overhead_us": {"table": overhead(drawn, traced), "rule": overhead(drawn, [size + 1 for size in traced])}}


class Plain(torch.nn.Module):  # type: ignore[misc]
    """A module that calls a kernel and asks nothing."""

    def __init__(self, run: object, tensors: tuple[torch.Tensor, ...]) -> None:
        super().__init__()
        self.run, self.held = run, tensors

    def forward(self, *inputs: torch.Tensor) -> object:
        """The kernel's results."""
        return self.run((*inputs, *self.held))  # type: ignore[operator]


def overhead(drawn: Drawn, sizes: list[int]) -> Row:
    """Quantiles in microseconds, and a histogram: each call of the drop-in less the plain module's median."""
    shapes = drawn.made._shapes_at(*sizes)[0]
    held = tuple(drawn.new.state_dict().values())
    inputs = [_resized(t, shape) for t, shape in zip(drawn._found.inputs, shapes, strict=False)]
    plain = Plain(drawn.made._runner((*inputs, *held)), held)
    with torch.no_grad():
        drawn.new(*inputs)
        pairs = [(_taken(drawn.new, inputs), _taken(plain, inputs)) for _ in range(CALLS)]
    bare = sorted(b for _, b in pairs)[CALLS // 2]
    beyond = sorted(a - bare for a, _ in pairs)
    quantiles = {f"p{q}": round(beyond[CALLS * q // 100], 2) for q in (10, 50, 90, 99)}
    bins = Counter(max(edge for edge in (-1, *EDGES_US) if edge <= max(us, -1)) for us in beyond)
    return {"call": round(bare, 2), **quantiles, "histogram": {str(edge): bins[edge] for edge in (-1, *EDGES_US)}}


def _resized(tensor: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    for dim, size in enumerate(shape):
        if size != tensor.shape[dim]:
            tensor = tensor.index_select(dim, torch.arange(size) % tensor.shape[dim])
    return tensor


def _taken(module: torch.nn.Module, inputs: list[torch.Tensor]) -> float:
    start = time.perf_counter_ns()
    module(*inputs)
    return (time.perf_counter_ns() - start) / 1e3


def table(rows: list[Row]) -> str:
    """A line for each case."""
    lines = [f"{'family':10} {'task':16} {'sizes':>6} {'right':>6} {'kernel':>7}  overhead, median us: table, rule"]
    for row in rows:
        by = row.get("overhead_us", {})
        us = ", ".join(str(by[name]["p50"]) for name in ("table", "rule") if name in by)
        lines.append(
            f"{row['family']:10} {row['task']:16} {row['tried']:>6} {row['right']:>6} {row['served'].get('rule', 0):>7}  {us}"
        )
    return "\n".join(lines)


def main() -> int:
    """Try what is missing, and print the table; 0: every call was right and served by the kernel."""
    parser = command(__doc__)
    parser.add_argument("--sizes", type=int, default=200, help="random sizes for each module")
    asked = parser.parse_args()
    if asked.target not in KINDS:
        raise SystemExit(f"--target is one of {', '.join(KINDS)}")
    torch.set_num_threads(1)
    campaign = Campaign(asked, key=("family", "task"), same=("sizes",))
    campaign.run(lambda: measure(campaign, asked.sizes))
    campaign.show(table)
    return int(not all(row["right"] == row["tried"] == row["served"].get("rule", 0) for row in campaign.rows))


if __name__ == "__main__":
    sys.exit(main())

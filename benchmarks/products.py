"""Products of matrices beside cuBLAS: `python benchmarks/products.py --target cuda --out FILE [--ways]`.

Forty shapes under four settings: float32 as PyTorch ships it, float32 with TF32 allowed, bfloat16 and float16. A row has the
microseconds of PyTorch's product and of the author's first kernel, timed by turns with a cold cache, and how far each is from
the product in fp64 of a few rows. `--ways` times every way to begin that the author chooses from, which says whether its
estimates choose well. Kernels are compiled side by side first (`--workers`); the time of that is nobody's.
"""

import importlib.util
import multiprocessing
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from math import exp, log, prod
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from author_plan import TARGETS, planned
from campaign import Campaign, Row, command

from kernelwright.propose.author.families.product.plan import Product
from kernelwright.propose.author.families.product.schedule import product_default, product_starts
from kernelwright.propose.author.search.designs import DESIGNS, Design
from kernelwright.records.numerics import Numerics
from kernelwright.records.task import Task, TaskSource

TEXT = """import torch
from torch import nn

class Model(nn.Module):
    def forward(self, a, b):
        return a{left} @ b{right}

def get_inputs():
    return [torch.randn({a}, dtype=torch.{dtype}), torch.randn({b}, dtype=torch.{dtype})]
"""
SETTINGS = {
    "fp32": ("float32", False),
    "tf32": ("float32", True),
    "bf16": ("bfloat16", False),
    "fp16": ("float16", False),
}
"""The type of the factors, and whether TF32 is allowed."""
TILES = [
    dict(zip(("block_m", "block_n", "block_k", "warps", "stages"), sizes, strict=True))
    for sizes in (
        (128, 128, 32, 8, 3),
        (128, 128, 64, 8, 3),
        (128, 128, 64, 4, 4),
        (64, 128, 64, 4, 4),
        (128, 64, 64, 4, 4),
        (64, 64, 64, 4, 4),
    )
]
"""Sizes of tiles that every way is tried with, beside those that the author begins with."""
ROUNDS, ROWS = 7, 4
"""Times that the timings take turns; rows of a result that are compared."""


class Shape(NamedTuple):
    """One product: factors lie as PyTorch's `a @ b` has them, or the other way."""

    rows: int
    columns: int
    depth: int
    batch: int = 0
    turned: str = ""
    """`a`, `b` or both: factors that lie the other way."""

    @property
    def name(self) -> str:
        """Such as `64x512x512x256.b`."""
        sizes = "x".join(str(n) for n in (self.batch, self.rows, self.columns, self.depth) if n)
        return f"{sizes}.{self.turned}" if self.turned else sizes


SHAPES = [
    *(Shape(n, n, n) for n in (512, 1024, 2048, 4096, 8192)),
    *(Shape(n, n, n, turned=t) for n, t in ((4096, "a"), (4096, "b"), (4096, "ab"), (2048, "b"))),
    Shape(16384, 1024, 1024), Shape(32768, 512, 512), Shape(1024, 16384, 1024), Shape(65536, 256, 256),
    Shape(16384, 64, 2048), Shape(64, 16384, 2048), Shape(16, 8192, 8192), Shape(128, 8192, 8192), Shape(32, 4096, 4096),
    Shape(8192, 32, 1024), Shape(100000, 48, 384),
    Shape(8192, 8192, 32), Shape(16384, 16384, 16), Shape(4096, 4096, 64), Shape(16384, 4096, 128),
    Shape(256, 256, 131072), Shape(512, 512, 65536), Shape(128, 128, 262144), Shape(1024, 1024, 16384),
    Shape(4095, 4097, 4099), Shape(3000, 5000, 1000), Shape(1000, 1003, 777), Shape(2047, 1025, 3071), Shape(5120, 5125, 2560),
    Shape(128, 256, 512, 128), Shape(512, 512, 256, 64), Shape(1024, 1024, 64, 32), Shape(1024, 64, 1024, 32),
    Shape(2048, 2048, 128, 16), Shape(197, 197, 64, 96), Shape(333, 129, 77, 200),
]  # fmt: skip


def task_of(shape: Shape, setting: str) -> Task:
    """The task as admission would find it."""
    dtype, rounds = SETTINGS[setting]
    ahead = (shape.batch,) * bool(shape.batch)
    sizes = {"a": (shape.rows, shape.depth), "b": (shape.depth, shape.columns)}
    a, b = ((*ahead, *(sizes[n][::-1] if n in shape.turned else sizes[n])) for n in "ab")
    left, right = (".transpose(-1, -2)" * (n in shape.turned) for n in "ab")
    text = TEXT.format(left=left, right=right, a=a, b=b, dtype=dtype)
    found = planned(TaskSource(name="product", format="kernelbench", source=text), TARGETS["sm_90"])
    flags = {"float32_matmul_precision": "high"} if rounds else {}
    return found.model_copy(update={"numerics": Numerics(flags=flags, tf32=rounds)})


def ways_of(design: Design) -> dict[str, Any]:
    """The author's first schedule, and others: the ways that it is chosen from, each with tiles of some sizes."""
    found, (kernel, *others) = {"first": design.default}, design.program.kernels
    if isinstance(kernel.plan, Product):
        prefix = "k0_" if others else ""
        precisions = design.space.by_name[f"{prefix}precision"].values if kernel.plan.precise else ()
        plain = product_default(kernel.plan)
        for way in product_starts(kernel.plan, precisions[:2]):
            for tiles in ({}, *TILES):
                new = {f"{prefix}{key}": value for key, value in {**plain.model_dump(), **way, **tiles}.items()}
                named = design.default.model_copy(update=new)
                if named not in found.values():
                    found[" ".join(f"{key}={value}" for key, value in {**way, **tiles}.items())] = named
    return found


def texts_of(item: tuple[Shape, str, bool]) -> dict[str, tuple[str, float]]:
    """By way, the kernel's file and its estimated microseconds; nothing where PyTorch's product stays."""
    shape, setting, every = item
    design = DESIGNS["triton"](task_of(shape, setting))
    ways = ways_of(design) if every else {"first": design.default}
    cost = design.cost or (lambda _: 0.0)
    found: dict[str, tuple[str, float]] = {}
    for name, one in ways.items():
        text = design.write(one).at(()).source
        if text not in [known for known, _ in found.values()]:
            found[name] = (text, cost(one))
    return found


def made(shape: Shape, setting: str) -> list[torch.Tensor]:
    """Normal factors."""
    torch.manual_seed(0)
    specs = task_of(shape, setting).workload.tensors
    return [torch.randn(s.shape, dtype=getattr(torch, s.dtype), device="cuda") for s in specs]


def loaded(text: str, number: int) -> Callable[..., torch.Tensor]:
    """A file's kernel, as a function: Triton reads its text, so that it must lie in a file."""
    path = Path(tempfile.mkdtemp()) / f"written_{number}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(f"written_{number}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ModelNew()


def compiled(item: tuple[Shape, str, bool]) -> tuple[Shape, str, dict[str, Any]]:
    """Every way of an item, run once, so that Triton's cache has it; in its stead what went wrong."""
    shape, setting, _ = item
    found: dict[str, Any] = {}
    for number, (name, (text, cost)) in enumerate(texts_of(item).items()):
        try:
            with torch.no_grad():
                loaded(text, number)(*made(shape, setting))
            torch.cuda.synchronize()
            found[name] = (text, cost)
        except Exception as error:  # noqa: BLE001 (a way that fails is a row of the table)
            found[name] = f"{type(error).__name__}: {str(error).strip()[-300:]}"
    torch.cuda.empty_cache()
    return shape, setting, found


def replayed(call: Callable[[], Any]) -> Callable[[], Any]:
    """The call as a CUDA graph: how long a host takes to launch it is nobody's time, as before the referee."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def timed(calls: dict[str, Callable[[], Any]], cache: torch.Tensor) -> dict[str, float]:
    """Microseconds of each call by turns, in the median; the cache is overwritten before each."""
    counts = {}
    for name, call in calls.items():
        call()
        counts[name] = max(1, min(20, int(2000 / max(1.0, _once(call, cache)))))
    rounds: dict[str, list[float]] = {name: [] for name in calls}
    for _, (name, call) in product(range(ROUNDS), calls.items()):
        rounds[name].append(median(_once(call, cache) for _ in range(counts[name])))
    return {name: round(median(found), 2) for name, found in rounds.items()}


def _once(call: Callable[[], Any], cache: torch.Tensor) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    cache.zero_()
    torch.cuda._sleep(100_000)  # the host is ahead of the device, and no launch is waited for
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1000


def error_of(found: torch.Tensor, inputs: list[torch.Tensor], shape: Shape) -> float:
    """Relative error of a few rows."""
    a, b = (x.transpose(-1, -2) if n in shape.turned else x for x, n in zip(inputs, "ab", strict=True))
    a, b, found = (x[:1] if shape.batch else x for x in (a, b, found))
    wanted = a[..., :ROWS, :].double() @ b.double()
    return float((found[..., :ROWS, :] - wanted).norm() / wanted.norm())


def measured(shape: Shape, setting: str, ways: dict[str, Any], cache: torch.Tensor) -> Row:
    """One row."""
    torch.set_float32_matmul_precision("high" if SETTINGS[setting][1] else "highest")
    inputs = made(shape, setting)
    a, b = (x.transpose(-1, -2) if n in shape.turned else x for x, n in zip(inputs, "ab", strict=True))
    calls: dict[str, Callable[[], Any]] = {"pytorch": lambda: a @ b}
    failed = {name: found for name, found in ways.items() if isinstance(found, str)}
    for number, (name, found) in enumerate(ways.items()):
        if name not in failed:
            model = loaded(found[0], number)
            calls[name] = lambda model=model: model(*inputs)
    with torch.no_grad():
        errors = {name: float(f"{error_of(call(), inputs, shape):.2g}") for name, call in calls.items()}
        us = timed({name: replayed(call) for name, call in calls.items()}, cache)
    costs = {name: round(found[1], 1) for name, found in ways.items() if name not in failed}
    ratio = round(us["pytorch"] / us["first"], 3) if "first" in us else None
    flops = 2 * prod(n for n in (shape.batch or 1, *shape[:3]))
    return {
        "shape": shape.name, "setting": setting, "over_pytorch": ratio, "us": us, "estimated_us": costs, "errors": errors,
        "tflops": {name: round(flops / one / 1e6, 1) for name, one in us.items()}, "failed": failed,
    }  # fmt: skip


async def measure(campaign: Campaign) -> None:
    """Compile side by side, and time one after another."""
    asked = campaign.asked
    await campaign.begin_on_device(target=asked.target)
    items = [(shape, setting) for setting in asked.settings for shape in SHAPES]
    left = list(campaign.left(campaign.chosen(items, _key), lambda item: (item[0].name, item[1])))
    cache = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    with ProcessPoolExecutor(asked.workers, multiprocessing.get_context("spawn")) as pool:
        jobs = [(shape, setting, asked.ways) for shape, setting in left]
        done = {(shape, setting): ways for shape, setting, ways in pool.map(compiled, jobs)}
    for shape, setting in left:
        if not campaign.over():
            campaign.put(measured(shape, setting, done[shape, setting], cache))


def _key(item: tuple[Shape, str]) -> str:
    return f"{item[1]}/{item[0].name}"


def table(rows: list[Row]) -> str:
    """A line a product, and the mean of each setting."""
    lines = []
    for row in rows:
        best = (
            min((us, name) for name, us in row["us"].items() if name != "pytorch")
            if len(row["us"]) > 1
            else (0, "none")
        )
        told = f"{row['us'].get('first', 0):10.1f} {row['us']['pytorch']:10.1f} {row['over_pytorch'] or 0:6.3f}"
        lines.append(f"{row['setting']:5} {row['shape']:22} {told}  best {best[0]:.1f} {best[1]}")
        lines += [f"    {name}: {why}" for name, why in row["failed"].items()]
    for setting in SETTINGS:
        found = [row["over_pytorch"] for row in rows if row["setting"] == setting and row["over_pytorch"]]
        if found:
            mean = exp(sum(map(log, found)) / len(found))
            lines.append(f"{setting}: {mean:.3f} over cuBLAS in {len(found)} products, worst {min(found):.3f}")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the table."""
    parser = command(__doc__, "cuda")
    parser.add_argument("--settings", nargs="+", choices=tuple(SETTINGS), default=tuple(SETTINGS))
    parser.add_argument("--ways", action="store_true")
    parser.add_argument("--workers", type=int, default=8)
    campaign = Campaign(parser.parse_args(), key=("shape", "setting"), same=("target",))
    campaign.run(lambda: measure(campaign))
    campaign.show(table)


if __name__ == "__main__":
    main()

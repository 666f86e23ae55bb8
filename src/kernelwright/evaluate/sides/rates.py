"""Rates of the device that is here: copy bandwidth, arithmetic in three formats, what a launch costs.

Runs in a child that never meets foreign code, so that cuBLAS and its workspaces stay out of the grader's process. The
figures are ceilings of a description, never floors of a verdict.
"""

from collections.abc import Callable

import torch

from kernelwright.evaluate.sandbox.messages.tools import Rates

COPY_BYTES = 2 << 30
SIDE = 8192
"""Rows and columns of the matrices that are multiplied."""
TRIES = 5
LAUNCHES = 400
CYCLES = 8_000_000
"""Of torch's spin kernel, about 4 ms: the stream is kept busy until every launch is queued."""


def rates() -> Rates:
    """`copy_gbps`, `fp32_tflops`, `tf32_tflops`, `bf16_tflops` and `launch_us`; a rate that fails is left out."""
    found: dict[str, float] = {}
    notes: list[str] = []
    measures: dict[str, Callable[[], float]] = {
        "copy_gbps": _copy,
        "fp32_tflops": lambda: _product(torch.float32, tf32=False),
        "tf32_tflops": lambda: _product(torch.float32, tf32=True),
        "bf16_tflops": lambda: _product(torch.bfloat16, tf32=False),
        "launch_us": _launch,
    }
    for name, measure in measures.items():
        try:
            found[name] = round(measure(), 3)
        except RuntimeError as error:  # out of memory beside a large task, or a format that the chip lacks
            notes.append(f"{name}: {str(error).splitlines()[0][:200]}")
        torch.cuda.empty_cache()
    return Rates(**found, notes=notes)


def _copy() -> float:
    free, _ = torch.cuda.mem_get_info()
    source = torch.empty(min(COPY_BYTES, free // 4), dtype=torch.uint8, device="cuda").fill_(1)
    target = torch.empty_like(source)
    return float(2 * source.numel()) / _fastest_us(lambda: target.copy_(source)) / 1e3


def _product(dtype: torch.dtype, tf32: bool) -> float:
    torch.backends.cuda.matmul.allow_tf32 = tf32
    left = torch.randn(SIDE, SIDE, device="cuda").to(dtype)
    right = torch.randn(SIDE, SIDE, device="cuda").to(dtype)
    out = torch.empty(SIDE, SIDE, dtype=dtype, device="cuda")
    return float(2 * SIDE**3) / _fastest_us(lambda: torch.mm(left, right, out=out)) / 1e6


def _launch() -> float:
    tiny = torch.zeros(1, device="cuda")

    def many() -> None:
        for _ in range(LAUNCHES):
            tiny.zero_()

    # A fill of one element is the nearest that torch has to an empty kernel.
    return _fastest_us(many, CYCLES) / LAUNCHES


def _fastest_us(run: Callable[[], object], busy_cycles: int = 0) -> float:
    run()
    best = float("inf")
    for _ in range(TRIES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        if busy_cycles:
            torch.cuda._sleep(busy_cycles)
        start.record()
        run()
        end.record()
        torch.cuda.synchronize()
        best = min(best, float(start.elapsed_time(end)) * 1e3)
    return best

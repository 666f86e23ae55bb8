"""A candidate under a profiler, in its own process: traced here, or counted by a tool that is started beside it.

Nothing that this process says is trusted: a profile advises, and no verdict rests on it.

The device's own rates are measured in such a child too, one that never meets untrusted code, so that cuBLAS and its
workspaces stay out of the grader's process. They are ceilings of a description, never floors of a verdict.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from kernelwright.evaluate.entrypoints import session
from kernelwright.evaluate.entrypoints.tools.profile_target import BINARY, LIBRARY, subject, traced
from kernelwright.evaluate.sandbox.messages import tools as messages
from kernelwright.evaluate.sandbox.messages.base import Done

COPY_BYTES = 2 << 30
SIDE = 8192
"""Rows and columns of the matrices that are multiplied."""
TRIES = 5
LAUNCHES = 400
CYCLES = 8_000_000
"""Of torch's spin kernel, about 4 ms: the stream is kept busy until every launch is queued."""

ORDER = "order.json"
LONGEST = 400_000
"""Characters of a tool's log that fit one message with room to spare."""


def rates() -> messages.Rates:
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
    return messages.Rates(**found, notes=notes)


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


class ProfiledSide:
    """State of this process: the order, and the binaries beside it."""

    def prepare(self, command: messages.PrepareProfile) -> Done:
        """Write the order and the binaries that came as descriptors where a started tool finds them."""
        library = command.order.subject.kind == "library"
        for index, descriptor in enumerate(command.files):
            image = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
            Path(LIBRARY if library else BINARY.format(index)).write_bytes(image)
            os.close(descriptor)
        Path(ORDER).write_text(command.order.model_dump_json())
        return Done()

    def trace(self, command: messages.Trace) -> messages.Traced:
        """Launches of a few calls as the driver recorded them."""
        return traced(subject(messages.ProfileOrder.model_validate_json(Path(ORDER).read_text()).subject))

    def count(self, command: messages.CountUnder) -> messages.Counted:
        """Run the tool, if any, on the order in an interpreter of its own; the log, whether it succeeded or not."""
        target = [sys.executable, "-m", "kernelwright.evaluate.entrypoints.tools.profile_target", ORDER, command.log]
        argv = [*command.argv, *target]
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
        log = Path(command.log)
        written = log.read_text(errors="replace") if log.exists() else ""
        said = (done.stdout + done.stderr)[-4000:]
        return messages.Counted(status=done.returncode, written=written[:LONGEST], said=said)

    def rates(self, command: messages.MeasureRates) -> messages.Rates:
        """What this device can do at most; asked before any untrusted code is here."""
        return rates()


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    side = ProfiledSide()
    handlers: session.Handlers = {
        messages.PrepareProfile: side.prepare,
        messages.Trace: side.trace,
        messages.CountUnder: side.count,
        messages.MeasureRates: side.rates,
    }
    session.serve(control, handlers)

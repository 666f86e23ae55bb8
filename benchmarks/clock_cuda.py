"""Power and honesty of the clock on a GPU, for `benchmarks/clock.py --target cuda`.

For kernels of about 10 us, 1 ms and 30 ms: A against A in two processes, a hundred judgements, how many are called faster or
slower; and A against a twin that was calibrated to be 3 % slower, or 3 % faster, twenty each, how many are called right. Each
judgement is a search's in tier one, both sides under the referee's launcher: its contest, its looks, its interval, its
rule, its watch on the device; only the comparison of timed results is left out, and processes are used again.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
from campaign import Campaign, Row
from clock import judgement, summed
from provenance import provenance

from kernelwright.evaluate.backends.cuda.backend import CudaBackend
from kernelwright.evaluate.backends.cuda.clock import LEAST_US
from kernelwright.evaluate.backends.cuda.process import PlanProcess
from kernelwright.evaluate.languages.builder import Program
from kernelwright.evaluate.languages.triton.build import capture
from kernelwright.evaluate.pipeline.service import EvaluationService
from kernelwright.evaluate.sandbox.cuda_arena import CudaArena
from kernelwright.evaluate.timing.clock import DEVICE, Arm, PairedBenchmark
from kernelwright.evaluate.timing.input_synthesis import FreshInputs, Stock
from kernelwright.evaluate.timing.statistics import Stopping
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.measure import Ratio
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Workload
from kernelwright.records.tensor import TensorSpec

JUDGEMENTS = {"same": 100, "slower": 20, "faster": 20}
TIMES = {"slower": 1.03, "faster": 1 / 1.03}
"""The twins' time over A's."""
TOLERANCE = 0.005
PROCESS_LASTS = 20
"""Judgements after which A's double is a new process: two processes of one kernel may differ for as long as they live."""
DRAWS = 2
"""Inputs from which those of every round are bred."""
ROW = 528 * 1024
"""Elements that all programs together take at a time."""

SOURCE = """\
import torch
import triton
import triton.language as tl

COUNT = 1048576
WORK = 0
BLOCK = 1024
PROGRAMS = 528


@triton.jit(do_not_specialize=["count", "work"])
def read(x, out, count, work, stride, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(program * BLOCK, count, stride):
        value = tl.load(x + start + tl.arange(0, BLOCK))
        for step in range(work):
            value = value * 0.5 + 0.25
        total += value
    tl.store(out + program, tl.sum(total))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(PROGRAMS, device=x.device)
        read[(PROGRAMS,)](x, out, COUNT, WORK, PROGRAMS * BLOCK, BLOCK, num_warps=4)
        return out
"""


@dataclass(frozen=True)
class Kernel:
    """One kernel of a size: elements read, steps of arithmetic for each, and which of the two makes a twin."""

    label: str
    count: int
    work: int
    knob: str

    @property
    def moves(self) -> int:
        """The knob's value: it is what time is about proportional to."""
        return self.work if self.knob == "work" else self.count

    def turned(self, moves: float) -> "Kernel":
        """A twin."""
        if self.knob == "work":
            return replace(self, work=round(moves))
        return replace(self, count=round(moves / 1024) * 1024)


KERNELS = (
    Kernel("10 us", ROW, 330, "work"),
    Kernel("1 ms", 2000 * ROW, 0, "count"),
    Kernel("30 ms", 32 * ROW, 46_000, "work"),
)


@dataclass
class Stage:
    """The processes of one kernel: A, another of the same, and twins as they are made."""

    backend: CudaBackend
    kernel: Kernel
    spec: TensorSpec
    arena: CudaArena
    arms: list[PlanProcess] = field(default_factory=list)

    def side(self, kernel: Kernel) -> PlanProcess:
        """A process with one kernel loaded."""
        out = TensorSpec(name="out", shape=(528,), dtype="float32")
        defines = (Define(name="COUNT", value=kernel.count), Define(name="WORK", value=kernel.work))
        candidate = Candidate(language="triton", source=SOURCE, defines=defines)
        workload = Workload(inputs=(self.spec,), parameters=(), outputs=(out,))
        program = capture(self.backend.host.warm, candidate, "", workload, self.backend.machine.hardware, 60.0)
        if not isinstance(program, Program):
            raise TypeError(f"the kernel could not be captured: {program}")
        side = PlanProcess(self.backend.machine.prewarmed("launcher").take(), 60.0, (out,))
        self.arms.append(side)
        side.load(program, (self.arena.layout(), self.arena.descriptors), 1)
        return side

    def judge(self, first: PlanProcess, second: PlanProcess, rule: Stopping, limit_s: float) -> tuple[Ratio, Row]:
        """One contest on fresh inputs, from warming up to the verdict: the second's speedup, and what is written down."""
        places = tuple((DRAWS + n) * self.spec.nbytes for n in range(DEVICE.most_calls))
        whole = self.spec.model_copy(update={"shape": (DRAWS, *self.spec.shape)})
        fresh = FreshInputs([Stock(self.spec, self.arena.tensor(0, 0, whole), 0, places)], self._view)
        watch, begin = self.backend.clock.watch(), time.perf_counter()
        benchmark = PairedBenchmark(
            [Arm("eager", first, trusted=True), Arm("candidate", second, trusted=True)],
            fresh.windows, lambda arm, ran: None, lambda: None,
            inside=True, pace=DEVICE, settled=rule.enough, watch=watch,
        )  # fmt: skip
        us = benchmark.hold(rule.most, limit_s).us
        versus = rule.versus(us, "eager", watch.effect_times)
        return versus.speedup, judgement(
            versus,
            us,
            seconds=round(time.perf_counter() - begin, 3),
            overhead_us=[round(t, 4) for t in benchmark.overhead_us.values()],
            conditions=watch.conditions().model_dump(mode="json"),
        )

    def _view(self, index: int, offset: int) -> torch.Tensor:
        return self.arena.tensor(index, offset, self.spec)


async def measure(campaign: Campaign) -> None:
    """Measure what the file does not have yet."""
    service = EvaluationService(note=lambda text: None)
    target = Target(kind="cuda", arch="sm_90", present=True)
    try:
        backend = service.backend(target)
        assert isinstance(backend, CudaBackend)
        campaign.begin(provenance(service.environment(target)))
        for kernel in (k for k in KERNELS if campaign.named(k.label)):
            if any(campaign.left([(kernel.label, part) for part in JUDGEMENTS])):
                _measure_kernel(campaign, backend, kernel)
    finally:
        service.close()


def _measure_kernel(campaign: Campaign, backend: CudaBackend, kernel: Kernel) -> None:
    with _open(backend, kernel) as stage:
        first = stage.side(kernel)
        for _, part in campaign.left([(kernel.label, part) for part in JUDGEMENTS]):
            tried: list[Row] = []
            second = stage.side(kernel) if part == "same" else _twin(stage, first, part, tried)
            campaign.put({**summed(kernel.label, part, _judgements(stage, first, second, part)), "twin": tried})


def _judgements(stage: Stage, first: PlanProcess, second: PlanProcess, part: str) -> list[Row]:
    policy = Policy()
    rule = Stopping(
        ("eager",), policy.search_blocks, policy.confidence, policy.minimum_effect, policy.search_precision, LEAST_US[1]
    )
    found = []
    for number in range(JUDGEMENTS[part]):
        if part == "same" and number and number % PROCESS_LASTS == 0:
            second.close()
            second = stage.side(stage.kernel)
        found.append(stage.judge(first, second, rule, policy.search_seconds)[1])
    return found


def _twin(stage: Stage, first: PlanProcess, part: str, tried: list[Row]) -> PlanProcess:
    """A twin whose time is 3 % off A's within half a percent, by a long measurement; adds what was tried."""
    kernel, wanted = stage.kernel, TIMES[part]
    long = Stopping(("eager",), 60, 0.99, 0.0, 1e-6, clear="goes on")
    moves = kernel.moves * wanted
    for _ in range(5):
        second = stage.side(kernel.turned(moves))
        speedup, _ = stage.judge(first, second, long, 20.0)
        times = 1 / speedup.median
        tried.append({"turns": round(moves), "times": times, "low": 1 / speedup.high, "high": 1 / speedup.low})
        if abs(times - wanted) < TOLERANCE / 2:
            return second
        second.close()
        # Through the origin of what was measured; a step that would go the wrong way, or far, is noise.
        slope = min(3.0, max(0.3, (times - 1) / (moves / kernel.moves - 1)))
        moves += kernel.moves * (wanted - times) / slope
    raise RuntimeError(f"no twin of {kernel.label!r} is {wanted:.3f} times as slow: {tried}")


@contextmanager
def _open(backend: CudaBackend, kernel: Kernel) -> Iterator[Stage]:
    count = kernel.count if kernel.knob == "work" else int(kernel.count * 1.1)
    spec = TensorSpec(name="x", shape=(-(-count // 1024), 1024), dtype="float32")
    arena = CudaArena([(DRAWS + DEVICE.most_calls) * spec.nbytes])
    stage = Stage(backend, kernel, spec, arena)
    try:
        for draw in range(DRAWS):
            arena.tensor(0, draw * spec.nbytes, spec).normal_()
        torch.cuda.synchronize()
        yield stage
    finally:
        for side in stage.arms:
            side.close()
        arena.close()

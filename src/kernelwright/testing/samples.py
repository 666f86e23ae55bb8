"""Small, valid records to test with: a task, an environment, an attempt of every outcome. None was measured."""

from kernelwright.records.attempt import Attempt, Cost, Proposal, ProposalRequest
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import (
    BuildFailed,
    Compiled,
    Crashed,
    Evaluation,
    Incorrect,
    Measured,
    Refused,
    StageSeconds,
    Suspect,
    TimedOut,
    Verified,
)
from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref
from kernelwright.records.measure import (
    Accuracy,
    BuildFacts,
    CaseError,
    Ratio,
    Roofline,
    Side,
    Timing,
    Verdict,
    Versus,
)
from kernelwright.records.profile import Ceilings, Counters, KernelProfile, Profile
from kernelwright.records.run import Device, Environment, RunCard
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import TensorSpec

SOURCE = '''import torch
from torch import nn


class Model(nn.Module):
    """The absolute value."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.abs(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(1024)]


def get_init_inputs() -> list[object]:
    return []
'''
"""A task file that computes `abs` of 1024 numbers."""

BUILD = BuildFacts(compiler="g++ 12.2", seconds=0.5)
ACCURACY = Accuracy(cases=(CaseError(distribution="as_given", error=1e-7, reference_error=1e-7, allowed=4e-7),))
SECONDS = (StageSeconds(stage="compile", seconds=0.5), StageSeconds(stage="measure", seconds=0.25))
"""Of every sample below that ran: 0.75 s of the device's time."""


def sample_task(target: Target | None = None, name: str = "abs") -> Task:
    """The task of `SOURCE`, as if admitted."""
    x = TensorSpec(name="x", shape=(1024,), dtype="float32")
    y = x.model_copy(update={"name": "abs_1"})
    node = OpNode(
        name="abs_1",
        op="aten.abs.default",
        arguments=(Argument(name="self", value=Ref(ref="x")),),
        result=(y,),
        bytes=8192,
        flops=1024,
    )
    return Task(
        source=TaskSource(name=name, format="kernelbench", source=SOURCE),
        target=target or Target(kind="cpu", arch="native", present=True),
        workload=Workload(inputs=(x,), parameters=(), outputs=(y,)),
        graph=OpGraph(inputs=("x",), parameters=(), nodes=(node,), outputs=("abs_1",)),
    )


def sample_environment() -> Environment:
    """A machine with two cores."""
    device = Device(kind="cpu", name="Scripted CPU", cores=2, memory_gbps=20.0, cache_bytes=32 << 20)
    return Environment(device=device, versions={"python": "3.11"}, isolation=("network", "file_system"))


def sample_card(task: Task | None = None) -> RunCard:
    """The card of a run on that machine."""
    return RunCard(
        id="sample",
        created="2025-01-01T00:00:00+00:00",
        task=task or sample_task(),
        environment=sample_environment(),
        config={},
    )


def sample_ratio(median: float) -> Ratio:
    """A ratio with an interval of four percent."""
    return Ratio(median=median, low=median * 0.98, high=median * 1.02, confidence=0.99)


def sample_arms(low: float, median: float, high: float) -> tuple[Side, ...]:
    """Ten blocks against eager and compile, from which these speedups over eager follow, and half of them over compile."""
    ratios = (low, *(median,) * 8, high)
    return (
        Side(name="candidate", samples_us=tuple(100.0 / ratio for ratio in ratios)),
        Side(name="eager", samples_us=(100.0,) * 10),
        Side(name="compile", samples_us=(50.0,) * 10),
    )


def sample_measured(speedup: float = 2.0, *, final: bool = False) -> Measured:
    """Right, and `speedup` times as fast as an eager call of 100 microseconds."""
    latency = 100.0 / speedup
    arms = sample_arms(speedup * 0.98, speedup, speedup * 1.02)
    versus = (
        Versus(baseline="eager", speedup=sample_ratio(speedup), verdict=_verdict(speedup)),
        Versus(baseline="compile", speedup=sample_ratio(speedup / 2), verdict=_verdict(speedup / 2)),
    )
    timing = Timing(latency_us=latency, arms=arms, versus=versus, calls_per_sample=1, clock="outside", final=final)
    roofline = Roofline(bytes=8192, flops=1024, achieved_gbps=8.192 / latency, ceiling_gbps=20.0, floor_us=0.4)
    return Measured(seconds=SECONDS, build=BUILD, accuracy=ACCURACY, timing=timing, roofline=roofline)


def _verdict(speedup: float) -> Verdict:
    return "faster" if speedup > 1.03 else "slower" if speedup < 0.97 else "inconclusive"


def sample_evaluation(outcome: str, speedup: float = 2.0) -> Evaluation:
    """An evaluation of the named outcome; `speedup` matters to `measured` only."""
    samples: dict[str, Evaluation] = {
        "refused": Refused(reason="the source has no function named `kernel`"),
        "build_failed": BuildFailed(log="kernel.cpp:3:1: error: expected ';' before '}' token", seconds=SECONDS[:1]),
        "crashed": Crashed(stage="verify", reason="killed by SIGSEGV", build=BUILD, seconds=SECONDS),
        "timed_out": TimedOut(stage="verify", limit_s=30.0, build=BUILD, seconds=SECONDS),
        "incorrect": Incorrect(
            because="value",
            case="as_given",
            evidence="output 0 at [3]: expected 1.5, got -1.5",
            build=BUILD,
            seconds=SECONDS,
        ),
        "suspect": Suspect(
            because="below_floor", evidence="0.1 us is below the floor of 0.4 us", build=BUILD, seconds=SECONDS
        ),
        "compiled": Compiled(build=BUILD, seconds=SECONDS),
        "verified": Verified(
            build=BUILD, accuracy=ACCURACY, how="Triton's interpreter, reduced shapes", seconds=SECONDS
        ),
        "measured": sample_measured(speedup),
    }
    return samples[outcome]


def sample_profile() -> Profile:
    """Two kernels of a call that takes 50 microseconds: the candidate's own, near the ceiling, and a library's."""
    counters = Counters(dram_share=0.85, dram_gbps=4000.0, dram_read_bytes=9e7, dram_write_bytes=9e7, sm_share=0.2)
    own = KernelProfile(
        name="scale", own=True, launches=1, duration_us=45.0, share=0.9, grid=(1056, 1, 1), block=(256, 1, 1),
        registers=32, shared_bytes=0, occupancy_theoretical=1.0, occupancy_achieved=0.9, waves=1.0, counters=counters,
    )  # fmt: skip
    library = KernelProfile(name="at::native::fill", own=False, launches=1, duration_us=5.0, share=0.1)
    ceilings = Ceilings(
        read_gbps=4400.0, copy_gbps=4300.0, fp32_tflops=51.0, tf32_tflops=400.0, bf16_tflops=790.0, launch_us=1.5
    )
    return Profile(
        task="sample", candidate="sample", tier="counters", device="Scripted GPU", kernels=(own, library),
        device_us=50.0, bytes=180_000_000, flops=22_500_000, ceilings=ceilings,
    )  # fmt: skip


def sample_attempt(number: int = 0, outcome: str = "measured", speedup: float = 2.0) -> Attempt:
    """An attempt whose evaluation is of the named outcome."""
    evaluation = sample_evaluation(outcome, speedup)
    return Attempt(
        number=number,
        proposal_request=ProposalRequest(number=number, intent="seed"),
        proposal=Proposal(candidate=Candidate(language="cpp", source=f"// {number}\n", entry="kernel")),
        evaluation=evaluation,
        cost=Cost(device_s=evaluation.total_seconds),
    )

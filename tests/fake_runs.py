"""Runs that never happened, for the tests of the report: every outcome, hostile text, any length."""

import math
from random import Random

from kernelwright.records.attempt import Attempt, Cost, Proposal, ProposalRequest
from kernelwright.records.candidate import Candidate, Define
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
from kernelwright.records.graph import OpGraph
from kernelwright.records.measure import (
    Accuracy,
    BuildFacts,
    CaseError,
    KernelFacts,
    Load,
    Ratio,
    Roofline,
    Side,
    Timing,
    Versus,
)
from kernelwright.records.run import Device, Environment, Outcome, RunCard
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import TensorSpec

HOSTILE = '</pre></script><img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>'
NASTY = HOSTILE + " \x1b[31m red \u202e reversed \ud800 \x00 {{ 7*7 }} [bold]markup[/]"

REFERENCE = '''"""Mean squared error."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, predictions, targets):
        return torch.mean((predictions - targets) ** 2)


def get_inputs():
    return [torch.rand(4096, 4096), torch.rand(4096, 4096)]


def get_init_inputs():
    return []
'''

KERNEL = """// Mean of squared differences: each thread sums one slice, the slices are summed in order.
#include <cstddef>

#ifndef UNROLL
#define UNROLL 4
#endif

static constexpr std::size_t kCount = 16777216;

extern "C" void mse(const float* predictions, const float* targets, float* out) {
    double total = 0.0;
#pragma omp parallel for simd reduction(+ : total) schedule(static)
    for (std::size_t i = 0; i < kCount; ++i) {
        const float difference = predictions[i] - targets[i];
        total += difference * difference;
    }
    *out = static_cast<float>(total / kCount);
}
"""

STAGES = (
    StageSeconds(stage="compile", seconds=0.61),
    StageSeconds(stage="verify", seconds=1.32),
    StageSeconds(stage="measure", seconds=2.4),
)


def task(present: bool = True, name: str = "mse_loss") -> Task:
    """A task; `present=False` is for an architecture that is not here."""
    target = Target(kind="cpu", arch="native", present=True)
    spec = TensorSpec(name="predictions", shape=(4096, 4096), dtype="float32")
    return Task(
        source=TaskSource(name=name, format="kernelbench", source=REFERENCE),
        target=target if present else Target(kind="cuda", arch="sm_90", present=False),
        workload=Workload(
            inputs=(spec, spec.model_copy(update={"name": "targets"})),
            parameters=(),
            outputs=(TensorSpec(name="mean", shape=(), dtype="float32"),),
        ),
        graph=OpGraph(inputs=("predictions", "targets"), parameters=(), nodes=(), outputs=("mean",)),
    )


def card(present: bool = True, name: str = "mse_loss") -> RunCard:
    """A run's card."""
    return RunCard(
        id="mse_loss-3f9a",
        created="2026-01-01T12:00:00Z",
        task=task(present, name),
        environment=Environment(
            device=Device(kind="cpu", name="Example CPU, 2 threads", cores=2, memory_gbps=21.4, cache_bytes=33_554_432),
            versions={"python": "3.11.2", "torch": "2.13.0", "gcc": "12.2.0", "kernelwright": "0.1.0"},
            isolation=("own network and IPC namespaces", "Landlock: no writes outside its directory", "rlimits"),
            denied=("PID namespace: a candidate could see other processes",),
        ),
        config={"strategy": {"name": "best_of_n", "n": 8}, "seed": 0, "policy": {"confidence": 0.99}},
    )


def ratio(median: float, half: float = 0.03) -> Ratio:
    """A ratio with an interval of `half` on either side, relative."""
    return Ratio(median=median, low=median * (1 - half), high=median * (1 + half), confidence=0.99)


def accuracy() -> Accuracy:
    """Cases of all kinds: ordinary, exactly right, nothing allowed."""
    names = ("as given, seed 1", "as given, seed 2", "×3", "×0.01", "negated", "one huge element", "odd shapes")
    drawn = Random(7)
    cases = [
        CaseError(
            distribution=n,
            error=drawn.uniform(0.1, 3) * 1e-8,
            reference_error=drawn.uniform(0.5, 4) * 1e-8,
            allowed=1.9e-7,
        )
        for n in names
    ]
    exact = CaseError(distribution="integer-valued, bitwise", error=0.0, reference_error=0.0, allowed=0.0)
    return Accuracy(cases=(*cases, exact), dropped=("×1e30: the fp64 reference is not finite",))


def build() -> BuildFacts:
    """Facts of a C++ build."""
    return BuildFacts(compiler="g++ 12.2.0 -O3 -march=native -fopenmp", seconds=0.61, binary_bytes=16_432)


def measured(eager: float = 3.1, compiled: float = 1.01, final: bool = False, **more: object) -> Measured:
    """A measurement with the given speedups."""
    drawn = Random(round(eager * 1000))
    blocks = 60 if final else 12
    latency = 22_600 / eager
    medians = (("candidate", latency), ("eager", latency * eager), ("compile", latency * compiled))
    arms = tuple(
        Side(name=n, samples_us=tuple(m * drawn.lognormvariate(0, 0.03) for _ in range(blocks))) for n, m in medians
    )
    return Measured(
        seconds=STAGES,
        build=build(),
        accuracy=accuracy(),
        timing=Timing(
            latency_us=latency,
            arms=arms,
            versus=(
                Versus(baseline="eager", speedup=ratio(eager), verdict="faster" if eager > 1.03 else "slower"),
                Versus(
                    baseline="compile",
                    speedup=ratio(compiled),
                    verdict="inconclusive" if abs(compiled - 1) < 0.03 else "slower",
                ),
            ),
            calls_per_sample=3,
            clock="outside",
            final=final,
        ),
        roofline=Roofline(
            bytes=134_217_732, flops=50_331_648, achieved_gbps=134_217.732 / latency, ceiling_gbps=21.4, floor_us=4180
        ),
        **more,
    )


def beside(found: Measured, load: Load) -> Measured:
    """The same measurement on a machine with other work."""
    return found.model_copy(update={"timing": found.timing.model_copy(update={"load": load})})


def blurred(found: Measured, low: float = 0.36, high: float = 11.1) -> Measured:
    """The same measurement with an interval that says more of the machine than of the kernel."""
    wide = Ratio(median=4.0, low=low, high=high, confidence=0.99)
    versus = tuple(v.model_copy(update={"speedup": wide}) for v in found.timing.versus)
    return found.model_copy(update={"timing": found.timing.model_copy(update={"versus": versus})})


def triton_facts() -> BuildFacts:
    """Facts of a cross-compiled Triton kernel."""
    kernels = (
        KernelFacts(name="mse_partial", registers=38, spill_bytes=0, shared_bytes=128, warps=8, occupancy=0.75),
        KernelFacts(name="mse_finish", registers=20, spill_bytes=0, shared_bytes=64),
    )
    return BuildFacts(compiler="triton 3.7.1 for sm_90", seconds=3.2, binary_bytes=21_920, kernels=kernels)


def every_outcome(text: str = "assertion failed") -> list[Evaluation]:
    """One evaluation of each kind, with `text` wherever foreign text may stand."""
    wrong = Accuracy(cases=(CaseError(distribution=text, error=math.inf, reference_error=1e-8, allowed=1e-7),))
    return [
        Refused(reason=text),
        BuildFailed(seconds=STAGES[:1], log=f"kernel.cpp:3:1: error: {text}"),
        Crashed(seconds=STAGES[:2], stage="verify", reason="killed by SIGSEGV", log=text),
        TimedOut(seconds=STAGES[:2], stage="verify", limit_s=30.0),
        Incorrect(seconds=STAGES[:2], because="value", case=text, evidence=text, accuracy=wrong),
        Suspect(seconds=STAGES, because="below_floor", evidence=text),
        Compiled(build=triton_facts()),
        Verified(build=triton_facts(), accuracy=accuracy(), how="by Triton's interpreter on reduced shapes"),
        measured(),
    ]


def attempt(number: int, evaluation: Evaluation, parents: tuple[int, ...] = (), **more: object) -> Attempt:
    """One attempt; `more` may hold source, note, hint, language, known."""
    source = str(more.get("source", KERNEL.replace("UNROLL 4", f"UNROLL {2 + number}")))
    candidate = Candidate(
        language=more.get("language", "cpp"), source=source, entry="mse", defines=(Define(name="UNROLL", value=4),)
    )
    note = str(more.get("note", f"unroll the inner loop {2 + number} times"))
    return Attempt(
        number=number,
        proposal_request=ProposalRequest(
            number=number, intent="improve" if parents else "seed", parents=parents, hint=str(more.get("hint", ""))
        ),
        proposal=Proposal(candidate=candidate, note=note, tokens=1200, usd=0.004),
        evaluation=evaluation,
        known=more.get("known"),
        tuned=3 if number % 4 == 0 else 0,
        cost=Cost(device_s=2.4, tokens=1200, usd=0.004),
    )


def one_of_each(text: str = "assertion failed") -> list[Attempt]:
    """A run in which every outcome occurs once, each attempt a child of the one before."""
    return [
        attempt(n, e, (n - 1,) if n else (), note=f"try {n}: {text}", hint=text)
        for n, e in enumerate(every_outcome(text))
    ]


def long_run(count: int = 60) -> list[Attempt]:
    """A search that gets better, with failures on the way and one candidate met again."""
    drawn = Random(3)
    failures = every_outcome()[:6]
    found: list[Attempt] = []
    level = 0.7
    for n in range(count):
        level += max(0.0, drawn.gauss(0.02, 0.05))
        good = drawn.random() < 0.72 or n in (0, count - 1)
        value: Evaluation = measured(level * drawn.uniform(0.75, 1.05), 0.9) if good else drawn.choice(failures)
        parents = (drawn.randrange(n),) if n else ()
        found.append(attempt(n, value, parents, known=2 if n == 17 else None))
    return found


def without(outcome: Outcome, *missing: str) -> Outcome:
    """The end of a run whose final was not compared with some baseline."""
    assert outcome.final is not None
    assert isinstance(outcome.final.evaluation, Measured)
    timing = outcome.final.evaluation.timing.model_copy(update={"missing": missing})
    evaluation = outcome.final.evaluation.model_copy(update={"timing": timing})
    return outcome.model_copy(update={"final": outcome.final.model_copy(update={"evaluation": evaluation})})


def ended(best: Attempt, eager: float = 3.1, compiled: float = 1.01) -> Outcome:
    """The end of a run whose best was measured anew."""
    final = best.model_copy(update={"evaluation": measured(eager, compiled, final=True)})
    return Outcome(best=best.number, final=final, stopped="proposals spent: 60 of 60")

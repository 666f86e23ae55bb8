"""Power and honesty of the clock: `python benchmarks/clock.py cpu|cuda OUT.json [LABEL]`; on a GPU see `clock_cuda.py`.

For kernels of about 0.1, 4 and 30 ms on cpu: A against A, a hundred judgements, how many are called faster or slower; and
A against a kernel that does 5 % more work, twenty judgements, how many are called right. The same contest, statistics and
rule as in the referee, with a fixed number of blocks; every block's sample is written down.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from provenance import provenance

from kernelwright.evaluate.backends.cpu.process import CppCandidateProcess, Loading
from kernelwright.evaluate.backends.host import Host
from kernelwright.evaluate.languages.artifact import Library
from kernelwright.evaluate.languages.builder import Order
from kernelwright.evaluate.languages.cpp import build as cpp
from kernelwright.evaluate.pipeline.service import EvaluationService
from kernelwright.evaluate.sandbox.arena import Arena
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.timing import statistics
from kernelwright.evaluate.timing.clock import MOST_CALLS, Arm, PairedBenchmark
from kernelwright.evaluate.timing.input_synthesis import FreshInputs, Stock
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.records.tensor import TensorSpec

SAME, SLOWER = 100, 20
DRAWS = 2
SPARE_BYTES = 256 << 20
"""Of fresh inputs, as a session on the CPU has."""

CPP = """\\
#include <cstddef>
// Adds COUNT elements, each after WORK steps of a recurrence that keeps it finite.
extern "C" void work(const float* x, float* out) {
    double total = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (std::ptrdiff_t block = 0; block < COUNT / 1024; ++block) {
        float part = 0.0f;
#pragma omp simd reduction(+ : part)
        for (int i = 0; i < 1024; ++i) {
            float v = x[block * 1024 + i];
            for (int step = 0; step < WORK; ++step) v = v * 0.5f + 0.25f;
            part += v;
        }
        total += part;
    }
    *out = (float)total;
}
"""


@dataclass(frozen=True)
class Trial:
    """One kernel size: elements read by A, recurrence steps, blocks a judgement."""

    label: str
    count: int
    work: int
    blocks: int


CPU_TRIALS = (
    Trial("0.1 ms", 5 << 18, 1, 60),
    Trial("4 ms", 48 << 20, 1, 60),
    Trial("30 ms", 48 << 20, 40, 8),
)


def main(out: Path, label: str | None) -> None:
    """Hold the contests, print a table, write everything."""
    service, target = EvaluationService(note=lambda text: None), Target(kind="cpu", arch="native", present=True)
    rows = []
    try:
        host, origin = service.backend(target).host, provenance(service.environment(target))
        for trial in (t for t in CPU_TRIALS if label in (None, t.label)):
            rows.append(_row(host, trial))
            sys.stderr.write(json.dumps({k: v for k, v in rows[-1].items() if k != "judgements"}) + "\n")
            out.write_text(json.dumps({**origin, "rows": rows}) + "\n")
    finally:
        service.close()


def _row(host: Host, trial: Trial) -> dict[str, object]:
    policy = Policy()
    judgements = []
    for slower, times in ((False, SAME), (True, SLOWER)):
        with _pair(host, trial, slower) as benchmark:
            for _ in range(times):
                samples = benchmark.hold(trial.blocks, 60.0).us
                found = statistics.versus(
                    "eager", samples["eager"], samples["candidate"], policy.confidence, policy.minimum_effect
                )
                verdict = {"five_percent_slower": slower, "verdict": found.verdict, "ratio": found.speedup.model_dump()}
                raw = {"a_us": _rounded(samples["eager"]), "b_us": _rounded(samples["candidate"])}
                judgements.append({**verdict, **raw})
    same = [j["verdict"] for j in judgements if not j["five_percent_slower"]]
    slow = [j["verdict"] for j in judgements if j["five_percent_slower"]]
    medians = sorted(us for j in judgements for us in j["a_us"])  # type: ignore[attr-defined]
    return {
        "kernel": trial.label,
        "median_us": medians[len(medians) // 2],
        "blocks": trial.blocks,
        "a_against_a": {"judgements": len(same), "called_different": sum(v != "inconclusive" for v in same)},
        "five_percent_slower": {"judgements": len(slow), "called_slower": slow.count("slower")},
        "judgements": judgements,
    }


def _rounded(samples: list[float]) -> list[float]:
    return [round(s, 3) for s in samples]


@contextmanager
def _pair(host: Host, trial: Trial, slower: bool) -> Iterator[PairedBenchmark]:
    counts = (trial.count, int(trial.count * 1.05) >> 12 << 12 if slower else trial.count)
    spec = TensorSpec(name="x", shape=(max(counts) >> 10, 1024), dtype="float32")
    with _open_cpu(host, spec, counts, trial.work) as (arms, view):
        places = tuple((DRAWS + n) * spec.nbytes for n in range(_spare(spec)))
        drawn = view(0, 0, DRAWS)
        fresh = FreshInputs([Stock(spec, drawn, 0, places)], view)
        arms = [Arm("eager", arms[0]), Arm("candidate", arms[1])]
        yield PairedBenchmark(arms, fresh.windows, lambda arm, ran: None, lambda: None, most_calls=len(places))


def _spare(spec: TensorSpec) -> int:
    return max(1, min(MOST_CALLS, SPARE_BYTES // spec.nbytes))


@contextmanager
def _open_cpu(host: Host, spec: TensorSpec, counts: tuple[int, int], work: int):  # type: ignore[no-untyped-def]  # noqa: ANN202
    arena = Arena([(DRAWS + _spare(spec)) * spec.nbytes])
    torch.frombuffer(arena.memory(0), dtype=torch.float32, count=DRAWS * spec.numel).normal_()
    arms = []
    for count in counts:
        defines = (Define(name="COUNT", value=count), Define(name="WORK", value=work))
        candidate = Candidate(language="cpp", source=CPP, entry="work", defines=defines)
        library = cpp.build(Order(host.warm, candidate, 60.0))
        assert isinstance(library, Library), library
        output = TensorSpec(name="out", shape=(), dtype="float32")
        side = CppCandidateProcess(host.warm.spawn("cpp", Jail(directory="/")), 30.0, [output])
        how = Loading("work", host.device.cores)
        side.load((arena.layout(), [arena.descriptor]), library.descriptor, how)
        library.close()
        arms.append(side)

    def view(index: int, offset: int, draws: int = 1) -> torch.Tensor:
        shape = spec.shape if draws == 1 else (draws, *spec.shape)
        count = draws * spec.numel
        return torch.frombuffer(arena.memory(0), dtype=torch.float32, count=count, offset=offset).view(shape)

    yield arms, view
    for side in arms:
        side.close()
    arena.close()


if __name__ == "__main__":
    wanted = sys.argv[3] if len(sys.argv) > 3 else None
    if sys.argv[1] == "cuda":
        import clock_cuda  # (its imports need a GPU's packages)

        clock_cuda.main(Path(sys.argv[2]), wanted)
    else:
        main(Path(sys.argv[2]), wanted)

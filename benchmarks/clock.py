"""Power and honesty of the clock: `python benchmarks/clock.py --target cpu|cuda --out FILE [--only LABEL]`.

For kernels of about 0.1, 4 and 30 ms on a CPU: A against A, a hundred judgements, how many are called faster or slower; and
A against a kernel that does 5 % more work, twenty judgements, how many are called right. The same contest, statistics and
rule as in the referee, with a fixed number of blocks. Every block's sample goes to the raw file. On a GPU see `clock_cuda.py`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from campaign import Campaign, Row, command
from provenance import provenance

from kernelwright.evaluate.backends.cpu.process import LibraryProcess, Loading
from kernelwright.evaluate.backends.host import Host
from kernelwright.evaluate.languages.builder import Library, Order
from kernelwright.evaluate.languages.cpp import build as cpp
from kernelwright.evaluate.pipeline.service import EvaluationService
from kernelwright.evaluate.sandbox.arena import Arena
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.timing import statistics
from kernelwright.evaluate.timing.clock import MOST_CALLS, Arm, PairedBenchmark
from kernelwright.evaluate.timing.input_synthesis import FreshInputs, Stock
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.measure import Versus
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.records.tensor import TensorSpec

JUDGEMENTS = {"same": 100, "slower": 20}
WANTED = {"same": "inconclusive", "slower": "slower", "faster": "faster"}
"""The verdict that is right, by what A is compared with."""
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
class Size:
    """One kernel size: elements read by A, recurrence steps, blocks a judgement."""

    label: str
    count: int
    work: int
    blocks: int


SIZES = (
    Size("0.1 ms", 5 << 18, 1, 60),
    Size("4 ms", 48 << 20, 1, 60),
    Size("30 ms", 48 << 20, 40, 8),
)


async def measure(campaign: Campaign) -> None:
    """Hold the contests on a CPU."""
    service, target = EvaluationService(note=lambda text: None), Target(kind="cpu", arch="native", present=True)
    try:
        campaign.begin(provenance(service.environment(target)))
        sizes = {size.label: size for size in SIZES if campaign.named(size.label)}
        for label, part in campaign.left([(label, part) for label in sizes for part in JUDGEMENTS]):
            found = _judgements(service.backend(target).host, sizes[label], part)
            campaign.put(summed(label, part, found))
    finally:
        service.close()


def _judgements(host: Host, size: Size, part: str) -> list[Row]:
    policy = Policy()
    with _pair(host, size, part == "slower") as benchmark:
        found = []
        for _ in range(JUDGEMENTS[part]):
            us = benchmark.hold(size.blocks, 60.0).us
            rule = policy.confidence, policy.minimum_effect
            found.append(judgement(statistics.versus("eager", us["eager"], us["candidate"], *rule), us))
    return found


def judgement(versus: Versus, us: dict[str, list[float]], **more: Any) -> Row:  # noqa: ANN401
    """One contest with its samples, microseconds."""
    samples = {name: [round(t, 3) for t in us[arm]] for name, arm in (("a_us", "eager"), ("b_us", "candidate"))}
    return {"verdict": versus.verdict, "ratio": versus.speedup.model_dump(), **more, **samples}


def summed(kernel: str, part: str, found: Sequence[Row]) -> Row:
    """The row of one kernel against the same, or against a twin."""
    return {
        "kernel": kernel,
        "part": part,
        "wanted": WANTED[part],
        "as_wanted": sum(each["verdict"] == WANTED[part] for each in found),
        "of": len(found),
        "median_us": median(t for each in found for t in each["a_us"]),
        "median_blocks": median(len(each["a_us"]) for each in found),
        "judgements": list(found),
    }


@contextmanager
def _pair(host: Host, size: Size, slower: bool) -> Iterator[PairedBenchmark]:
    counts = (size.count, int(size.count * 1.05) >> 12 << 12 if slower else size.count)
    spec = TensorSpec(name="x", shape=(max(counts) >> 10, 1024), dtype="float32")
    with _open_cpu(host, spec, counts, size.work) as (arms, view):
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
        side = LibraryProcess(host.warm.spawn("cpp", Jail(directory="/")), 30.0, [output])
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


def table(rows: Sequence[Row]) -> str:
    """A line for each part."""
    return "\n".join(f"{r['kernel']:8} {r['part']:8} {r['as_wanted']} of {r['of']} {r['wanted']}" for r in rows)


def main() -> None:
    """One pass on the CPU or on a GPU."""
    asked = command(__doc__, seconds=420.0).parse_args()
    campaign = Campaign(asked, key=("kernel", "part"), raw=("judgements",))
    if asked.target == "cpu":
        campaign.run(lambda: measure(campaign))
    else:
        import clock_cuda  # noqa: PLC0415 (its imports need a GPU's packages)

        campaign.run(lambda: clock_cuda.measure(campaign))
    campaign.show(table)


if __name__ == "__main__":
    main()

"""A deal: so many candidates of each kind, over the tasks by their weights, in an order that a seed fixes.

Numbers of every kind are exact, half of the candidates are Triton and half CUDA C++, each text is a new one, and all of
it is the same for the same seed.
"""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mixture.cuda_text import cuda_file
from mixture.tasks import PAIRS, Sized
from mixture.text import filled
from mixture.triton_text import triton_module
from mixture.ways import OUTCOMES, WAYS, Kind, Style, Way

from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Incorrect
from kernelwright.tasks.kernel_file import parse_kernel

SHARES: dict[Kind, float] = {"right": 0.60, "wrong": 0.15, "unbuilt": 0.10, "crashing": 0.10, "hanging": 0.05}
"""The mix."""
BLOCKS, LOOPS, WARPS = (256, 512, 1024, 2048), (1, 2, 4), (2, 4, 8)
THREADS = (128, 256, 512)


@dataclass(frozen=True)
class Dealt:
    """One candidate, and what must become of it."""

    number: int
    kind: Kind
    style: Style
    way: Way
    task: Sized
    candidate: Candidate

    @property
    def expected(self) -> tuple[str, ...]:
        """Outcomes of which any is right."""
        return self.way.outcomes or OUTCOMES[self.kind]

    def as_expected(self, found: Evaluation) -> bool:
        """Whether it was judged as what it is."""
        if found.outcome not in self.expected:
            return False
        return not isinstance(found, Incorrect) or not self.way.because or found.because in self.way.because


def shared_out(count: int, weights: Mapping[Kind, float]) -> dict[Kind, int]:
    """So many of each kind, by largest remainders."""
    exact = {kind: count * weight / sum(weights.values()) for kind, weight in weights.items()}
    whole = {kind: int(value + 1e-9) for kind, value in exact.items()}
    by_remainder = sorted(exact, key=lambda kind: whole[kind] - exact[kind])
    for kind in by_remainder[: count - sum(whole.values())]:
        whole[kind] += 1
    return whole


def deal(counts: Mapping[Kind, int], tasks: Sequence[Sized], seed: int) -> list[Dealt]:
    """Candidates in the order in which they are judged; their number is their place."""
    rng = random.Random(seed)
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    # A kind begins where the one before it ended, so that an odd number here makes up for an odd number there.
    styles: Iterator[Style] = itertools.cycle(("triton", "cuda"))
    styled = [(kind, next(styles)) for kind in kinds]
    met = [task for task, often in zip(tasks, _often(len(kinds), tasks), strict=True) for _ in range(often)]
    rng.shuffle(met)
    pairs = list(zip(_with_ways(styled, met), met, strict=True))
    rng.shuffle(pairs)
    return [
        Dealt(number, kind, style, way, task, written(style, way, task, f"{task.family}_{seed}_{number}", rng))
        for number, ((kind, style, way), task) in enumerate(pairs)
    ]


def _often(count: int, tasks: Sequence[Sized]) -> list[int]:
    """How often each task is met."""
    bounds = list(itertools.accumulate((t.weight for t in tasks), initial=0))
    places = [round(count * bound / bounds[-1]) for bound in bounds]
    return [after - before for before, after in itertools.pairwise(places)]


def _with_ways(styled: Sequence[tuple[Kind, Style]], tasks: Sequence[Sized]) -> Iterator[tuple[Kind, Style, Way]]:
    """Every kind's ways in turns; one that does not fit a family gives its turn to the next."""
    moves = {(kind, style): itertools.cycle(WAYS[kind][style]) for kind, style in styled}
    for (kind, style), task in zip(styled, tasks, strict=True):
        yield kind, style, next(way for way in moves[kind, style] if task.family not in way.not_for)


def written(style: Style, way: Way, task: Sized, name: str, rng: random.Random) -> Candidate:
    """A candidate whose kernel has a name of its own, with sizes of blocks that are drawn."""
    if way.whole:
        pointers = ["const float* x"] + ["const float* y"] * (task.family in PAIRS)
        pointers += ["const float* weight"] * (task.family == "rms_norm")
        return parse_kernel(filled(way.whole, {"name": name, "pointers": ", ".join(pointers)}), ".cu")
    if style == "cuda":
        options = {"block": rng.choice(THREADS), "loops": rng.choice(LOOPS), "quick": rng.randrange(2)}
        return parse_kernel(cuda_file(task.family, name, options, way.slots), ".cu")
    tuned = int(way.name == "honest" and rng.random() < 0.1)
    options = {"block": rng.choice(BLOCKS), "loops": rng.choice(LOOPS), "warps": rng.choice(WARPS), "tuned": tuned}
    return parse_kernel(triton_module(task.family, name, options, way.slots), ".py")

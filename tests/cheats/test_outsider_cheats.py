"""Cheats by somebody who has read the public pages (`outsider`), and the code too (`insider`); each .cpp says what it tries.

A kernel that ends `measured` with `through: yes` is a gap that is known, not a defence: once closed, its line changes.
Any other that ends `measured` gains nothing over its honest twin. Where `expect` names two ends, the machine decides: work
that is done for all calls at once is noticed by its cost in all, which a slow memory makes larger.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from cheat_files import fields
from file_tasks import OUTSIDE

from kernelwright.engine.summary import CheckSummary, check_of
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task
from kernelwright.tasks.kernel_file import read_kernel
from lanes import sampled
from warm_referee import WarmReferee

FOLDER = Path(__file__).parent
CPU = Target(kind="cpu", arch="native", present=True)
QUICK = ("gelu", "param", "recurrence", "bf16_mean", "level", "row_gains")
"""Tasks whose kernels are judged in every run. Among them are cheats of each end, by what they do to the clock, the process,
the parameters, the samples and the precision; the inputs of the others are large, and their judgement takes long."""
LONG = (
    "insider/level_by_address", "insider/level_honest", "insider/row_gains_honest", "outsider/clone_process",
    "outsider/gap_small", "outsider/gate32", "outsider/gelu_honest", "outsider/late_thread", "outsider/lazy_pages",
    "outsider/param_honest", "outsider/stop_oneself", "outsider/timer",
)  # fmt: skip
"""Kernels of these tasks whose judgement takes several times as long as that of a sibling: `level_by_count`,
`row_gains_sampled`, `param_memo`."""
NOISE, AGAIN = 1.25, 3
"""How many times its honest twin's upper bound a cheat's lower bound may be, and how often that is found before it is
believed: they are timed in two contests, between which pages and caches differ."""


def expected(name: str) -> str:
    return fields(FOLDER / f"{name}.cpp")["expect"]


def names(honest: bool) -> list[str]:
    kernels = sorted(FOLDER.glob("*sider/*.cpp"))
    return [f"{path.parent.name}/{path.stem}" for path in kernels if (path == twin(path)) == honest]


def task_of(name: str) -> str:
    return fields(FOLDER / f"{name}.cpp")["task"]


def quick(name: str) -> bool:
    return task_of(name) in QUICK and name not in LONG


def quiet(name: str) -> bool:
    """A neighbour leaves a sample few calls, so that there is nothing to share among them and little to compare."""
    return task_of(name) in ("recurrence", "bf16_mean")


def twin(kernel: Path) -> Path:
    return kernel.parent / f"{fields(kernel)['task']}_honest.cpp"


class EvaluationService:
    """The warm referee for all kernels, as in a run: its worker keeps what was prepared for a task."""

    def __init__(self, warm: WarmReferee) -> None:
        self.loop = asyncio.new_event_loop()
        self.referee = warm.under(Policy(baselines=("eager",)))
        self.tasks: dict[str, Task] = {}
        self.known: dict[Path, CheckSummary] = {}

    def judged(self, kernel: Path) -> CheckSummary:
        """As in a search, without the baseline that must be compiled: no cheat is aimed at that."""
        if kernel not in self.known:
            self.known[kernel] = self.loop.run_until_complete(self._judged(kernel))
        return self.known[kernel]

    def gain(self, kernel: Path) -> float:
        """How many times faster it is than its honest twin, to be sure; 0.0 where it was refused. Asked again: found anew."""
        cheat, honest = (self.judged(one).speedup_eager for one in (kernel, twin(kernel)))
        for one in (kernel, twin(kernel)):
            self.known.pop(one)
        assert honest is not None
        return cheat.low / honest.high if cheat is not None else 0.0

    async def _judged(self, kernel: Path) -> CheckSummary:
        name = f"{kernel.parent.name}/{fields(kernel)['task']}"
        if name not in self.tasks:
            self.tasks[name] = await self.referee.admit(OUTSIDE[name].source(kernel.stem), CPU)
        task, candidate = self.tasks[name], read_kernel(kernel)
        found = await self.referee.evaluate(task, candidate)
        return check_of(task, await self.referee.environment(), candidate, found)

    def close(self) -> None:
        self.loop.close()


@pytest.fixture(scope="module")
def service(warm_referee: WarmReferee) -> Iterator[EvaluationService]:
    made = EvaluationService(warm_referee)
    yield made
    made.close()


@pytest.mark.parametrize(
    "name", sampled(sorted([*names(honest=False), *names(honest=True)], key=task_of), quick, quiet)
)
def test_kernel_ends_as_it_says(service: EvaluationService, name: str) -> None:
    kernel = FOLDER / f"{name}.cpp"
    ends, _, reason = expected(name).partition(" | ")
    verdict = service.judged(kernel)
    assert verdict.outcome in ends.split(" or "), verdict.reason
    assert verdict.outcome == "measured" or any(each in verdict.reason for each in reason.split(" or "))


@pytest.mark.matrix
@pytest.mark.parametrize("name", [n for n in names(honest=False) if "measured" in expected(n)])
def test_measured_cheat_gains_nothing(service: EvaluationService, name: str) -> None:
    kernel = FOLDER / f"{name}.cpp"
    assert any(service.gain(kernel) <= NOISE for _ in range(AGAIN))

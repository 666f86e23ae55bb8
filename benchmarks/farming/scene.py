"""Searches of two users on a farm: what the real pool gets through, and who waits how long."""

import asyncio
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from farming.clock import play
from farming.cluster import GREETING, Farm, Recorded
from kernelwright.errors import RefereeError
from kernelwright.execution.executor import Work
from kernelwright.execution.ray import RayExecutor
from kernelwright.execution.slots import WorkerSlots

IN_FLIGHT, SHARE = 2, 0.9
"""Proposals of a search; the part of searches that is the first user's."""
WARM_S = 120.0
"""Not counted: workers start, and meet their tasks."""


@dataclass
class Case:
    """What is simulated."""

    name: str
    gpus: int
    searches: int
    seconds: float
    driver_s: float = 0.0
    """Of one core, for each verdict."""
    lose_every_s: float = 0.0
    """A node, on average; 0: none."""
    back_s: float = 600.0
    """Until it is there again."""
    at_once: int = 0
    """Jobs that the first user throws in, instead of searches."""


@dataclass
class Scene:
    """One case at play, and what was seen of it after the warm-up."""

    case: Case
    farm: Farm
    waited: dict[str, list[float]] = field(default_factory=lambda: {"A": [], "B": []})
    """Seconds of each verdict from being asked for, by user."""
    asked: int = 0
    answered: int = 0
    failed: int = 0
    judging_s: float = 0.0
    admitting_s: float = 0.0

    async def run(self) -> None:
        """All of it."""
        self._core, self._random = asyncio.Lock(), random.Random(self.case.gpus)
        self._executor = RayExecutor(Work(["worker"], gpu=True, greeting=GREETING), cluster=self.farm)
        self._clock, self._until = asyncio.get_running_loop().time, WARM_S + self.case.seconds
        losing = asyncio.create_task(self.farm.lose(self.case.lose_every_s, self.case.back_s))
        everybody = [asyncio.create_task(self._burst()), *map(asyncio.create_task, self._searches())]
        await asyncio.sleep(self._until)
        self.judging_s, self.admitting_s = self.farm.judging_s, self.farm.admitting_s
        losing.cancel()
        await asyncio.gather(*everybody)
        await self._executor.close()

    def _searches(self) -> Any:  # noqa: ANN401
        first = 0 if self.case.at_once else round(SHARE * self.case.searches)
        for number in range(self.case.searches):
            user = "A" if number < first else "B"
            for _ in range(IN_FLIGHT):
                yield self._search(user, f"{user} {number}")

    async def _search(self, user: str, task: str) -> None:
        while self._clock() < self._until:
            await asyncio.sleep(self._random.choice(self.farm.recorded.proposals))
            if self._clock() < self._until:
                await self._judge(user, task)

    async def _burst(self) -> None:
        await asyncio.sleep(WARM_S)
        self.farm.judging_s = self.farm.admitting_s = 0.0
        await asyncio.gather(*(self._judge("A", f"a {n % self.case.gpus}") for n in range(self.case.at_once)))

    async def _judge(self, user: str, task: str) -> None:
        async with self._core:
            await asyncio.sleep(self.case.driver_s)
        begun = self._clock()
        self.asked += 1
        try:
            await self._executor.submit(task.encode(), affinity=task)
        except RefereeError:
            self.failed += 1
            return
        self.answered += 1
        if WARM_S < self._clock() < self._until:
            self.waited[user].append(self._clock() - begun)


def simulated(case: Case, recorded: Recorded, seed: int = 1) -> dict[str, Any]:
    """Play one case: its figures."""
    scene, spent = Scene(case, Farm(case.gpus, recorded, seed)), [0.0]
    dispatch = WorkerSlots.dispatch
    WorkerSlots.dispatch = _timed(dispatch, spent)  # type: ignore[method-assign]
    try:
        play(scene.run())
    finally:
        WorkerSlots.dispatch = dispatch  # type: ignore[method-assign]
    done = sum(map(len, scene.waited.values()))
    return {
        **asdict(case),
        "verdicts_an_hour": round(3600 * done / case.seconds),
        "utilisation": round(scene.judging_s / case.gpus / case.seconds, 3),
        "admitting": round(scene.admitting_s / case.gpus / case.seconds, 3),
        "users": {name: _of_user(waited, done) for name, waited in scene.waited.items() if waited},
        "nodes_lost": scene.farm.losses,
        "jobs_unanswered": scene.asked - scene.answered - scene.failed,
        "jobs_failed": scene.failed,
        "scheduling_ms": round(1000 * spent[0] / max(1, scene.answered), 4),
    }


def _of_user(waited: list[float], done: int) -> dict[str, float]:
    median, worst = statistics.median(waited), max(waited)
    return {"share": round(len(waited) / done, 3), "median_s": round(median, 2), "worst_s": round(worst, 2)}


def _timed(call: Callable[[Any], None], spent: list[float]) -> Callable[[Any], None]:
    """The same, with its seconds added up."""

    def timed(slots: Any) -> None:  # noqa: ANN401
        begun = time.perf_counter()
        call(slots)
        spent[0] += time.perf_counter() - begun

    return timed

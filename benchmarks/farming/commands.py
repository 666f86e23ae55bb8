"""Several commands of several users on one farm: who gets what, and who waits how long."""

import asyncio
import os
import statistics
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple
from unittest import mock

from farming.clock import play
from farming.cluster import GREETING, Farm, Recorded
from kernelwright.errors import RefereeError
from kernelwright.execution.executor import Work
from kernelwright.execution.ray import RayExecutor


class Command(NamedTuple):
    """What one command does: so many jobs at any time, of so many tasks in turn."""

    user: str
    jobs: int
    tasks: int
    begins_s: float = 0.0


@dataclass(frozen=True)
class Crowd:
    """What is simulated."""

    name: str
    gpus: int
    seconds: float
    commands: tuple[Command, ...]
    weights: str | None = ""
    """Of users; None: the commands share nothing, as it was."""
    counted_s: float = 300.0
    """Shares are of the devices' time after that."""


@dataclass
class Player:
    """One command at play."""

    command: Command
    until: float
    executor: RayExecutor
    waited: list[tuple[float, float]] = field(default_factory=list)
    """When a verdict came, and how long after it was asked for."""
    failed: int = 0

    async def run(self) -> None:
        """All of it."""
        await asyncio.sleep(self.command.begins_s)
        await asyncio.gather(*(self._ask(n) for n in range(self.command.jobs)))
        await self.executor.close()

    async def _ask(self, number: int) -> None:
        clock = asyncio.get_running_loop().time
        while clock() < self.until:
            task, begun = f"{self.command.user} {number % self.command.tasks}", clock()
            try:
                await asyncio.wait_for(self.executor.submit(task.encode(), affinity=task), self.until - begun)
            except RefereeError:
                self.failed += 1
                return
            except TimeoutError:
                return
            self.waited.append((clock(), clock() - begun))


def crowded(crowd: Crowd, recorded: Recorded, seed: int = 1) -> dict[str, Any]:
    """Play it: its figures."""
    farm, players = play(_together(crowd, recorded, seed))
    passed = crowd.seconds - crowd.counted_s
    done = sum(at > crowd.counted_s for player in players for at, _ in player.waited)
    return {
        **{name: value for name, value in asdict(crowd).items() if name != "commands"},
        "verdicts_an_hour": round(3600 * done / passed),
        "commands": [_of(player, farm.spent[player.command.user] / crowd.gpus / passed) for player in players],
    }


async def _together(crowd: Crowd, recorded: Recorded, seed: int) -> tuple[Farm, list[Player]]:
    farm = Farm(crowd.gpus, recorded, seed, crowd.weights)
    players = [Player(command, crowd.seconds, _executor(command, farm)) for command in crowd.commands]
    asyncio.get_running_loop().call_later(crowd.counted_s, farm.spent.clear)
    await asyncio.gather(*(player.run() for player in players))
    return farm, players


def _executor(command: Command, farm: Farm) -> RayExecutor:
    with mock.patch.dict(os.environ, LOGNAME=command.user):
        return RayExecutor(Work(["worker"], gpu=True, greeting=GREETING), cluster=farm)


def _of(player: Player, share: float) -> dict[str, Any]:
    waits = [waited for _, waited in player.waited]
    return {
        **player.command._asdict(),
        "share": round(share, 3),
        "first_s": round(min(at for at, _ in player.waited) - player.command.begins_s, 1) if waits else None,
        "median_s": round(statistics.median(waits), 1) if waits else None,
        "worst_s": round(max(waits), 1) if waits else None,
        "failed": player.failed,
    }

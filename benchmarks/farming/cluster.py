"""A stand-in for a Ray cluster: the pool of `execution/ray.py` runs as it is, and its workers sleep as long as others worked.

A worker compiles up to eight candidates side by side. One at a time has its device: it loads, is verified and measured there.
Who meets a task for the first time admits it first, on the device. Texts and verdicts are not looked at.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from kernelwright.execution.board import Board, Grant, Report
from kernelwright.execution.cluster import Cluster
from kernelwright.execution.executor import Work

GPUS = 8
"""Of a node."""
OPEN = 48
"""Tasks that a worker keeps, unless it is told otherwise."""
START_S = 15.0
"""Assumed: from an actor's order to its worker's answer."""
GREETING = b"who are you"


class Took(NamedTuple):
    """What one verdict took."""

    compile_s: float
    device_s: float


class Recorded(NamedTuple):
    """Durations to draw from."""

    verdicts: Sequence[Took]
    admissions: Sequence[float]
    proposals: Sequence[float]


class LostError(Exception):
    """A node is gone."""


class Remote:
    """Something of an actor that is called."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.remote = call

    def options(self, **_: Any) -> "Remote":  # noqa: ANN401
        """It is called in the same way, whatever is wished."""
        return self


class Worker:
    """One GPU's."""

    def __init__(self, farm: "Farm", node: str) -> None:
        self._farm, self.node, self._known = farm, node, dict[bytes, None]()
        self._at, self._device, self._dead = dict[asyncio.Task[bytes], None](), asyncio.Lock(), False
        self._has_gpu = False
        self.submit, self.close, self.give_up = Remote(self._stream), Remote(self._nothing), Remote(lambda _: None)

    def die(self) -> None:
        """Its jobs are lost."""
        self._dead = True
        for task in self._at:
            task.cancel()
        if self._has_gpu:
            self._has_gpu = False
            self._farm.free[self.node].release()

    async def _stream(self, _: int, job: bytes) -> AsyncIterator[Awaitable[tuple[str, bytes]]]:
        yield self._answer(job)

    async def _answer(self, job: bytes) -> tuple[str, bytes]:
        doing = asyncio.create_task(self._greet() if job == GREETING else self._judge(job))
        self._at[doing] = None
        doing.add_done_callback(self._at.pop)
        try:
            return "result", await doing
        except asyncio.CancelledError:
            if self._dead:
                raise LostError("the node was lost") from None
            raise

    async def _greet(self) -> bytes:
        await self._farm.free[self.node].acquire()
        self._has_gpu = True
        await asyncio.sleep(START_S)
        return b"alike"

    async def _judge(self, task: bytes) -> bytes:
        took = self._farm.random.choice(self._farm.recorded.verdicts)
        await asyncio.sleep(took.compile_s)
        async with self._device:
            met = task in self._known
            self._known.pop(task, None)
            self._known[task] = None
            if len(self._known) > OPEN:
                del self._known[next(iter(self._known))]
            if not met:
                await self._busy("admitting_s", self._farm.random.choice(self._farm.recorded.admissions), task)
            await self._busy("judging_s", took.device_s, task)
        return b"verdict"

    async def _busy(self, what: str, seconds: float, task: bytes) -> None:
        await asyncio.sleep(seconds)
        self._farm.spent[task.partition(b" ")[0].decode()] += seconds
        setattr(self._farm, what, getattr(self._farm, what) + seconds)

    async def _nothing(self, *_: object) -> None:
        return


class Farm(Cluster):
    """Nodes of eight GPUs; each is lost at a rate, and is there again after a while. Without a board nobody shares."""

    def __init__(self, gpus: int, recorded: Recorded, seed: int, weights: str | None = "") -> None:
        super().__init__("nowhere")
        self.recorded, self.random = recorded, random.Random(seed)
        self.nodes = {f"{n:08}": min(GPUS, gpus - n * GPUS) for n in range(-(-gpus // GPUS))}
        self.free = {node: asyncio.Semaphore(count) for node, count in self.nodes.items()}
        """GPUs that no worker has."""
        self.board = None if weights is None else Board(lambda: asyncio.get_running_loop().time(), weights)
        self._away, self._workers = set[str](), list[Worker]()
        self.judging_s = self.admitting_s = 0.0
        self.spent = Counter[str]()
        """Seconds of devices by who asked."""
        self.losses = 0
        self.ray = SimpleNamespace(
            exceptions=SimpleNamespace(RayError=LostError), remote=lambda _: self, kill=self._workers_end
        )

    def join(self) -> Any:  # noqa: ANN401
        """It is there."""
        return self.ray

    def room(self, gpu: bool) -> dict[str, int]:
        """See `Cluster.room`."""
        return {node: count for node, count in self.nodes.items() if node not in self._away}

    def report(self, report: Report) -> Grant | None:
        """See `Cluster.report`."""
        return Grant(**self.board.report(report._asdict())) if self.board else None

    def unreport(self, name: str) -> None:
        """See `Cluster.unreport`."""
        if self.board:
            self.board.leave(name)

    def needs(self, node: str, gpu: bool) -> dict[str, Any]:
        """See `Cluster.needs`."""
        return {"node": node}

    def options(self, node: str, **_: Any) -> Remote:  # noqa: ANN401
        """Where an actor is to be."""
        return Remote(lambda work: self._worker(work, node))

    def leave(self) -> None:
        """Nothing is left."""

    async def lose(self, every_s: float, back_s: float) -> None:
        """Lose a node, again and again, each for a while; at 0 none."""
        while every_s:
            await asyncio.sleep(self.random.expovariate(1 / every_s))
            node = self.random.choice(sorted(self.nodes.keys() - self._away))
            self._away.add(node)
            self.losses += 1
            asyncio.get_running_loop().call_later(back_s, self._away.discard, node)
            for worker in [each for each in self._workers if each.node == node]:
                self._workers_end(worker)

    def _worker(self, _: Work, node: str) -> Worker:
        self._workers.append(Worker(self, node))
        return self._workers[-1]

    def _workers_end(self, worker: Worker) -> None:
        worker.die()
        if worker in self._workers:
            self._workers.remove(worker)

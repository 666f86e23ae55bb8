"""Jobs on a Ray cluster: as many workers as it has room for, each in an actor of its own.

A job whose actor or node was lost runs again, elsewhere and alone, a bounded number of times. What a job does to its
own worker process is decided at its node, as on a single machine (`execution.local`). A candidate's crash is a result
here as everywhere.

A worker is ready once it has answered the greeting. Workers that answered it differently from most of the first ones
get no jobs. A node that fails repeatedly is left alone.
"""

import asyncio
import contextlib
import itertools
import os
from collections import Counter, deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, Generic, Literal, TypeVar, cast

from kernelwright.errors import KernelwrightError, RefereeError
from kernelwright.execution.cluster import Cluster
from kernelwright.execution.executor import IN_FLIGHT, Note, Work, unheard
from kernelwright.execution.local import LocalExecutor

Said = tuple[Literal["note", "failed"], str] | tuple[Literal["result"], bytes]
"""What comes back from a job, in order; the last one is no note."""


class Host:
    """Made into an actor by `execution.ray`."""

    def __init__(self, work: Work) -> None:
        # Ray sets it to its own idea of a share of the processors; a worker decides about its threads itself.
        os.environ.pop("OMP_NUM_THREADS", None)
        self._local = LocalExecutor(work)
        self._at: dict[int, asyncio.Task[bytes]] = {}

    async def submit(self, number: int, job: bytes) -> AsyncIterator[Said]:
        """Do a job; yields notes, then its result or why there is none."""
        notes: asyncio.Queue[str | None] = asyncio.Queue()
        running = self._at[number] = asyncio.create_task(self._local.submit(job, notes.put_nowait))
        running.add_done_callback(lambda _: notes.put_nowait(None))
        try:
            while (text := await notes.get()) is not None:
                yield "note", text
            if not running.cancelled():
                yield _ending(running)
        finally:
            del self._at[number]
            running.cancel()

    async def give_up(self, number: int) -> None:
        """Nobody waits for that job any more."""
        if number in self._at:
            self._at[number].cancel()

    async def close(self) -> None:
        """End the worker."""
        await self._local.close()


def _ending(done: asyncio.Task[bytes]) -> Said:
    error = done.exception()
    if isinstance(error, RefereeError):
        return "failed", str(error)
    return "result", done.result()


MEETING = 4
"""Jobs that a worker does in the time in which another one meets their task."""
REMEMBERED = 16
"""Kins that a worker is taken to know still; it has room for more."""
PASSED = 16
"""How often the first in turn may be passed by."""
APART = 4
"""Of so many workers one is kept for suspects at most, so that a lost node does not still the others."""

H = TypeVar("H")


@dataclass(eq=False)
class WorkerSlot(Generic[H]):
    """One worker."""

    host: H
    """How it is reached."""
    node: str
    load: int = 0
    alone: bool = False
    """Its job is a suspect and wants no other beside it."""
    lost: bool = False
    affinities: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def takes(self) -> bool:
        """Whether it can be given a job now."""
        return not (self.lost or self.alone) and self.load < IN_FLIGHT

    def seat(self, granted: asyncio.Future["WorkerSlot[H]"], affinity: str, alone: bool = False) -> None:
        """Give it a job."""
        self.load, self.alone = self.load + 1, alone
        if affinity in self.affinities:
            self.affinities.remove(affinity)
        if affinity:
            self.affinities.append(affinity)  # the latest is the last to be forgotten
        granted.set_result(self)


class WorkerSlots(Generic[H]):
    """All workers, for the tasks of one event loop. Suspects go first, then affinities take turns, jobs of one in order."""

    def __init__(self) -> None:
        self.all: list[WorkerSlot[H]] = []
        self.fault: Exception | None = None
        """Why there will be no seat; raised for every job that waits for one."""
        self._suspects: deque[tuple[asyncio.Future[WorkerSlot[H]], str]] = deque()
        self._waiting: dict[str, deque[asyncio.Future[WorkerSlot[H]]]] = {}
        self._passed = 0

    async def take(self, affinity: str, alone: bool = False) -> WorkerSlot[H]:
        """Wait for a seat; it must be given back.

        Raises:
            the fault: there are none, and none will come.
        """
        granted: asyncio.Future[WorkerSlot[H]] = asyncio.get_running_loop().create_future()
        if alone:
            self._suspects.append((granted, affinity))
        else:
            self._waiting.setdefault(affinity, deque()).append(granted)
        self.dispatch()
        try:
            return await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled() and granted.exception() is None:
                self.give(granted.result())
            raise

    def give(self, slot: WorkerSlot[H]) -> None:
        """The job is done, or lost."""
        slot.load -= 1
        slot.alone = False
        self.dispatch()

    def add(self, slot: WorkerSlot[H]) -> None:
        """A worker is ready."""
        self.all.append(slot)
        self.dispatch()

    def fail(self, fault: Exception) -> None:
        """Tell those who wait, now and from now on, why there is no seat; until there is one again."""
        self.fault = fault
        self.dispatch()

    def lose(self, slot: WorkerSlot[H]) -> None:
        """The seat is gone; jobs that it has give it back nonetheless."""
        slot.lost = True
        if slot in self.all:
            self.all.remove(slot)

    def dispatch(self) -> None:
        """Hand free seats to those who wait, and the fault if there is one."""
        if self.fault is not None and not self.all:
            self._refuse(self.fault)
            return
        kept = self._seat_suspects() if self._suspects else []
        free = [slot for slot in self.all if slot.takes() and slot not in kept]
        while free and self._waiting:
            slot, affinity = self._next(free)
            queue = self._waiting.pop(affinity)
            granted = queue.popleft()
            if queue:
                self._waiting[affinity] = queue  # behind all others
            if not granted.done():
                slot.seat(granted, affinity)
                if not slot.takes():
                    free.remove(slot)

    def _next(self, free: Sequence[WorkerSlot[H]]) -> tuple[WorkerSlot[H], str]:
        """The best worker for whose turn it is; where that would have to meet a task, others that it knows may pass."""
        first = next(iter(self._waiting))
        slot = min(free, key=partial(_distance, first))
        passing = first not in slot.affinities and self._passed < PASSED
        found = next((affinity for affinity in slot.affinities if passing and affinity in self._waiting), first)
        self._passed = self._passed + 1 if found != first else 0
        return slot, found

    def _seat_suspects(self) -> list[WorkerSlot[H]]:
        """Give suspects workers that are idle; returns those that get no other job, so that they soon are."""
        shared = sorted((slot for slot in self.all if not slot.alone), key=attrgetter("load"))
        while self._suspects and shared and not shared[0].load:
            granted, affinity = self._suspects.popleft()
            if not granted.done():
                shared.pop(0).seat(granted, affinity, alone=True)
        most = max(1, len(self.all) // APART) - sum(slot.alone for slot in self.all)
        return shared[: max(0, min(most, len(self._suspects)))]

    def _refuse(self, fault: Exception) -> None:
        waiting = [granted for granted, _ in self._suspects] + [
            each for queue in self._waiting.values() for each in queue
        ]
        for granted in waiting:
            if not granted.done():
                granted.set_exception(fault)
        self._suspects.clear()
        self._waiting.clear()


def _distance(affinity: str, slot: WorkerSlot[Any]) -> tuple[int, int]:
    return slot.load + (0 if affinity in slot.affinities else MEETING), slot.load


SURVEY_S = 5.0
"""How often the cluster is asked for room that has no worker yet."""
SETTLE_S = 30.0
"""How long the first workers to be ready wait for the others, so that the majority's answer counts."""
START_S = 180.0
"""Longest that a worker may take to be ready; a cold disk, or somebody else's job on its GPU, needs most of it."""
PATIENCE_S = 60.0
"""How long a cluster may be without room for a single worker."""
TRIES = 2
"""Workers of a node that may fail to get ready before it is left alone."""
CLOSING_S = 5.0

Actor = Any
"""Ray's handle on a `Host`."""


def _now() -> float:
    return asyncio.get_running_loop().time()


class HostLostError(Exception):
    """The actor, its process or its node ended before it answered."""


class WorkerPool:
    """The workers of one executor."""

    def __init__(self, work: Work, cluster: Cluster, slots: WorkerSlots[Actor]) -> None:
        self._work, self._cluster, self._slots = work, cluster, slots
        self._opening: dict[asyncio.Task[None], str] = {}
        self._ready: list[tuple[WorkerSlot[Actor], bytes]] = []
        self._greeted: bytes | None = None
        self._room: dict[str, int] = {}
        self._failed: dict[str, list[str]] = {}
        self._numbers = itertools.count(1)
        self._short = asyncio.Event()
        self._since = 0.0
        self.news: list[str] = []
        """What somebody should be told."""

    async def keep(self) -> None:
        """Join the cluster and keep it filled, until cancelled.

        Raises:
            MachineError: the cluster cannot be joined.
        """
        await asyncio.to_thread(self._cluster.join)
        self._since = _now()
        while True:
            await self._fill()
            if self._greeted is None:
                await self._agree()
            self._despair()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._short.wait(), SURVEY_S)
            self._short.clear()

    async def ask(self, host: Actor, job: bytes, on_note: Note = unheard) -> bytes:
        """A job's result from one worker.

        Raises:
            HostLostError: the worker's actor was lost.
            RefereeError: the job ended its worker process twice.
        """
        number, lost = next(self._numbers), self._cluster.ray.exceptions.RayError
        try:
            async for said in host.submit.options(num_returns="streaming").remote(number, job):
                kind, value = await said
                if kind == "result":
                    return bytes(value)
                if kind == "failed":
                    raise RefereeError(value)
                on_note(value)
        except asyncio.CancelledError:
            with contextlib.suppress(lost):
                host.give_up.remote(number)
            raise
        except lost as error:
            raise HostLostError(str(error).strip().splitlines()[0]) from None
        raise HostLostError("it ended without a result")

    def lost(self, slot: WorkerSlot[Actor]) -> None:
        """A worker is gone: another takes its place."""
        self._slots.lose(slot)
        self._end(slot.host)
        self._short.set()

    async def close(self, fault: Exception) -> None:
        """End all workers; who waits for one, or loses one, gets the fault."""
        for opening in self._opening:
            opening.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        slots = [*self._slots.all, *(slot for slot, _ in self._ready)]
        self._slots.all.clear()
        self._slots.fail(fault)
        await asyncio.gather(*(self._close(slot.host) for slot in slots))

    async def _fill(self) -> None:
        self._room = await asyncio.to_thread(self._cluster.room, self._work.gpu)
        for node, count in self._room.items():
            taken = [*self._opening.values(), *(s.node for s in self._slots.all), *(s.node for s, _ in self._ready)]
            if len(self._failed.get(node, ())) < TRIES:
                for _ in range(count - taken.count(node)):
                    opening = asyncio.create_task(self._open(node))
                    self._opening[opening] = node
                    opening.add_done_callback(self._opening.pop)

    async def _open(self, node: str) -> None:
        ray, host = self._cluster.ray, None
        try:
            async with asyncio.timeout(START_S):
                needs = await asyncio.to_thread(self._cluster.needs, node, self._work.gpu)
                # Besides jobs it is asked to give some up, and to close.
                host = ray.remote(Host).options(max_concurrency=2 * IN_FLIGHT, **needs).remote(self._work)
                answer = await self.ask(host, self._work.greeting) if self._work.greeting else b""
        except (TimeoutError, HostLostError, RefereeError) as error:
            self._end(host)
            why = f"nothing came up there in {START_S:.0f} s" if isinstance(error, TimeoutError) else str(error)
            self._failed.setdefault(node, []).append(why)
            return
        except asyncio.CancelledError:
            self._end(host)
            raise
        self._ready.append((WorkerSlot(host, node), answer))
        self._slot_the_ready()

    async def _agree(self) -> None:
        """Decide which answer to the greeting counts: the one that most of the first workers gave."""
        if self._opening:
            await asyncio.wait(self._opening, timeout=SETTLE_S)
        while self._opening and not self._ready:
            await asyncio.wait(self._opening, return_when=asyncio.FIRST_COMPLETED)
        answers = Counter(answer for _, answer in self._ready)
        self._greeted = max(answers, key=lambda answer: (answers[answer], answer), default=None)
        self._slot_the_ready()

    def _slot_the_ready(self) -> None:
        if self._greeted is None:
            return
        ready, self._ready = self._ready, []
        for slot, answer in ready:
            if answer == self._greeted:
                self._slots.add(slot)
                continue
            self._end(slot.host)
            text = f"is not like the others: {answer.decode(errors='replace')}, not {self._greeted.decode(errors='replace')}"
            self._failed[slot.node] = [text] * TRIES
            self.news.append(f"node {slot.node[:8]} gets no jobs, since it {text}")

    def _despair(self) -> None:
        """Tell those who wait when there is nothing to wait for."""
        if self._slots.all or self._opening:
            self._since = _now()
            return
        hopeless = bool(self._room) and all(len(self._failed.get(node, ())) >= TRIES for node in self._room)
        if hopeless or _now() - self._since > PATIENCE_S:
            what = "a GPU" if self._work.gpu else "a processor"
            reasons = [f"node {node[:8]}: {why[-1]}" for node, why in self._failed.items()]
            reasons = reasons or [f"no node with {what} was there for {PATIENCE_S:.0f} s (`ray status` lists them)"]
            self._slots.fail(RefereeError(f"the Ray cluster has no worker for the jobs: {'; '.join(reasons)}"))

    async def _close(self, host: Actor) -> None:
        with contextlib.suppress(TimeoutError, self._cluster.ray.exceptions.RayError):
            await asyncio.wait_for(host.close.remote(), CLOSING_S)
        self._end(host)

    def _end(self, host: Actor | None) -> None:
        if host is not None:
            with contextlib.suppress(self._cluster.ray.exceptions.RayError, ValueError):
                self._cluster.ray.kill(host)


LOSSES = 3
"""Workers that one job may lose before it is taken to be the reason."""

CLOSED = "the executor was closed before the job was done"


class RayExecutor:
    """Implements `Executor` with the workers of a cluster."""

    def __init__(self, work: Work, address: str | None = None, cluster: Cluster | None = None) -> None:
        self._cluster, self._slots = cluster or Cluster(address), WorkerSlots[Any]()
        self._pool = WorkerPool(work, self._cluster, self._slots)
        self._keeping: asyncio.Task[None] | None = None
        self._doing: set[asyncio.Task[bytes]] = set()
        self._closed = False

    async def submit(self, job: bytes, on_note: Note = unheard, affinity: str = "") -> bytes:
        """See `Executor.submit`."""
        self._open()
        doing = asyncio.create_task(self._do(job, on_note, affinity))
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)
        try:
            return await doing
        except asyncio.CancelledError:
            if self._closed and not cast("asyncio.Task[bytes]", asyncio.current_task()).cancelling():
                raise RefereeError(CLOSED) from None
            raise

    async def _do(self, job: bytes, on_note: Note, affinity: str) -> bytes:
        losses = 0
        while True:
            slot = await self._slots.take(affinity, alone=losses > 0)
            while self._pool.news:
                on_note(self._pool.news.pop())
            try:
                return await self._pool.ask(slot.host, job, on_note)
            except HostLostError as lost:
                losses += 1
                self._pool.lost(slot)
                if losses == LOSSES:
                    raise RefereeError(f"{losses} workers were lost while they were at this job: {lost}") from None
            finally:
                self._slots.give(slot)

    async def close(self) -> None:
        """See `Executor.close`. A cluster that was started here ends with it."""
        self._closed = True
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait({self._keeping})
            await self._pool.close(RefereeError(CLOSED))
            # They have lost their workers, and must hear of it while there is a cluster.
            deaf = (await asyncio.wait(self._doing, timeout=CLOSING_S))[1] if self._doing else ()
            for doing in deaf:
                doing.cancel()
            await asyncio.to_thread(self._cluster.leave)

    def _open(self) -> None:
        if self._closed:
            raise RefereeError(CLOSED)
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._pool.keep())
            self._keeping.add_done_callback(self._ended)

    def _ended(self, keeping: asyncio.Task[None]) -> None:
        if not keeping.cancelled() and (error := keeping.exception()) is not None:
            fault = (
                error if isinstance(error, KernelwrightError) else RefereeError(f"the pool of workers broke: {error!r}")
            )
            self._slots.fail(fault)

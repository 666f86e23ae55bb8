"""Jobs on a Ray cluster: as many workers as it has room for, each in an actor of its own.

A job whose actor or node was lost runs again, elsewhere and alone, a bounded number of times. What a job does to its
own worker process is decided at its node, as on a single machine (`execution.local`). A candidate's crash is a result
here as everywhere.

A worker is ready once it has answered the greeting. Workers that answered it differently from most of the first ones
get no jobs. A node that fails repeatedly is left alone. Where several commands use the cluster, `board` says how many workers
each may hold: what is too much ends its jobs and is given back.
"""

import asyncio
import contextlib
import getpass
import itertools
import os
import socket
import sys
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal, cast

from kernelwright.errors import KernelwrightError, RefereeError
from kernelwright.execution.board import Grant, Report
from kernelwright.execution.cluster import Cluster
from kernelwright.execution.executor import IN_FLIGHT, Note, Work, unheard
from kernelwright.execution.local import LocalExecutor
from kernelwright.execution.slots import WorkerSlot, WorkerSlots

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


def _user() -> str:
    """Whose command this is; LOGNAME or USER say so where several share an account."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no such user in a container
        return str(os.getuid())


def _command() -> str:
    """The verb and what it is about; options may have secrets in them."""
    words = [each for each in sys.argv[1:3] if not each.startswith("-")]
    return " ".join(words if Path(sys.argv[0]).stem in ("kernelwright", "__main__") else [Path(sys.argv[0]).name])


class HostLostError(Exception):
    """The actor, its process or its node ended before it answered."""


class WorkerPool:
    """The workers of one executor."""

    def __init__(self, work: Work, cluster: Cluster, slots: WorkerSlots[Actor]) -> None:
        self._work, self._cluster, self._slots = work, cluster, slots
        self._opening: dict[asyncio.Task[None], str] = {}
        self._ready: list[tuple[WorkerSlot[Actor], bytes]] = []
        self._greeted: bytes | None = None
        self._settles = 0.0
        self._room: dict[str, int] = {}
        self._shared = False
        self._grant: Grant | None = None
        self._failed: dict[str, list[str]] = {}
        self._numbers = itertools.count(1)
        self._short = asyncio.Event()
        self._since = 0.0
        where = f"{socket.gethostname()}:{os.getpid()}"
        self._told = Report(uuid.uuid4().hex, _user(), where, _command(), work.gpu, 0, {}, {}, {})
        self._lost = 0
        self.wanted = self.answered = self.retried = 0
        """Most jobs at once since the last survey; jobs that were done, and that were begun again, so far."""
        self.news: list[str] = []
        """What somebody should be told."""

    async def keep(self) -> None:
        """Join the cluster and keep it filled, until cancelled.

        Raises:
            MachineError: the cluster cannot be joined.
        """
        await asyncio.to_thread(self._cluster.join)
        self._since = _now()
        self._settles = _now() + SETTLE_S
        while True:
            await self._survey()
            if self._greeted is None:
                self._agree()
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
        self._lost += not slot.lost
        self._slots.lose(slot)
        self._end(slot.host)
        self.look()

    async def close(self, fault: Exception) -> None:
        """End all workers; who waits for one, or loses one, gets the fault."""
        for opening in self._opening:
            opening.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        slots = [*self._slots.all, *(slot for slot, _ in self._ready)]
        self._slots.all.clear()
        self._slots.fail(fault)
        await asyncio.gather(*(self._close(slot.host) for slot in slots))
        await asyncio.to_thread(self._cluster.unreport, self._told.name)

    async def _survey(self) -> None:
        """Ask for room and for what may be held of it, and hold no less and no more."""
        self._room = await asyncio.to_thread(self._cluster.room, self._work.gpu)
        # Workers that were getting ready when their node was lost say nothing of it when it is back.
        self._failed = {node: why for node, why in self._failed.items() if node in self._room}
        grant = await asyncio.to_thread(self._cluster.report, self._report())
        self._grant = grant or self._grant
        most, others = self._grant or (sum(self._room.values()), {})
        self._shared, self.wanted = bool(others), 0
        await self._give_back(most)
        held = self._held()
        for node, count in self._room.items():
            if len(self._failed.get(node, ())) < TRIES:
                free = min(count - held[node] - others.get(node, 0), most - held.total())
                held[node] += max(0, free)
                for _ in range(free):
                    self._begin(node)

    def _held(self) -> Counter[str]:
        """Workers by node, also those that are not ready."""
        return Counter([*self._opening.values(), *(s.node for s in self._slots.all), *(s.node for s, _ in self._ready)])

    def _report(self) -> Report:
        usable = [count for node, count in self._room.items() if len(self._failed.get(node, ())) < TRIES]
        loads = [(slot.node, slot.load) for slot in self._slots.all if slot.load]
        waiting = self._slots.waiting()
        return self._told._replace(
            room=sum(usable),
            held=dict(self._held()),
            busy=dict(Counter(node for node, _ in loads)),
            waiting=waiting,
            wanted=max(self.wanted, sum(load for _, load in loads) + sum(waiting.values())),
            at_work=sum(load for _, load in loads),
            answered=self.answered,
            lost=self._lost,
            retried=self.retried,
        )

    async def _give_back(self, most: int) -> None:
        """Hold no more than that many workers, as soon as those that leave are idle."""
        begun = list(self._opening)[max(0, most - len(self._slots.all)) :]
        for opening in begun:
            opening.cancel()
        gone = self._slots.keep(most)
        await asyncio.gather(*begun, *(self._close(slot.host) for slot in gone), return_exceptions=True)
        if begun or gone:
            self.look()

    def look(self) -> None:
        """Survey now: something has changed."""
        self._short.set()

    def _begin(self, node: str) -> None:
        opening = asyncio.create_task(self._open(node))
        self._opening[opening] = node
        opening.add_done_callback(self._opened)

    def _opened(self, opening: asyncio.Task[None]) -> None:
        del self._opening[opening]
        if not self._opening:
            self.look()

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

    def _agree(self) -> None:
        """Decide which answer to the greeting counts: the one that most of the first workers gave."""
        if self._ready and (not self._opening or _now() > self._settles):
            answers = Counter(answer for _, answer in self._ready)
            self._greeted = max(answers, key=lambda answer: (answers[answer], answer))
            self._slot_the_ready()

    def _slot_the_ready(self) -> None:
        if (greeted := self._greeted) is None:
            return
        ready, self._ready = self._ready, []
        self._slots.add(*(slot for slot, answer in ready if answer == greeted))
        for slot, answer in ready:
            if answer != greeted:
                self._refuse(slot, f"{answer.decode(errors='replace')}, not {greeted.decode(errors='replace')}")

    def _refuse(self, slot: WorkerSlot[Actor], differs: str) -> None:
        self._end(slot.host)
        text = f"is not like the others: {differs}"
        self._failed[slot.node] = [text] * TRIES
        self.news.append(f"node {slot.node[:8]} gets no jobs, since it {text}")

    def _despair(self) -> None:
        """Tell those who wait when there is nothing to wait for."""
        if self._slots.all or self._opening or self._ready or self._shared:
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
        self._pool.wanted = max(self._pool.wanted, len(self._doing))
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
                answer = await self._pool.ask(slot.host, job, on_note)
                self._pool.answered += 1
                return answer
            except HostLostError as lost:
                losses += 1
                self._pool.lost(slot)
                if losses == LOSSES:
                    raise RefereeError(f"{losses} workers were lost while they were at this job: {lost}") from None
                self._pool.retried += 1
            finally:
                self._slots.give(slot)
                if slot.leaving and not slot.load:
                    self._pool.look()

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

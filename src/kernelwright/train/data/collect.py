"""Collecting samples: pairs from any origin go before the referee, and those that are right go into the file.

The file is written line by line: a collection that was killed goes on where it was, and nothing is judged twice.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from kernelwright.errors import ProposeError, RefereeError, TaskError
from kernelwright.propose.author.author import Author
from kernelwright.propose.inductor.inductor import usual, write
from kernelwright.propose.inductor.schedule import options_of
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import ProposalRequest
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import is_right
from kernelwright.records.policy import Effort
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.store.files import Lines, open_lines
from kernelwright.train.data.plain import plain
from kernelwright.train.data.sample import FILE, Judged, Origin, Sample, judged, sample
from kernelwright.train.judges import Judges
from kernelwright.train.structure import Split

Heard = Callable[["Tally"], None]
GRACE_S = 15.0
"""For pairs that are with the referee when the time is over."""
IN_FLIGHT = 4
"""Pairs at each worker at once: while one has the device, others compile."""


@dataclass
class Tally:
    """How far a collection is, and what became of the pairs."""

    kept: int = 0
    fates: Counter[str] = field(default_factory=Counter)
    """Of those that were not kept: an outcome, `task`, `unwritten`, `duplicate`, `structure` or `enough`."""
    judged: Counter[Split] = field(default_factory=Counter)
    right: Counter[Split] = field(default_factory=Counter)
    """Kernels by split: how good whoever writes them is."""
    seconds: float = 0.0


class Pair(NamedTuple):
    """A module, and who writes its kernel once it is admitted."""

    origin: Origin
    source: TaskSource
    write: Callable[[Task], Awaitable[Candidate]]
    migrated: tuple[str, ...] = ()
    key: str = ""
    """What tells pairs apart before anything is written; empty: the task's text."""


def authored(sources: Iterable[TaskSource]) -> Iterator[Pair]:
    """Modules whose kernels the built-in author writes, made plain."""
    return (Pair("author", source, by_author) for source in sources)


def compiled(sources: Iterable[TaskSource], judges: Judges) -> Iterator[Pair]:
    """Modules whose kernels `torch.compile` writes, made plain."""

    async def written(task: Task) -> Candidate:
        lowering = await judges.lower(task, options_of(usual(task))[0])
        return plain(task, write(task, lowering, usual(task)))

    return (Pair("compile", source, written) for source in sources)


async def by_author(task: Task) -> Candidate:
    """The author's first kernel for a task, made plain.

    Raises:
        ProposeError: it does not write such a task.
    """
    request = ProposalRequest(number=0, intent="seed", role="frontend")
    proposal = (await Author().propose(Brief(task, request, (), (), seed=0)))[0]
    return plain(task, proposal.candidate)


@dataclass
class Collector:
    """Judges pairs and keeps what is right, up to `most` of one structure."""

    judges: Judges
    target: Target
    versions: dict[str, str]
    effort: Effort = "search"
    workers: int = 1
    most_of_structure: int = 3
    heard: Heard = lambda _: None

    async def collect(self, pairs: Iterable[Pair], folder: Path, count: int, seconds: float | None = None) -> Tally:
        """Add samples to the folder's file until it holds `count`, the pairs are used up, or the time is.

        Raises:
            StoreError: the file cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        started = monotonic()
        with open_lines(Sample, folder / FILE) as lines:
            state = _State(self, lines, count)
            waiting = iter(pairs)
            done = seconds if seconds is not None else float("inf")

            async def work() -> None:
                for pair in waiting:
                    if state.tally.kept >= count or monotonic() - started >= done:
                        return
                    await state.take(pair)

            await _until([asyncio.ensure_future(work()) for _ in range(self.workers * IN_FLIGHT)], seconds)
        return state.tally


async def _until(working: list[asyncio.Future[None]], seconds: float | None) -> None:
    """Wait for all of them, but when the time is over not for one that hangs."""
    ended, late = await asyncio.wait(working, timeout=None if seconds is None else seconds + GRACE_S)
    for one in late:
        one.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    for one in ended:
        one.result()


class _State:
    """One collection while it goes on."""

    def __init__(self, collector: Collector, lines: Lines[Sample], count: int) -> None:
        self._collector, self._lines, self._count, self._started = collector, lines, count, monotonic()
        known = lines.read()
        self._ids = {one.id for one in known}
        self._texts = {one.task.source.source for one in known}
        self._structures = Counter(one.structure for one in known)
        self.tally = Tally(kept=len(self._ids))

    async def take(self, pair: Pair) -> None:
        """Judge one pair, and keep it or count why not."""
        key = pair.key or pair.source.source
        if key in self._texts:
            return
        self._texts.add(key)
        fate = await self._judged(pair)
        if fate:
            self.tally.fates[fate] += 1
        self.tally.seconds = monotonic() - self._started
        self._collector.heard(self.tally)

    async def _judged(self, pair: Pair) -> str:
        """Why the pair was not kept; empty: it was."""
        c = self._collector
        try:
            task = await c.judges.admit(pair.source, c.target)
            candidate = await pair.write(task)
        except (TaskError, RefereeError):
            return "task"
        except ProposeError:
            return "unwritten"
        made = sample(pair.origin, task, candidate, Judged(outcome="unjudged"))
        if self._structures[made.structure] >= c.most_of_structure:
            return "structure"
        found = await c.judges.judge(task, candidate, c.effort)
        self.tally.judged[made.split] += 1
        self.tally.right[made.split] += found is not None and is_right(found)
        if found is None or not is_right(found):
            return found.outcome if found else "unjudged"
        made = made.model_copy(update={"judged": judged(found, c.versions), "migrated": pair.migrated})
        if made.id in self._ids:
            return "duplicate"
        if self.tally.kept >= self._count:
            return "enough"
        self._ids.add(made.id)
        self._structures[made.structure] += 1
        self._lines.append(made)
        self.tally.kept += 1
        return ""

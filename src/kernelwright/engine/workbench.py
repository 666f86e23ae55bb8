"""The workbench: a run whose kernels come from outside, by a coding agent or any other program.

It is the same run as any other: the loop asks, a mailbox answers with what is sent, the judge judges, everything is
journaled, and the end is measured anew and gets its receipt. Decides what may be asked of such a run while it waits.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from kernelwright.engine.assignment import Assignment, assign
from kernelwright.engine.config import RunConfig
from kernelwright.engine.events import Event, Judged, Spent
from kernelwright.engine.mailbox import Mailbox
from kernelwright.engine.request import OptimizeResult
from kernelwright.engine.run import Ending, Parts, run
from kernelwright.engine.summary import count_outcomes
from kernelwright.engine.toolbox import Library, Toolbox, technique_cards
from kernelwright.errors import StoreError, UsageError
from kernelwright.records.attempt import Attempt, Proposal, speedup
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate, Language
from kernelwright.records.chat import ToolCall
from kernelwright.records.evaluation import Measured, Verified, merit
from kernelwright.records.run import Turn
from kernelwright.records.tools import EvaluateResult, ProfileResult, SearchArguments, SearchResult
from kernelwright.store.run import RunStore

OUTSIDE = "outside"
"""The name of this proposer, and of its strategy, in a run's configuration."""

WindUp = Callable[[RunStore, Ending], OptimizeResult]
"""Writes what an ended run leaves in its folder: the kernel, the receipt, the report."""


class Trial(Record):
    """One line of a run's history."""

    attempt: int
    outcome: str
    note: str
    latency_us: float | None
    speedup_eager: float | None
    """Median; None for whatever was not measured."""


class WorkbenchStatus(Record):
    """How far a run is."""

    run: str
    """Its folder."""
    task: str
    target: str
    trials_left: int
    best: int | None
    """The best attempt so far."""
    outcomes: dict[str, int]
    history: tuple[Trial, ...]
    device_s: float
    """Seconds of the device that trials took."""
    tools_device_s: float
    """Seconds of the device that profiles took in this process."""
    over: bool
    """Nothing more can be checked; the rest is to submit."""


@dataclass(frozen=True)
class Bench:
    """What a workbench is built from."""

    store: RunStore
    config: RunConfig
    parts: Parts
    """Without a proposer that matters: the mailbox takes its place."""
    wind_up: WindUp
    library: Library = technique_cards


class Workbench:
    """One run. All methods belong to the event loop in which it was made."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._store = bench, bench.store
        self._mailbox = Mailbox()
        self._judged: Judged | None = None
        self._turns = len(self._store.turns())
        task, language = self._store.card.task, bench.config.language
        self.toolbox = Toolbox(task, bench.parts.evaluator, language, bench.library)
        self.assignment: Assignment = assign(
            self._store.card, str(self._store.folder), bench.config.budget.proposals, language
        )
        self._running = asyncio.create_task(self._run())

    async def check(self, code: str, language: Language | None = None, note: str = "") -> EvaluateResult:
        """Judge a kernel as the run's next attempt.

        Raises:
            UsageError: no kernel can be read from the text, or the run is over.
            KernelwrightError: the run broke.
        """
        return await self._judge(self.toolbox.read(code, language), note)

    async def profile(
        self, code: str = "", attempt: int | None = None, language: Language | None = None
    ) -> ProfileResult:
        """Where the time of a kernel, or of an attempt, goes.

        Raises:
            UsageError: neither or both were named, or there is no such attempt.
            RefereeError: the referee broke.
        """
        if bool(code) == (attempt is not None):
            raise UsageError("name either `code` or `attempt` to be profiled")
        if attempt is not None:
            known: Attempt | None = self._attempt(attempt)
        else:
            known = self._known(self.toolbox.read(code, language))
        candidate = known.proposal.candidate if known else self.toolbox.read(code, language)
        log = self._log("profile", candidate.model_dump_json())
        found = await self.toolbox.profile(candidate, known.evaluation if known else None)
        log(found)
        return found

    def techniques(self, asked: SearchArguments) -> SearchResult:
        """What the library knows."""
        log = self._log("search", asked.model_dump_json())
        found = self.toolbox.search(asked)
        log(found)
        return found

    async def submit(self, code: str = "", language: Language | None = None) -> OptimizeResult:
        """End the run: its best kernel is measured anew. `code` is judged first, if it was not yet.

        Raises:
            UsageError: nothing was right yet, or `code` is not; the run goes on.
            KernelwrightError: the run broke.
        """
        if code:
            await self._must_be_right(self.toolbox.read(code, language))
        elif not self._over() and _best(self._store.attempts()) is None:
            raise UsageError("no attempt was right yet, and nothing was ended: check a kernel, or submit its code")
        if not self._running.done():
            self._mailbox.shut()
        result = await asyncio.shield(self._running)
        if result.error is not None:
            raise result.error
        return result

    def status(self) -> WorkbenchStatus:
        """How far the run is."""
        attempts = self._store.attempts()
        target = self._store.card.task.target.name
        return WorkbenchStatus(
            run=str(self._store.folder),
            task=self._store.card.task.name,
            target=target,
            trials_left=self._left(attempts),
            best=_best(attempts),
            outcomes=count_outcomes(attempts),
            history=tuple(_trial(a) for a in attempts),
            device_s=sum(a.cost.device_s for a in attempts),
            tools_device_s=self.toolbox.device_s,
            over=self._over(),
        )

    def kernel(self, attempt: int) -> str:
        """The source of an attempt.

        Raises:
            UsageError: there is no such attempt.
        """
        return self._attempt(attempt).proposal.candidate.source

    async def close(self) -> None:
        """Let go of everything; a run that is not over can be resumed."""
        self._running.cancel()
        with suppress(asyncio.CancelledError, StoreError):
            await self._running
        if self._bench.parts.cache is not None:
            self._bench.parts.cache.close()
        self._store.close()
        await self._bench.parts.evaluator.close()

    async def _run(self) -> OptimizeResult:
        outcome = self._store.outcome()
        if outcome is not None and outcome.complete:
            return self._bench.wind_up(self._store, Ending(outcome))
        parts = replace(self._bench.parts, proposer=self._mailbox, listener=self._hear)
        return self._bench.wind_up(self._store, await run(self._store, self._bench.config, parts))

    async def _judge(self, candidate: Candidate, note: str) -> EvaluateResult:
        if self._running.done():
            raise UsageError("the run is over: submit to have its result, or load a task to begin another one")
        verdict = self._mailbox.post(Proposal(candidate=candidate, note=note))
        either: set[asyncio.Future[EvaluateResult] | asyncio.Task[OptimizeResult]] = {verdict, self._running}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if verdict.done():
            return verdict.result()
        ended = await asyncio.shield(self._running)
        raise ended.error or UsageError(f"the run ended before this kernel was judged: {ended.summary.stopped}")

    async def _must_be_right(self, candidate: Candidate) -> None:
        known = self._known(candidate)
        if known is not None:
            right, words = (
                isinstance(known.evaluation, Measured | Verified),
                f"attempt {known.number} was {known.evaluation.outcome}",
            )
        else:
            found = await self._judge(candidate, "submitted")
            right, words = found.ok, found.words
        if not right:
            raise UsageError(f"the submitted kernel is not right, and nothing was ended. {words}")

    def _hear(self, event: Event) -> None:
        match event:
            case Judged():
                self._judged = event
            case Spent(replayed=False) if self._judged is not None:
                # The last event of an attempt: now everything is told and journaled.
                self._mailbox.judged(self._result(self._judged))
        self._bench.parts.listener(event)

    def _result(self, judged: Judged) -> EvaluateResult:
        attempts = self._store.attempts()
        attempt = attempts[judged.attempt]
        of_run = {"reward": judged.reward, "best": _best(attempts), "trials_left": self._left(attempts)}
        return EvaluateResult.of(attempt, judged.feedback).model_copy(update=of_run)

    def _over(self) -> bool:
        outcome = self._store.outcome()
        complete = outcome is not None and outcome.complete
        return complete or self._running.done() or not self._left(self._store.attempts())

    def _left(self, attempts: Sequence[Attempt]) -> int:
        return max(0, self._bench.config.budget.proposals - len(attempts))

    def _known(self, candidate: Candidate) -> Attempt | None:
        """The attempt that was this very kernel."""
        same = (a for a in self._store.attempts() if a.proposal.candidate.id == candidate.id)
        return next(same, None)

    def _attempt(self, number: int) -> Attempt:
        attempts = self._store.attempts()
        if not 0 <= number < len(attempts):
            raise UsageError(f"there is no attempt {number}: the run has {len(attempts)}, counted from 0")
        return attempts[number]

    def _log(self, name: str, arguments: str) -> Callable[[Record], None]:
        """Journal a call before it is acted on; what comes back journals its result."""
        expansion, call = len(self._store.expansions()), ToolCall(id=str(self._turns), name=name, arguments=arguments)

        def write(kind: str, text: str) -> None:
            turn = {"number": self._turns, "expansion": expansion, "step": self._turns, "kind": kind, "text": text}
            self._store.turn(Turn.model_validate({**turn, "role": OUTSIDE}))
            self._turns += 1

        write("call", call.model_dump_json())
        return lambda found: write("result", found.model_dump_json())


def _best(attempts: Sequence[Attempt]) -> int | None:
    """The attempt that the run holds for its best so far: the first of those that are equally good."""
    right = (a for a in attempts if isinstance(a.evaluation, Measured | Verified))
    found = max(right, key=lambda a: merit(a.evaluation), default=None)
    return found.number if found is not None else None


def _trial(attempt: Attempt) -> Trial:
    return Trial(
        attempt=attempt.number,
        outcome=attempt.evaluation.outcome,
        note=attempt.proposal.note,
        latency_us=attempt.latency_us,
        speedup_eager=speedup(attempt) or None,
    )

"""The workbench: a run whose kernels come from outside, by a coding agent or any other program.

It is the same run as any other: the loop asks, a mailbox answers with what is sent, the judge judges, everything is
journaled, and at the end the best is measured again and gets its receipt.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from kernelwright.engine.assignment import Assignment, assign
from kernelwright.engine.config import RunConfig
from kernelwright.engine.events import Event, Judged, Phase, Spent
from kernelwright.engine.gateway.toolbox import Toolbox
from kernelwright.engine.opening import open_card, places_of, readmit, resolve_request, trusted_config
from kernelwright.engine.request import OptimizeRequest, OptimizeResult
from kernelwright.engine.run import Ending, Parts, run
from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import StoreError, UsageError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.feedback.describe import words_of
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Attempt, Proposal, speedup
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ToolCall
from kernelwright.records.evaluation import Measured, Verified, merit
from kernelwright.records.measure import BaselineName
from kernelwright.records.names import LanguageName
from kernelwright.records.run import Message, MessageKind
from kernelwright.records.tools import (
    CompileResult,
    EvaluateResult,
    ProfileResult,
    SearchArguments,
    SearchResult,
    VerifyResult,
)
from kernelwright.report.tally import counts as count_outcomes
from kernelwright.search.outside import OutsideConfig
from kernelwright.search.reading import works
from kernelwright.store.addresses import remember
from kernelwright.store.run import RunStore


class HistoryRow(Record):
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
    history: tuple[HistoryRow, ...]
    device_s: float
    """Seconds of the device that trials took."""
    tools_device_s: float
    """Seconds of the device that tools which cost no trial took in this process."""
    over: bool
    """Nothing more can be checked; the rest is to submit."""


def best_so_far(attempts: Sequence[Attempt]) -> int | None:
    """The attempt that the run holds for its best so far: the first of those that are equally good."""
    right = (a for a in attempts if isinstance(a.evaluation, Measured | Verified))
    found = max(right, key=lambda a: merit(a.evaluation), default=None)
    return found.number if found is not None else None


def history(attempts: Sequence[Attempt]) -> tuple[HistoryRow, ...]:
    """A line for each attempt."""
    return tuple(
        HistoryRow(
            attempt=attempt.number,
            outcome=attempt.evaluation.outcome,
            note=attempt.proposal.note,
            latency_us=attempt.latency_us,
            speedup_eager=speedup(attempt) or None,
        )
        for attempt in attempts
    )


Verdict = asyncio.Future[EvaluateResult]


class _Letter(NamedTuple):
    proposals: tuple[Proposal, ...]
    verdict: Verdict | None = None


class Mailbox:
    """Implements `Proposer`: answers a proposal request with the next letter, however long that takes to come."""

    held_against: tuple[BaselineName, ...] = ("eager",)
    """Whoever waits for the task does not wait for a compiler of baselines."""

    def __init__(self) -> None:
        self._letters: asyncio.Queue[_Letter] = asyncio.Queue()
        self._taken: _Letter | None = None

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """See `Proposer.propose`. Nothing comes back once the mailbox was shut: whoever wrote is done."""
        self._taken = await self._letters.get()
        return self._taken.proposals

    def post(self, proposal: Proposal) -> Verdict:
        """Send a kernel; what comes back is set once it was judged."""
        verdict: Verdict = asyncio.get_running_loop().create_future()
        self._letters.put_nowait(_Letter((proposal,), verdict))
        return verdict

    def shut(self) -> None:
        """Nothing more will come."""
        self._letters.put_nowait(_Letter(()))

    def judged(self, result: EvaluateResult) -> None:
        """Tell whoever sent the letter that was taken last. Nobody did where a resumed run goes on with a recorded one."""
        letter, self._taken = self._taken, None
        if letter is not None and letter.verdict is not None and not letter.verdict.done():
            letter.verdict.set_result(result)


Looked = TypeVar("Looked", bound=Record)
DOING = {
    "compile": "compiling the kernel",
    "verify": "running the kernel on fresh inputs, without timing it",
    "profile": "profiling the kernel",
}
"""What whoever waits is told, by tool."""
OUTSIDE = OutsideConfig().name
"""The name of this proposer, and of its strategy, in a run's configuration."""

WindUp = Callable[[RunStore, Ending], OptimizeResult]
"""Writes what an ended run leaves in its folder: the kernel, the receipt, the report."""


class Workbench:
    """One run. All methods belong to the event loop in which it was made."""

    def __init__(
        self, store: RunStore, config: RunConfig, evaluator: Evaluator, suppliers: Suppliers, wind_up: WindUp
    ) -> None:
        self._store, self._config, self._wind_up = store, config, wind_up
        self._mailbox = Mailbox()
        self._judged: Judged | None = None
        self._messages = list(store.messages())
        self._looked_s = 0.0
        cache = suppliers.cache() if config.cache else None
        self._listener = suppliers.listener
        self._parts = Parts(self._mailbox, evaluator, self._hear, library=suppliers.library, cache=cache)
        self._toolbox = Toolbox(store.card.task, evaluator, config.language, suppliers.library)
        self.assignment: Assignment = assign(store.card, str(store.folder), config.budget.proposals, config.language)
        self._running = asyncio.create_task(self._run())

    async def check(self, code: str, language: LanguageName | None = None, note: str = "") -> EvaluateResult:
        """Judge a kernel as the run's next attempt.

        Raises:
            UsageError: no kernel can be read from the text, or the run is over.
            KernelwrightError: the run broke.
        """
        return await self._judge(self._toolbox.read(code, language), note)

    async def profile(
        self, code: str = "", attempt: int | None = None, language: LanguageName | None = None
    ) -> ProfileResult:
        """Where the time of a kernel, or of an attempt, goes.

        Raises:
            UsageError: neither or both were named, or there is no such attempt.
            RefereeError: the referee broke.
        """
        if bool(code) == (attempt is not None):
            raise UsageError("name either `code` or `attempt` to be profiled")
        known = self._attempt(attempt) if attempt is not None else self._known(self._toolbox.read(code, language))
        candidate = known.proposal.candidate if known else self._toolbox.read(code, language)
        profiling = self._toolbox.profile(candidate, known.evaluation if known else None)
        return await self._run_tool("profile", candidate, profiling)

    async def compile(self, code: str, language: LanguageName | None = None) -> CompileResult:
        """Whether a kernel builds, and what the compiler says of it. No trial.

        Raises:
            UsageError: no kernel can be read from the text.
            RefereeError: the referee broke.
        """
        candidate = self._toolbox.read(code, language)
        return await self._run_tool("compile", candidate, self._toolbox.compile(candidate))

    async def verify(self, code: str, language: LanguageName | None = None) -> VerifyResult:
        """Whether a kernel is right on inputs that nobody has seen, without a time. No trial.

        Raises:
            UsageError: no kernel can be read from the text.
            RefereeError: the referee broke.
        """
        candidate = self._toolbox.read(code, language)
        return await self._run_tool("verify", candidate, self._toolbox.verify(candidate))

    def techniques(self, asked: SearchArguments) -> SearchResult:
        """What the library knows."""
        log = self._log("search", asked.model_dump_json())
        found = self._toolbox.search(asked)
        log(found)
        return found

    async def submit(self, code: str = "", language: LanguageName | None = None) -> OptimizeResult:
        """End the run: its best kernel is measured anew. `code` is judged first, if it was not yet.

        Raises:
            UsageError: nothing was right yet, or `code` is not; the run goes on.
            KernelwrightError: the run broke.
        """
        if code:
            await self._require_right(self._toolbox.read(code, language))
        elif not self._over() and not any(map(works, self._store.attempts())):
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
            best=best_so_far(attempts),
            outcomes=count_outcomes(attempts),
            history=history(attempts),
            device_s=sum(a.cost.device_s for a in attempts),
            tools_device_s=self._looked_s,
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
        if self._parts.cache is not None:
            self._parts.cache.close()
        self._store.close()
        await self._parts.evaluator.close()

    async def _run(self) -> OptimizeResult:
        outcome = self._store.outcome()
        if outcome is not None and outcome.complete:
            return self._wind_up(self._store, Ending(outcome))
        return self._wind_up(self._store, await run(self._store, self._config, self._parts))

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

    async def _require_right(self, candidate: Candidate) -> None:
        """A kernel that only compiles is as right as this machine can tell."""
        known = self._known(candidate) or self._attempt((await self._judge(candidate, "submitted")).attempt)
        if not works(known):
            words = words_of(known.evaluation)
            raise UsageError(
                f"the submitted kernel, attempt {known.number}, is not right, and nothing was ended. {words}"
            )

    async def _run_tool(self, tool: str, candidate: Candidate, looking: Awaitable[tuple[Looked, float]]) -> Looked:
        """What a tool finds of a kernel, journaled, and the device's seconds booked."""
        self._listener(Phase(text=DOING[tool]))
        log = self._log(tool, candidate.model_dump_json())
        found, seconds = await looking
        self._looked_s += seconds
        log(found)
        return found

    def _hear(self, event: Event) -> None:
        match event:
            case Judged():
                self._judged = event
            case Spent(replayed=False) if self._judged is not None:
                # The last event of an attempt: now everything is told and journaled.
                self._mailbox.judged(self._result(self._judged))
        self._listener(event)

    def _result(self, judged: Judged) -> EvaluateResult:
        attempts = self._store.attempts()
        return EvaluateResult.of(
            attempts[judged.attempt],
            judged.feedback,
            best=best_so_far(attempts),
            trials_left=self._left(attempts),
        )

    def _over(self) -> bool:
        outcome = self._store.outcome()
        complete = outcome is not None and outcome.complete
        return complete or self._running.done() or not self._left(self._store.attempts())

    def _left(self, attempts: Sequence[Attempt]) -> int:
        return max(0, self._config.budget.proposals - len(attempts))

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
        """Journal a call before it is acted on; what comes back journals its result.

        Both stand beside the kernel that is waited for now.
        """
        proposal_request = max(0, len(self._store.proposal_requests()) - 1)
        call = ToolCall(id=str(len(self._messages)), name=name, arguments=arguments)

        def write(kind: MessageKind, text: str) -> None:
            number, step = (
                len(self._messages),
                sum(message.proposal_request == proposal_request for message in self._messages),
            )
            message = Message(
                number=number, proposal_request=proposal_request, step=step, role=OUTSIDE, kind=kind, text=text
            )
            self._store.message(message)
            self._messages.append(message)

        write("call", call.model_dump_json())
        return lambda found: write("result", found.model_dump_json())


async def open_bench(what: OptimizeRequest | Path, suppliers: Suppliers, wind_up: WindUp) -> Workbench:
    """A workbench for a new run, or for the run of a folder; one that is over is only summed up.

    Raises:
        UsageError: the folder's run is one of another kind.
        StoreError: there is no such run, or it cannot go on here.
        KernelwrightError: a new run could not begin, or its folder cannot be written.
    """
    async with AsyncExitStack() as stack:
        if isinstance(what, OptimizeRequest):
            resolved = resolve_request(what)
            config = resolved.config
            remember(places_of(config))
            evaluator = suppliers.open_evaluator(config.policy, config.place)
            stack.push_async_callback(evaluator.close)
            card = await open_card(resolved, evaluator, suppliers.listener, Mailbox())
            store = stack.enter_context(closing(RunStore.create(what.runs / card.id, card)))
        else:
            store = stack.enter_context(closing(RunStore.open(what, writing=True)))
            config = trusted_config(store.card)
            if config.proposer != OUTSIDE:
                raise UsageError(
                    f"run {store.card.id} writes its own kernels: continue it with `kernelwright resume {what}`"
                )
            evaluator = suppliers.open_evaluator(config.policy, config.place)
            stack.push_async_callback(evaluator.close)
            await readmit(store.card, evaluator, suppliers.listener)
        made = Workbench(store, config, evaluator, suppliers, wind_up)
        stack.pop_all()
    return made

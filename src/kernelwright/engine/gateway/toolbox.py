"""The toolbox: answers a model's calls of `compile`, `verify`, `profile` and `search`.

A call's arguments are a model's own text: whatever is wrong with them is an answer. The caller logs the call and books
its seconds. `Profiles` finds where attempts' time goes, once however many siblings ask: whoever asks first pays the
device's time, and what failed is tried again.
"""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from kernelwright.errors import UsageError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.feedback.bottleneck import diagnose
from kernelwright.feedback.describe import words_of
from kernelwright.knowledge.library import card_words
from kernelwright.knowledge.retrieval import Context, search
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ToolCall
from kernelwright.records.evaluation import (
    Compiled,
    Evaluation,
    Incorrect,
    Measured,
    Refused,
    Verified,
    failed_to_build,
)
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.names import LanguageName
from kernelwright.records.profile import KernelProfile, Profile
from kernelwright.records.task import Task
from kernelwright.records.tools import (
    CompileResult,
    FoundCard,
    KernelMetrics,
    ProfileResult,
    SearchArguments,
    SearchResult,
    ToolFault,
    VerifyResult,
    named,
    read_arguments,
)
from kernelwright.tasks.kernel_file import parse_text

T = TypeVar("T")
ANSWERED = ("compile", "verify", "profile", "search")
"""The tools that are answered here."""

Library = Callable[[SearchArguments, Context], Sequence[FoundCard]]
"""Looks techniques up; at most as many as asked for, the best match first."""


class ToolAnswer(NamedTuple):
    """What a tool found, and the seconds of the device that it took."""

    text: str
    device_s: float = 0.0


def technique_cards(asked: SearchArguments, where: Context) -> tuple[FoundCard, ...]:
    """The knowledge base: cards that apply here and that the words, or the bottleneck, are about."""
    found = search(asked.query, where, asked.bottleneck, asked.limit)
    return tuple(
        FoundCard(name=hit.technique.name, title=hit.technique.title, text=card_words(hit.technique)) for hit in found
    )


class Toolbox:
    """The tools for one task. Safe to call concurrently: the evaluator queues what must be alone."""

    def __init__(
        self, task: Task, evaluator: Evaluator, language: LanguageName | None = None, library: Library = technique_cards
    ) -> None:
        self._task, self._evaluator, self._language, self._library = task, evaluator, language, library
        self._builds = _Verdicts(lambda candidate: evaluator.build(task, candidate))
        # No seeds are named, so that the referee draws secret ones and nobody else meets them.
        self._replays = _Verdicts(lambda candidate: evaluator.replay(task, candidate, ()))

    async def answer(self, call: ToolCall) -> ToolAnswer:
        """The answer to a call, JSON: the tool's result of `records.tools`, or a ToolFault.

        Raises:
            RefereeError: the referee broke.
        """
        try:
            found, seconds = await self._answer(call)
        except UsageError as error:
            found, seconds = ToolFault(error=str(error)), 0.0
        return ToolAnswer(found.model_dump_json(), seconds)

    def read(self, code: str, language: LanguageName | None = None) -> Candidate:
        """The kernel in a text; its language is the named one, the run's, or what the text says.

        Raises:
            UsageError: no kernel can be read from it; the message has the fix.
        """
        return parse_text(code, self._task.target.kind, language or self._language)

    async def profile(self, candidate: Candidate, verdict: Evaluation | None = None) -> tuple[ProfileResult, float]:
        """Where its time goes, and the device's seconds that this took; `verdict` is its own, where there is one.

        Raises:
            RefereeError: the referee broke.
        """
        known = verdict or await self._known(candidate)
        build = known.build if isinstance(known, Measured | Verified | Compiled) else None
        started = time.monotonic()
        profile = await self._evaluator.profile(self._task, next(candidate.points()), build)
        seconds = time.monotonic() - started
        return profile_result(profile, known if isinstance(known, Measured) else None), seconds

    def search(self, asked: SearchArguments) -> SearchResult:
        """What the library knows."""
        where = Context(kind=self._task.target.kind, language=self._language, family=self._task.graph.family)
        return SearchResult(cards=tuple(self._library(asked, where))[: asked.limit])

    async def _answer(self, call: ToolCall) -> tuple[Record, float]:
        if call.name not in ANSWERED:
            raise UsageError(f"the tool {call.name[:40]!r} is not answered here: call one of {', '.join(ANSWERED)}")
        arguments = read_arguments(call)
        if isinstance(arguments, SearchArguments):
            return self.search(arguments), 0.0
        candidate = self.read(arguments.code, named(arguments.language))
        if call.name == "compile":
            return await self.compile(candidate)
        return await (self.verify(candidate) if call.name == "verify" else self.profile(candidate))

    async def compile(self, candidate: Candidate) -> tuple[CompileResult, float]:
        """Whether it builds, and the device's seconds that this took; a verdict on its results says that too.

        Raises:
            RefereeError: the referee broke.
        """
        found, seconds = await (self._replays if candidate in self._replays else self._builds).of(candidate)
        if isinstance(found, Refused) or failed_to_build(found):
            return CompileResult(ok=False, log=words_of(found)), seconds
        facts = found.build.kernels if isinstance(found, Measured | Verified | Compiled) else ()
        return CompileResult(ok=True, kernels=facts), seconds

    async def verify(self, candidate: Candidate) -> tuple[VerifyResult, float]:
        """Right or wrong on inputs that were drawn for this call, and the device's seconds that this took.

        Raises:
            RefereeError: the referee broke.
        """
        found, seconds = await self._replays.of(candidate)
        judged = found if isinstance(found, Measured | Verified | Incorrect) else None
        result = VerifyResult(
            ok=isinstance(found, Measured | Verified),
            outcome=found.outcome,
            words=_right(found) if isinstance(found, Verified) else words_of(found),
            cases=judged.accuracy.cases if judged else (),
        )
        return result, seconds

    async def _known(self, candidate: Candidate) -> Evaluation | None:
        """What was found of it here, or is being found."""
        asked = next((asked for asked in (self._replays, self._builds) if candidate in asked), None)
        return (await asked.of(candidate))[0] if asked else None


class _Once(Generic[T]):
    """Answers by key: each is asked for once, also while it is still being found. What broke is forgotten."""

    def __init__(self) -> None:
        self._asked: dict[str, asyncio.Task[T]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._asked

    async def of(self, key: str, ask: Callable[[], Coroutine[None, None, T]]) -> tuple[T, bool]:
        """The answer, and whether it was found for this question: whoever asks first pays."""
        running = self._asked.get(key)
        if running is not None:
            return await running, False
        running = self._asked[key] = asyncio.create_task(ask())
        running.add_done_callback(partial(self._forget, key))
        return await running, True

    def _forget(self, key: str, ended: asyncio.Task[T]) -> None:
        if ended.cancelled() or ended.exception() is not None:
            del self._asked[key]


class _Verdicts:
    """What the referee says of each candidate, at its default tunables."""

    def __init__(self, ask: Callable[[Candidate], Coroutine[None, None, Evaluation]]) -> None:
        self._ask, self._once = ask, _Once[Evaluation]()

    def __contains__(self, candidate: Candidate) -> bool:
        return candidate.id in self._once

    async def of(self, candidate: Candidate) -> tuple[Evaluation, float]:
        """The verdict, and the device's seconds that it took."""
        found, first = await self._once.of(candidate.id, lambda: self._ask(next(candidate.points())))
        return found, found.paid_seconds if first else 0.0


def profile_result(profile: Profile, measured: Measured | None = None) -> ProfileResult:
    """A profile as a model reads it."""
    statement = diagnose(profile, measured)
    return ProfileResult(
        bottleneck=statement.bottleneck,
        words=statement.words,
        findings=statement.findings,
        tier=profile.tier,
        device_us=profile.device_us,
        kernels=tuple(KernelMetrics(name=k.name, own=k.own, metrics=_metrics(k)) for k in profile.kernels),
        loops=profile.loops,
        notes=profile.notes,
    )


def _metrics(kernel: KernelProfile) -> dict[str, float]:
    """Every figure that is known, by its name."""
    figures = {**kernel.model_dump(exclude={"name", "own", "counters"}), **kernel.counters.model_dump()}
    return {name: float(value) for name, value in figures.items() if isinstance(value, int | float)}


def _right(found: Verified) -> str:
    return f"Success. Output is right in all {len(found.accuracy.cases)} cases. No time was taken."


class Profiles:
    """Of one run's attempts, by candidate."""

    def __init__(self, task: Task, evaluator: Evaluator, attempts: Sequence[Attempt]) -> None:
        self._task, self._evaluator, self._attempts = task, evaluator, attempts
        self._once = _Once[str]()

    async def answer(self, number: int) -> ToolAnswer:
        """The profile as JSON; empty for an attempt that was never right, or never built.

        Raises:
            RefereeError: the referee broke.
        """
        attempt, began = self._attempts[number], time.monotonic()
        text, first = await self._once.of(attempt.proposal.candidate.id, lambda: self._profile(attempt))
        return ToolAnswer(text, time.monotonic() - began if first else 0.0)

    async def _profile(self, attempt: Attempt) -> str:
        found = attempt.evaluation
        if not isinstance(found, Measured | Verified | Compiled):
            return ""
        profile = await self._evaluator.profile(self._task, attempt.proposal.candidate, found.build)
        return profile.model_dump_json()


class Lowerings:
    """What PyTorch's compiler writes for one task: asked once for each choice of its settings."""

    def __init__(self, task: Task, evaluator: Evaluator) -> None:
        self._task, self._evaluator = task, evaluator
        self._once = _Once[Lowering]()

    async def of(self, options: Options) -> Lowering:
        """The text, or why there is none.

        Raises:
            RefereeError: the referee broke.
        """
        key = json.dumps(options, sort_keys=True)
        found, _ = await self._once.of(key, lambda: self._evaluator.lower(self._task, options))
        return found

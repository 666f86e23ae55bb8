"""The toolbox: answers a model's calls of `compile`, `verify`, `profile` and `search`.

Decides what each tool asks of the referee and how the answer reads. A call's arguments are a model's own text: whatever
is wrong with them is an answer. Refuses to know dialogues and budgets: whoever calls logs the call and books its seconds.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pydantic import ValidationError

from kernelwright.errors import UsageError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.feedback.bottleneck import diagnose
from kernelwright.feedback.describe import describe
from kernelwright.knowledge.search import card_words, search
from kernelwright.records.attempt import Attempt, Cost, Expansion, Proposal
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate, Language
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
from kernelwright.records.profile import KernelProfile, Profile
from kernelwright.records.task import Target, Task
from kernelwright.records.tools import (
    ARGUMENTS,
    CODE_CHARACTERS,
    CodeArguments,
    CompileResult,
    FoundCard,
    KernelMetrics,
    ProfileResult,
    SearchArguments,
    SearchResult,
    ToolFault,
    VerifyResult,
)
from kernelwright.tasks.kernel_file import parse_text

ARGUMENTS_CHARACTERS = 8 * CODE_CHARACTERS
"""Of a call's arguments as JSON: a code whose every character is escaped, and no more."""
ANSWERED = ("compile", "verify", "profile", "search")
"""The tools that are answered here."""

Library = Callable[[SearchArguments, Target], Sequence[FoundCard]]
"""Looks techniques up; at most as many as asked for, the best match first."""


class Answer(NamedTuple):
    """What a tool found, and the seconds of the device that it took."""

    text: str
    device_s: float = 0.0


def technique_cards(asked: SearchArguments, target: Target) -> tuple[FoundCard, ...]:
    """The knowledge base: cards for the target that the words, or the bottleneck, are about."""
    found = search(asked.query, target.kind, asked.bottleneck, asked.limit)
    return tuple(
        FoundCard(name=hit.technique.name, title=hit.technique.title, text=card_words(hit.technique)) for hit in found
    )


class Toolbox:
    """The tools for one task. Safe to call concurrently: the evaluator queues what must be alone."""

    def __init__(
        self, task: Task, evaluator: Evaluator, language: Language | None = None, library: Library = technique_cards
    ) -> None:
        self.device_s = 0.0
        """Seconds of the device that all calls so far took."""
        self._task, self._evaluator, self._language, self._library = task, evaluator, language, library
        self._replayed: dict[str, Evaluation] = {}
        self._builds: dict[str, Evaluation] = {}

    async def call(self, call: ToolCall) -> str:
        """The answer to a call, JSON: the tool's result of `records.tools`, or a ToolFault.

        Raises:
            RefereeError: the referee broke.
        """
        return (await self.answer(call)).text

    async def answer(self, call: ToolCall) -> Answer:
        """As `call`, with the seconds of the device that it took.

        Raises:
            RefereeError: the referee broke.
        """
        before = self.device_s
        try:
            found = await self._answer(call)
        except UsageError as error:
            found = ToolFault(error=str(error))
        return Answer(found.model_dump_json(), self.device_s - before)

    def read(self, code: str, language: Language | None = None) -> Candidate:
        """The kernel in a text; its language is the named one, the run's, or what the text says.

        Raises:
            UsageError: no kernel can be read from it; the message has the cure.
        """
        return parse_text(code, self._task.target.kind, language or self._language)

    async def compile(self, candidate: Candidate) -> CompileResult:
        """Whether it builds."""
        found = self._replayed.get(candidate.id) or await self._built(candidate)
        if isinstance(found, Refused) or failed_to_build(found):
            return CompileResult(ok=False, log=_words(candidate, found))
        facts = found.build.kernels if isinstance(found, Measured | Verified | Compiled) else ()
        return CompileResult(ok=True, kernels=facts)

    async def verify(self, candidate: Candidate) -> VerifyResult:
        """Right or wrong on inputs that were drawn for this call."""
        found = await self._replay(candidate)
        judged = found if isinstance(found, Measured | Verified | Incorrect) else None
        return VerifyResult(
            ok=isinstance(found, Measured | Verified),
            outcome=found.outcome,
            words=_words(candidate, found),
            cases=judged.accuracy.cases if judged else (),
        )

    async def profile(self, candidate: Candidate, found: Evaluation | None = None) -> ProfileResult:
        """Where its time goes; `found` is its verdict, where there is one."""
        known = found or self._replayed.get(candidate.id) or self._builds.get(candidate.id)
        build = known.build if isinstance(known, Measured | Verified | Compiled) else None
        started = time.monotonic()
        profile = await self._evaluator.profile(self._task, next(candidate.points()), build)
        self.device_s += time.monotonic() - started
        return profile_result(profile, known if isinstance(known, Measured) else None)

    def search(self, asked: SearchArguments) -> SearchResult:
        """What the library knows."""
        return SearchResult(cards=tuple(self._library(asked, self._task.target))[: asked.limit])

    async def _answer(self, call: ToolCall) -> Record:
        arguments = read_arguments(call)
        if isinstance(arguments, SearchArguments):
            return self.search(arguments)
        candidate = self.read(arguments.code, arguments.named)
        if call.name == "compile":
            return await self.compile(candidate)
        return await (self.verify(candidate) if call.name == "verify" else self.profile(candidate))

    async def _built(self, candidate: Candidate) -> Evaluation:
        """What the compiler alone says; asked once."""
        if candidate.id not in self._builds:
            found = await self._evaluator.build(self._task, next(candidate.points()))
            self.device_s += found.paid_seconds
            self._builds[candidate.id] = found
        return self._builds[candidate.id]

    async def _replay(self, candidate: Candidate) -> Evaluation:
        """The verdict without a time. No seeds are named, so that the referee draws secret ones and nobody else meets them."""
        if candidate.id not in self._replayed:
            found = await self._evaluator.replay(self._task, next(candidate.points()), ())
            self.device_s += found.paid_seconds
            self._replayed[candidate.id] = found
        return self._replayed[candidate.id]


def read_arguments(call: ToolCall) -> CodeArguments | SearchArguments:
    """The arguments of a call that is answered here.

    Raises:
        UsageError: there is no such tool, or the arguments are not what its schema says.
    """
    if call.name not in ANSWERED:
        raise UsageError(f"the tool {call.name[:40]!r} is not answered here: call one of {', '.join(ANSWERED)}")
    if len(call.arguments) > ARGUMENTS_CHARACTERS:
        raise UsageError(f"the arguments are longer than {ARGUMENTS_CHARACTERS} characters: send less")
    try:
        return ARGUMENTS[call.name].model_validate_json(call.arguments.encode("utf-8", "replace"))
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, f['loc']))}: {f['msg']}".lstrip(": ") for f in error.errors()[:5])
        raise UsageError(f"the arguments of {call.name} do not fit its schema: {faults}") from None


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
        notes=profile.notes,
    )


def _metrics(kernel: KernelProfile) -> dict[str, float]:
    """Every figure that is known, by its name."""
    figures = {**kernel.model_dump(exclude={"name", "own", "counters"}), **kernel.counters.model_dump()}
    return {name: float(value) for name, value in figures.items() if isinstance(value, int | float)}


def _words(candidate: Candidate, found: Evaluation) -> str:
    """What feedback says of it, as if it were an attempt."""
    if isinstance(found, Verified):
        return f"Success. Output is right in all {len(found.accuracy.cases)} cases. No time was taken."
    expansion = Expansion(number=0, intent="seed")
    attempt = Attempt(
        number=0, expansion=expansion, proposal=Proposal(candidate=candidate), evaluation=found, cost=Cost()
    )
    return describe(attempt, None, None).words

"""The Proposer protocol, a proposal request in and candidates out; and the ModelGateway, which the engine lends it for that.

A proposer turns words, parents and feedback into source text. It never evaluates, and it does not know
which strategy asked. What it must remember of a parent travels in the proposal's memo.

Whoever asks a model or a tool asks the gateway, so that every message is journaled before it is acted on, counted against the
run's budget, and played back when the run is resumed. A *thread* is the dialogue behind one candidate: the proposal request's
number and the candidate's place among its siblings. Calls of one thread are made one after another; threads run side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from pydantic import JsonValue

from kernelwright.errors import ProposeError
from kernelwright.records.attempt import Attempt, Proposal, ProposalRequest
from kernelwright.records.chat import ChatReply, ChatRequest, ToolCall
from kernelwright.records.feedback import Feedback
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.measure import BaselineName, Yardstick
from kernelwright.records.names import LanguageName
from kernelwright.records.profile import Profile
from kernelwright.records.run import Environment, Message, TuningEntry, TuningKey
from kernelwright.records.task import Task


class Thread(NamedTuple):
    """The dialogue behind one candidate."""

    proposal_request: int
    sibling: int


class NoRoom(Exception):  # noqa: N818  no error: the budget did what it is for
    """The run's budget pays for no further call. A proposer returns what it has."""


class ModelGateway(Protocol):
    """Models and tools, journaled and metered. What a method does by itself is what there is with nothing behind it."""

    async def ask(self, role: str, request: ChatRequest, sibling: int = 0) -> ChatReply:
        """A reply of the model that serves `role`: the recorded one, or a new one.

        Raises:
            NoRoom: the budget does not pay for the call.
            ModelError: the model cannot be had; the run ends and can be resumed.
            ProposeError: the run names no model for this role.
        """
        raise ProposeError(f"no model serves the role {role!r}: name one with --model")

    async def use(self, role: str, call: ToolCall, sibling: int = 0) -> str:
        """A tool's answer, JSON: `compile`, `verify`, `profile`, `search` (`records.tools`). Wrong arguments are an answer."""
        raise ProposeError(f"the tool {call.name!r} is not to be had here")

    def log(self, role: str, call: ToolCall, answer: str, sibling: int = 0) -> None:
        """Journal a call that the proposer answers itself; an empty answer: what is handed over will be judged first."""
        return

    async def profile(self, attempt: int, sibling: int = 0) -> Profile | None:
        """Where an attempt's time goes; None when that is withheld or it was never built.

        Raises:
            RefereeError: the referee broke.
        """
        return None

    async def lower(self, options: Options) -> Lowering:
        """What `torch.compile` writes for the run's task under settings of its own, or why it writes nothing.

        It follows from the task and from versions that a resumed run must share, so it is not journaled.

        Raises:
            RefereeError: the referee broke.
        """
        return Lowering(missing="nobody here asks PyTorch's compiler")

    def note(self, role: str, text: str, sibling: int = 0) -> None:
        """Journal a diagnosis, before it is acted on."""
        return

    def recall(self, thread: Thread) -> tuple[Message, ...]:
        """What was said behind an earlier candidate, in order."""
        return ()


class BareGateway(ModelGateway):
    """A gateway with nothing behind it: for proposers that ask nobody."""


@dataclass(frozen=True)
class RunFacts:
    """How the run stood when a proposal request was asked for: a function of the attempts that were told until then."""

    trials: int = 1
    """Attempts that the run may make, all together."""
    left: int = 1
    """How many of them were not told yet."""
    best: int | None = None
    """The best attempt so far; None: nothing was right, or feedback is withheld."""
    yardstick: Yardstick | None = None
    """None: it was not measured before the run, and nothing was timed yet, or feedback is withheld."""
    tried: frozenset[str] = frozenset()
    """`kernel_id` of its attempts' candidates: one more of them would teach nothing."""


@dataclass(frozen=True)
class Brief:
    """What a proposer gets to read for one proposal request."""

    task: Task
    proposal_request: ProposalRequest
    parents: tuple[Attempt, ...]
    """In the order of `proposal_request.parents`."""
    feedback: tuple[Feedback, ...]
    """One for each parent; empty when feedback is withheld."""
    seed: int
    """Fixed by the run and the proposal request, so that a resumed run proposes the same."""
    language: LanguageName | None = None
    """What to write; None: the proposer's own choice for the target."""
    gateway: ModelGateway = field(default_factory=BareGateway)
    """Where models and tools are asked."""
    run: RunFacts = RunFacts()
    tuned: TuningEntry | None = None
    """A schedule that won in an earlier run, for a kernel of the same family and class of shapes; None: none is known."""
    environment: Environment | None = None
    """Device and versions of the run; None: nothing is known of them."""

    @property
    def parent_source(self) -> str:
        """Source of the first parent; empty without one."""
        return self.parents[0].proposal.candidate.source if self.parents else ""


class Proposer(Protocol):
    """Writes kernels."""

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """Up to `brief.proposal_request.count` proposals.

        An answer of a model that holds no kernel is a proposal too, with an empty source: it was paid for.

        Raises:
            ProposeError: it cannot write this task; the message names the operations.
            ModelError: the model behind it cannot be had.
        """
        ...


@runtime_checkable
class Selective(Protocol):
    """A proposer that knows from the task alone whether it can write it; one without this method finds out in the run."""

    def refuse(self, task: Task, language: LanguageName | None) -> None:
        """Return if it can write this task, in this language where one is named.

        Raises:
            ProposeError: it cannot; the message names the operations.
        """
        ...


@runtime_checkable
class Informed(Protocol):
    """A proposer that shows what a kernel is held against: that is measured before the run begins."""

    held_against: tuple[BaselineName, ...]
    """Baselines whose times it shows."""


@runtime_checkable
class Starting(Protocol):
    """A proposer whose first kernel is one of the things that every kernel is timed against."""

    starts_as: BaselineName
    """The baseline: a kernel that is faster than this is ahead of it before it begins."""


@runtime_checkable
class Tuning(Protocol):
    """A proposer whose schedules are worth trying first in later runs."""

    def tuning_key(self, task: Task, language: LanguageName | None) -> TuningKey | None:
        """What a schedule for this task is good for; None: it writes none."""
        ...

    def schedule_of(self, attempt: Attempt) -> dict[str, JsonValue] | None:
        """The schedule behind an attempt of its own; None: another proposer's."""
        ...

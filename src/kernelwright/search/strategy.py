"""What a strategy is: a configuration that describes it, and an object that says where to look next; and bases for it.

A strategy asks for proposals, is told what became of each, and says when it is done. It sees records and nothing else: no
model, prompt, compiler or device. What it asks may depend on its configuration, on the state it began with and on what it
was told, since a resumed run rebuilds it by asking and telling again.

The bases `Rounds` and `Serial` number the proposal requests, ask for no more than the run's proposals pay for, and hand over
what a round yielded once all of it is told. A proposal request may close with fewer attempts than were asked for, or none;
that counts as one proposal, as in the engine.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Protocol

from pydantic import Field, JsonValue

from kernelwright.records.attempt import Attempt, ProposalRequest
from kernelwright.records.base import Record
from kernelwright.records.feedback import Feedback
from kernelwright.records.technique import GraphScope

CODER: str = ProposalRequest.model_fields["role"].default
"""The role that writes kernels unless a proposal request names another."""


PROPOSALS = 12
"""The budget of a strategy that asks for none of its own."""


class Limits(Record):
    """What a strategy may know of the run around it."""

    proposals: int = Field(ge=1)
    """The run's budget of proposals."""
    target_us: float | None = None
    """Call time that is good enough; None: as fast as possible."""
    scope: GraphScope | None = None
    """The graph of techniques and what of it is of use here, for strategies that walk it."""


class ExpectedCalls(Record):
    """How often a role is asked, at most."""

    role: str
    calls: int = Field(ge=0)
    """Requests for a kernel, or for advice on one."""
    conversation: int = Field(default=1, ge=1)
    """How many of them follow each other in one conversation; 1: each begins anew."""
    tools: bool = False
    """Whether each may take several replies, because the model calls tools before it answers."""


class StrategyConfig(Record, ABC):
    """A strategy's options, and what is known of it before it runs. A subclass gives `name` one literal value."""

    variant: ClassVar[str] = ""
    """The option that a command line may name after a colon (`tritongym:agent` sets `workflow`); empty: none."""
    listed: ClassVar[bool] = True
    """Whether people choose it by name; not if it belongs to one door of the program."""
    independent: ClassVar[bool] = False
    """Whether its attempts know nothing of each other and their number is fixed: only then does pass@k mean what it says.
    `tritongym:one_shot` stops at the target, so how many attempts it makes depends on what they brought."""
    reads_reward: ClassVar[bool] = False
    """Whether the reward decides where it looks next."""
    proposer: ClassVar[str] = ""
    """Who writes for it where neither a model nor a proposer is named; empty: the built-in author."""
    languages: ClassVar[Mapping[str, str]] = {}
    """What models write for it where nobody names a language, by kind of device: what its system writes. Left out: the
    device's usual language."""

    name: str

    def usual_proposals(self) -> int:
        """The budget of proposals that it needs, where nobody names one."""
        return PROPOSALS

    def trials(self, proposals: int) -> int:
        """The most attempts it makes on a budget of so many proposals."""
        return proposals

    def expected_calls(self, proposals: int) -> tuple[ExpectedCalls, ...]:
        """Who is asked how often if it makes all its trials."""
        return (ExpectedCalls(role=CODER, calls=self.trials(proposals)),)

    def graph_file(self) -> str | None:
        """The graph of techniques that it walks; empty: the one that comes with the package. None: it walks none."""
        return None

    @abstractmethod
    def make(self, limits: Limits) -> "Strategy":
        """A fresh strategy."""


class Strategy(Protocol):
    """Ask and tell. Several proposal requests may be in flight; they are told in the order in which they were asked.

    A proposal request's attempts are told one by one, then it is closed; only then is the next one's first attempt told. So a
    strategy with several proposal requests in flight goes the same way however long each of them took.
    """

    def ask(self, room: int) -> Sequence[ProposalRequest]:
        """At most `room` proposal requests. Empty while attempts are in flight means wait; otherwise, finished."""
        ...

    def tell(self, attempt: Attempt, feedback: Feedback) -> None:
        """Learn from one attempt; the feedback has its reward, and why it failed in words."""
        ...

    def closed(self, proposal_request: ProposalRequest) -> None:
        """Every attempt of this proposal request was told. There may have been fewer than asked for, or none."""
        ...

    def finished(self) -> str | None:
        """Why the search is over (a target reached, nothing left); None while it goes on."""
        ...

    def state(self) -> JsonValue:
        """What a later run should begin with: what this one began with and what it has learned. None: nothing."""
        return None

    def restore(self, state: JsonValue) -> None:
        """Begin with what earlier runs left; called at most once, before the first `ask`.

        Raises:
            UsageError: another version of the strategy left it.
        """
        del state  # most strategies have no memory

    def merge(self, stored: JsonValue, begun: JsonValue, ended: JsonValue) -> JsonValue:
        """What to store where a run began with `begun`, ended with `ended`, and others have stored `stored` meanwhile."""
        return add_learned(stored, begun, ended)


def add_learned(stored: JsonValue, begun: JsonValue, ended: JsonValue) -> JsonValue:
    """`stored` and what changed from `begun` to `ended`: numbers are added up, objects key by key, other values replaced.

    So a state of sums and counts loses nothing, whichever of two runs ends first; means and lists would.
    """
    if isinstance(ended, dict):
        old, first = (value if isinstance(value, dict) else {} for value in (stored, begun))
        return {**old, **{key: add_learned(old.get(key), first.get(key), value) for key, value in ended.items()}}
    if ended == begun and stored is not None:
        return stored
    if isinstance(ended, bool) or not isinstance(ended, int | float):
        return ended
    before, added = (value if isinstance(value, int | float) else 0 for value in (begun, stored))
    return added + (ended - before)


class Rounds(Strategy, ABC):
    """A round is in flight as far as there is room for it; the next one begins when all of it was told."""

    def __init__(self, limits: Limits) -> None:
        self._proposals = limits.proposals
        self._spent = 0
        self._asked = 0
        self._closed = 0
        self._waiting: deque[ProposalRequest] = deque()
        self._out: list[ProposalRequest] = []
        self._made: list[Attempt] = []
        self._yielded = 0
        """Attempts of the proposal request that is being told."""

    def ask(self, room: int) -> Sequence[ProposalRequest]:
        """What of this round fits; the next round once this one is over; nothing when the search is."""
        if room < 1 or self.finished():
            return []
        if not self._waiting and self._closed == self._asked:
            self._waiting.extend(self._affordable(self._round(self._asked)))
        asked = [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]
        self._asked += len(asked)
        self._out += asked
        return asked

    def tell(self, attempt: Attempt, feedback: Feedback) -> None:
        """Keep it until its round is over. Override it to learn from the feedback."""
        self._made.append(attempt)
        self._yielded += 1

    def closed(self, proposal_request: ProposalRequest) -> None:
        """Count it; when it was the last of its round, learn from all that the round yielded."""
        self._closed += 1
        self._spent += max(1, self._yielded)
        self._yielded = 0
        if not self._waiting and self._closed == self._asked:
            asked, made = self._out, self._made
            self._out, self._made = [], []
            self._learn_round(asked, made)

    def _affordable(self, wanted: Sequence[ProposalRequest]) -> Iterator[ProposalRequest]:
        left = self._proposals - self._spent
        for proposal_request in wanted:
            if left < 1:
                return
            count = min(proposal_request.count, left)
            left -= count
            yield proposal_request.model_copy(update={"count": count})

    @abstractmethod
    def finished(self) -> str | None:
        """See `Strategy.finished`."""

    @abstractmethod
    def _round(self, number: int) -> Sequence[ProposalRequest]:
        """The next round, numbered from `number`; asking changes nothing, so that a round may be asked for again."""

    @abstractmethod
    def _learn_round(self, asked: Sequence[ProposalRequest], made: Sequence[Attempt]) -> None:
        """What a round yielded, maybe nothing."""


class Serial(Rounds):
    """One proposal request in flight, for strategies that need the last answer before their next question."""

    def _round(self, number: int) -> Sequence[ProposalRequest]:
        return [self._next(number)]

    def _learn_round(self, asked: Sequence[ProposalRequest], made: Sequence[Attempt]) -> None:
        self._learn(asked[0], made)

    @abstractmethod
    def _next(self, number: int) -> ProposalRequest:
        """The next proposal request; asking changes nothing, so an answer that taught nothing repeats the question."""

    @abstractmethod
    def _learn(self, proposal_request: ProposalRequest, made: Sequence[Attempt]) -> None:
        """What a proposal request yielded, maybe nothing."""

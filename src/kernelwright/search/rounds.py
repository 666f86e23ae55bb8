"""Bases for strategies: rounds of proposal requests that are in flight together, and one proposal request after another.

They number the proposal requests, ask for no more than the run's proposals pay for, and hand over what a round
yielded once all of it is told. A proposal request may close with fewer attempts than were asked for, or none; that
counts as one proposal, as in the engine.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence

from kernelwright.records.attempt import Attempt, ProposalRequest
from kernelwright.records.feedback import Feedback
from kernelwright.search.strategy import Limits, Strategy


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
        self._told = 0

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
        self._told += 1

    def closed(self, proposal_request: ProposalRequest) -> None:
        """Count it; when it was the last of its round, learn from all that the round yielded."""
        self._closed += 1
        self._spent += max(1, self._told)
        self._told = 0
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
            yield (
                proposal_request
                if count == proposal_request.count
                else proposal_request.model_copy(update={"count": count})
            )

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

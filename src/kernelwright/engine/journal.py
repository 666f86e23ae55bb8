"""Journal: the run's memory while it works. What is written down is never done again.

A resumed run is the same run from its first step: every step is looked up here first, and only what
was never finished is really done. Each step that was recorded must be the one that is taken again;
otherwise the run stops before it writes anything, since its parts are not deterministic or have changed.
"""

from collections.abc import Sequence

from kernelwright.engine.events import EVENT, Event, Listener
from kernelwright.errors import StoreError
from kernelwright.propose.proposer import Thread
from kernelwright.records.attempt import Attempt, Proposal, ProposalRequest
from kernelwright.records.chat import ChatReply
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.run import BILLED, Message
from kernelwright.store.run import RunStore


class Journal:
    """A RunStore with everything that it held when the run began."""

    def __init__(self, store: RunStore, listener: Listener) -> None:
        self._store = store
        self._listener = listener
        self._proposal_requests = store.proposal_requests()
        self._proposals = store.proposals()
        self._attempts = store.attempts()
        self._tells = store.tells()
        self._evaluations = {key: samples[-1] for key, samples in store.evaluations().items()}
        self._messages: dict[Thread, list[Message]] = {}
        self.messages = 0
        """How many there are."""
        for message in store.messages():
            self._hear(message)

    def asked(self, proposal_request: ProposalRequest) -> bool:
        """Record a proposal request before anything is proposed for it; True when it was recorded already."""
        replayed = proposal_request.number < len(self._proposal_requests)
        if replayed:
            self.agree(
                "proposal request",
                proposal_request.number,
                self._proposal_requests[proposal_request.number] == proposal_request,
            )
        else:
            self._store.ask(proposal_request)
        return replayed

    def proposals(self, proposal_request: int) -> tuple[Proposal, ...] | None:
        """What was proposed for a proposal request; None if it was never answered."""
        return self._proposals.get(proposal_request)

    def proposed(self, proposal_request: int, proposals: Sequence[Proposal]) -> None:
        """Record an answer before any of it is evaluated."""
        self._store.propose(proposal_request, proposals)

    def evaluation(self, key: str) -> Evaluation | None:
        """What the referee found under the same circumstances."""
        return self._evaluations.get(key)

    def evaluated(self, key: str, evaluation: Evaluation) -> None:
        """Record a verdict as soon as it is reached."""
        self._evaluations[key] = evaluation
        self._store.evaluate(key, evaluation)

    def attempted(self, attempt: Attempt) -> bool:
        """Record a complete attempt; True when it was recorded already."""
        replayed = attempt.number < len(self._attempts)
        if replayed:
            self.agree("attempt", attempt.number, self._attempts[attempt.number] == attempt)
        else:
            self._store.append(attempt)
        return replayed

    def record_reward(self, attempt: int, reward: float) -> None:
        """Record what the strategy is about to be told."""
        if attempt < len(self._tells):
            self.agree("reward of attempt", attempt, self._tells[attempt] == (attempt, reward))
        else:
            self._store.tell(attempt, reward)

    def say(self, message: Message) -> None:
        """Record a message before it is acted on."""
        self._store.message(message)
        self._hear(message)

    def message(self, thread: Thread, step: int) -> Message | None:
        """What was said at a step of a dialogue; None if it never came so far."""
        said = self._messages.get(thread, [])
        return said[step] if step < len(said) else None

    def dialogue(self, thread: Thread) -> tuple[Message, ...]:
        """What was said behind a candidate, in order."""
        return tuple(self._messages.get(thread, ()))

    def said(self, proposal_request: int) -> tuple[Message, ...]:
        """Every message of a proposal request."""
        return tuple(
            message
            for thread, messages in self._messages.items()
            if thread.proposal_request == proposal_request
            for message in messages
        )

    def replies(self) -> list[ChatReply]:
        """Every model's reply so far that was paid for, those that never came among them."""
        said = (message for messages in self._messages.values() for message in messages)
        return [ChatReply.model_validate_json(message.text) for message in said if message.kind in BILLED]

    def emit(self, event: Event) -> None:
        """Pass an event on, and record it unless it is a replayed one."""
        if not event.replayed:
            self._store.event(EVENT.dump_json(event).decode())
        self._listener(event)

    def tell(self, event: Event) -> None:
        """Pass on what is of this moment alone."""
        self._listener(event)

    def _hear(self, message: Message) -> None:
        self._messages.setdefault(Thread(message.proposal_request, message.sibling), []).append(message)
        self.messages += 1

    def agree(self, what: str, number: int, same: bool) -> None:
        """Take note that a recorded step is taken again.

        Raises:
            StoreError: it would be another one this time.
        """
        if not same:
            raise StoreError(
                f"the run at {self._store.folder} cannot go on: its {what} {number} would differ this time. "
                "The strategy, the reward or the prompts have changed since: use the version that began the run, "
                "or start a new one"
            )

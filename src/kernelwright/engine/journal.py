"""Journal: the run's memory while it works. What is written down is never done again.

A resumed run is the same run from its first step: every step is looked up here first, and only what
was never finished is really done. Each step that was recorded must be the one that is taken again;
otherwise the run stops before it writes anything, since its parts are not deterministic or have changed.
"""

from collections.abc import Sequence

from kernelwright.engine.events import EVENT, Event, Listener
from kernelwright.errors import StoreError
from kernelwright.propose.desk import Thread
from kernelwright.records.attempt import Attempt, Expansion, Proposal
from kernelwright.records.chat import ChatReply
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.run import BILLED, Turn
from kernelwright.store.run import RunStore


class Journal:
    """A RunStore with everything that it held when the run began."""

    def __init__(self, store: RunStore, listener: Listener) -> None:
        self._store = store
        self._listener = listener
        self._expansions = store.expansions()
        self._proposals = store.proposals()
        self._attempts = store.attempts()
        self._tells = store.tells()
        self._evaluations = {key: samples[-1] for key, samples in store.evaluations().items()}
        self._turns: dict[Thread, list[Turn]] = {}
        self.turns = 0
        """How many there are."""
        for turn in store.turns():
            self._hear(turn)

    def asked(self, expansion: Expansion) -> bool:
        """Record an expansion before anything is proposed for it; True when it was recorded already."""
        replayed = expansion.number < len(self._expansions)
        if replayed:
            self.agree("expansion", expansion.number, self._expansions[expansion.number] == expansion)
        else:
            self._store.ask(expansion)
        return replayed

    def proposals(self, expansion: int) -> tuple[Proposal, ...] | None:
        """What was proposed for an expansion; None if it was never answered."""
        return self._proposals.get(expansion)

    def proposed(self, expansion: int, proposals: Sequence[Proposal]) -> None:
        """Record an answer before any of it is evaluated."""
        self._store.propose(expansion, proposals)

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

    def told(self, attempt: int, reward: float) -> None:
        """Record what the strategy is about to be told."""
        if attempt < len(self._tells):
            self.agree("reward of attempt", attempt, self._tells[attempt] == (attempt, reward))
        else:
            self._store.tell(attempt, reward)

    def say(self, turn: Turn) -> None:
        """Record a message before it is acted on."""
        self._store.turn(turn)
        self._hear(turn)

    def turn(self, thread: Thread, step: int) -> Turn | None:
        """What was said at a step of a dialogue; None if it never came so far."""
        said = self._turns.get(thread, [])
        return said[step] if step < len(said) else None

    def dialogue(self, thread: Thread) -> tuple[Turn, ...]:
        """What was said behind a candidate, in order."""
        return tuple(self._turns.get(thread, ()))

    def said(self, expansion: int) -> tuple[Turn, ...]:
        """Every message of an expansion."""
        return tuple(turn for thread, turns in self._turns.items() if thread.expansion == expansion for turn in turns)

    def replies(self) -> list[ChatReply]:
        """Every model's reply so far that was paid for, those that never came among them."""
        said = (turn for turns in self._turns.values() for turn in turns)
        return [ChatReply.model_validate_json(turn.text) for turn in said if turn.kind in BILLED]

    def emit(self, event: Event) -> None:
        """Pass an event on, and record it unless it is a replayed one."""
        if not event.replayed:
            self._store.event(EVENT.dump_json(event).decode())
        self._listener(event)

    def _hear(self, turn: Turn) -> None:
        self._turns.setdefault(Thread(turn.expansion, turn.sibling), []).append(turn)
        self.turns += 1

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

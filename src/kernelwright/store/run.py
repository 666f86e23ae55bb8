"""RunStore: the journal of one run, in the words of the records.

Rows are only ever added. An identical question asked again is a numbered sample of its evaluation, never an overwritten
one.

    folder/run.sqlite    card, state, proposal requests, proposals, evaluations, attempts, tells, turns, events, outcomes
    folder/report.html   written by the report
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self, TypeVar, overload

from pydantic import JsonValue, TypeAdapter, ValidationError

from kernelwright.errors import StoreError
from kernelwright.records.attempt import Attempt, Proposal, ProposalRequest
from kernelwright.records.base import Record, complaint
from kernelwright.records.brief import Brief, brief_of
from kernelwright.records.evaluation import EVALUATION, Evaluation
from kernelwright.records.run import Message, Outcome, RunCard, state_id
from kernelwright.store.database import Database

R = TypeVar("R", bound=Record)
T = TypeVar("T")

_BRIEF: TypeAdapter[Brief] = TypeAdapter(Brief)
_PROPOSALS: TypeAdapter[tuple[Proposal, ...]] = TypeAdapter(tuple[Proposal, ...])


@cache
def _adapter(kind: type[R]) -> TypeAdapter[R]:
    return TypeAdapter(kind)


class Tell(NamedTuple):
    """What the strategy was told: an attempt and its reward, in the order of telling."""

    attempt: int
    reward: float


class RunStore:
    """One run's folder. Reading is open to everybody, writing to one process at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._history: StoredAttempts | None = None
        self._afterwards: Callable[[], None] | None = None
        try:
            self.card = self._parse(RunCard, self._bodies("card")[0])
        except StoreError:
            database.close()
            raise

    @classmethod
    def create(cls, folder: Path, card: RunCard, state: JsonValue = None) -> Self:
        """A new run, open for writing; `state` is what its strategy begins with, and the card has its hash.

        Raises:
            StoreError: the folder already holds a run, or cannot be written.
        """
        body = json.dumps(state) if state is not None else None
        return cls(Database.create(folder, card.model_dump_json(), body))

    @classmethod
    def open(cls, folder: Path, *, writing: bool = False) -> Self:
        """An existing run.

        Raises:
            StoreError: missing, corrupt, of another schema version, or written by another process now.
        """
        return cls(Database.open(folder, writing=writing))

    @property
    def folder(self) -> Path:
        """Where the run lives."""
        return self._database.folder

    @property
    def live(self) -> bool:
        """Whether another process is working on the run now."""
        return self._database.written_elsewhere()

    @property
    def unproved(self) -> str:
        """Why nothing proves that the rows are what was written; empty where their seals do."""
        return self._database.unproved

    def state(self) -> JsonValue:
        """What the strategy began with; None: nothing.

        Raises:
            StoreError: it is not what the card says.
        """
        bodies = self._bodies("state")
        found: JsonValue = json.loads(bodies[0]) if bodies else None
        if state_id(found) != self.card.state:
            raise StoreError(f"the run at {self.folder} is corrupt: its strategy's state is not the card's")
        return found

    def attempts(self) -> list[Attempt]:
        """Every attempt, in order."""
        return [self._parse(Attempt, body) for body in self._bodies("attempts")]

    def history(self) -> "StoredAttempts":
        """The same, read when they are asked for: in brief all, in full one by one. For as long as the store is open."""
        if self._history is None:
            self._history = StoredAttempts(self)
        return self._history

    def attempt(self, number: int) -> Attempt | None:
        """One attempt; None: there is none of that number."""
        row = self._database.row("attempts", number)
        return self._parse(Attempt, str(row[-1])) if row is not None else None

    def briefs(self, first: int = 0) -> Iterator[Brief]:
        """Every attempt from a number on in brief, in order."""
        for *_, body in self._database.each("attempts", first):
            brief = self._read(_BRIEF, str(body))
            yield brief if brief.right else brief_of(self._parse(Attempt, str(body)))

    def append(self, attempt: Attempt) -> None:
        """Add one attempt, for good."""
        self._database.add(
            "attempts",
            attempt.number,
            attempt.proposal_request.number,
            attempt.proposal.candidate.id,
            attempt.evaluation.outcome,
            attempt.model_dump_json(),
        )

    def proposal_requests(self) -> list[ProposalRequest]:
        """What the strategy asked for, in order."""
        return [self._parse(ProposalRequest, body) for body in self._bodies("proposal_requests")]

    def ask(self, proposal_request: ProposalRequest) -> None:
        """Journal one proposal request, before anything is proposed for it."""
        self._database.add("proposal_requests", proposal_request.number, proposal_request.model_dump_json())

    def proposals(self) -> dict[int, tuple[Proposal, ...]]:
        """The proposals of each proposal request that was answered, by its number."""
        rows = self._database.rows("proposals")
        return {int(number): self._read(_PROPOSALS, str(body)) for number, body in rows}

    def propose(self, proposal_request: int, proposals: Sequence[Proposal]) -> None:
        """Journal the answer to a proposal request, all of it at once, before any of it is evaluated."""
        body = _PROPOSALS.dump_json(tuple(proposals)).decode()
        self._database.add("proposals", proposal_request, body)

    def evaluations(self) -> dict[str, tuple[Evaluation, ...]]:
        """Every evaluation by its key, samples in order."""
        found: dict[str, tuple[Evaluation, ...]] = {}
        for key, _, body in self._database.rows("evaluations"):
            found[str(key)] = (*found.get(str(key), ()), self._read(EVALUATION, str(body)))
        return found

    def evaluate(self, key: str, evaluation: Evaluation) -> None:
        """Journal one more sample of an evaluation."""
        ((sample,),) = self._database.read("SELECT COUNT(*) FROM evaluations WHERE key = ?", key)
        self._database.add("evaluations", key, sample, EVALUATION.dump_json(evaluation).decode())

    def tells(self) -> list[Tell]:
        """What the strategy was told, in order."""
        return [Tell(int(attempt), float(reward)) for _, attempt, reward in self._database.rows("tells")]

    def tell(self, attempt: int, reward: float) -> None:
        """Journal what the strategy is about to be told."""
        self._database.add("tells", self._database.count("tells"), attempt, float(reward))

    def messages(self) -> list[Message]:
        """The dialogues' messages, in order."""
        return [self._parse(Message, body) for body in self._bodies("messages")]

    def conversations(self) -> "StoredMessages":
        """The same, read each time that they are gone through. For as long as the store is open."""
        return StoredMessages(self)

    def each_message(self) -> Iterator[Message]:
        """The same, one after another."""
        return (self._parse(Message, str(body)) for *_, body in self._database.each("messages"))

    def message(self, message: Message) -> None:
        """Journal one message, before it is acted on."""
        self._database.add("messages", message.number, message.model_dump_json())

    def events(self) -> list[str]:
        """The events as JSON, in order; `engine.events` has their types."""
        return self._bodies("events")

    def event(self, body: str) -> None:
        """Journal one event with the time of day."""
        self._database.add("events", self._database.count("events"), datetime.now(UTC).isoformat(), body)

    def outcome(self) -> Outcome | None:
        """How the run ended the last time; None when it never did."""
        bodies = self._bodies("outcomes")
        return self._parse(Outcome, bodies[-1]) if bodies else None

    def finish(self, outcome: Outcome) -> None:
        """Add how the run ended. A run that was interrupted, resumed and finished has two."""
        self._database.add("outcomes", self._database.count("outcomes"), outcome.model_dump_json())

    def afterwards(self, call: Callable[[], None]) -> None:
        """Call it once the file is closed, and so is what it stays."""
        self._afterwards = call

    def close(self) -> None:
        """Close the file; a writer's lock ends with it."""
        self._database.close()
        if self._afterwards is not None:
            self._afterwards()
            self._afterwards = None

    def discard(self) -> None:
        """Close the file and remove the folder: of a run that came to nothing."""
        self._afterwards = None
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _bodies(self, table: str) -> list[str]:
        return [str(row[-1]) for row in self._database.rows(table)]

    def _parse(self, kind: type[R], body: str) -> R:
        adapter: TypeAdapter[R] = _adapter(kind)
        return self._read(adapter, body)

    def _read(self, adapter: TypeAdapter[T], body: str) -> T:
        try:
            return adapter.validate_json(body)
        except ValidationError as error:
            raise StoreError(
                f"the run at {self.folder} holds a row that this version of kernelwright cannot read "
                f"({complaint(error.errors()[0])}): use the version that wrote it, or start a new run"
            ) from error


class StoredAttempts(Sequence[Attempt]):
    """The attempts of an open store: in brief they are read once, in full each time that one is asked for."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._briefs: list[Brief] = []

    def briefs(self) -> Sequence[Brief]:
        """All of them in brief, in order."""
        self._briefs += self._store.briefs(len(self._briefs))
        return self._briefs

    def numbered(self, number: int) -> Attempt | None:
        """One of them in full; None: there is none of that number."""
        return self._store.attempt(number)

    def __len__(self) -> int:
        return len(self.briefs())

    @overload
    def __getitem__(self, number: int) -> Attempt: ...
    @overload
    def __getitem__(self, number: slice) -> list[Attempt]: ...
    def __getitem__(self, number: int | slice) -> Attempt | list[Attempt]:
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        found = self._store.attempt(number if number >= 0 else len(self) + number)
        if found is None:
            raise IndexError(number)
        return found


class StoredMessages(Iterable[Message]):
    """The messages of an open store, for who goes through them from the first to the last."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def __iter__(self) -> Iterator[Message]:
        return self._store.each_message()

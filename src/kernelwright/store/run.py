"""RunStore: the journal of one run, in the words of the records.

Rows are only ever added. An identical question asked again is a numbered sample of its evaluation, never an overwritten
one.

    folder/run.sqlite    card, state, proposal requests, proposals, evaluations, attempts, tells, turns, events, outcomes
    folder/report.html   written by the report
"""

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from kernelwright.errors import StoreError
from kernelwright.records.attempt import Attempt, Proposal, ProposalRequest
from kernelwright.records.base import Record, complaint
from kernelwright.records.evaluation import EVALUATION, Evaluation
from kernelwright.records.run import Message, Outcome, RunCard, state_id
from kernelwright.store.database import Database

R = TypeVar("R", bound=Record)
T = TypeVar("T")

_PROPOSALS: TypeAdapter[tuple[Proposal, ...]] = TypeAdapter(tuple[Proposal, ...])


class Tell(NamedTuple):
    """What the strategy was told: an attempt and its reward, in the order of telling."""

    attempt: int
    reward: float


class RunStore:
    """One run's folder. Reading is open to everybody, writing to one process at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        try:
            self.card = self._card()
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

    def append(self, attempt: Attempt) -> None:
        """Add one attempt, for good."""
        self._database.write(
            "INSERT INTO attempts VALUES (?, ?, ?, ?, ?)",
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
        body = proposal_request.model_dump_json()
        self._database.write("INSERT INTO proposal_requests VALUES (?, ?)", proposal_request.number, body)

    def proposals(self) -> dict[int, tuple[Proposal, ...]]:
        """The proposals of each proposal request that was answered, by its number."""
        rows = self._database.read("SELECT proposal_request, body FROM proposals ORDER BY proposal_request")
        return {int(number): self._read(_PROPOSALS, str(body)) for number, body in rows}

    def propose(self, proposal_request: int, proposals: Sequence[Proposal]) -> None:
        """Journal the answer to a proposal request, all of it at once, before any of it is evaluated."""
        body = _PROPOSALS.dump_json(tuple(proposals)).decode()
        self._database.write("INSERT INTO proposals VALUES (?, ?)", proposal_request, body)

    def evaluations(self) -> dict[str, tuple[Evaluation, ...]]:
        """Every evaluation by its key, samples in order."""
        found: dict[str, tuple[Evaluation, ...]] = {}
        for key, body in self._database.read("SELECT key, body FROM evaluations ORDER BY key, sample"):
            found[str(key)] = (*found.get(str(key), ()), self._read(EVALUATION, str(body)))
        return found

    def evaluate(self, key: str, evaluation: Evaluation) -> None:
        """Journal one more sample of an evaluation."""
        self._database.write(
            "INSERT INTO evaluations SELECT ?, COUNT(*), ? FROM evaluations WHERE key = ?",
            key,
            EVALUATION.dump_json(evaluation).decode(),
            key,
        )

    def tells(self) -> list[Tell]:
        """What the strategy was told, in order."""
        rows = self._database.read("SELECT attempt, reward FROM tells ORDER BY number")
        return [Tell(int(attempt), float(reward)) for attempt, reward in rows]

    def tell(self, attempt: int, reward: float) -> None:
        """Journal what the strategy is about to be told."""
        statement = "INSERT INTO tells SELECT COUNT(*), ?, ? FROM tells"
        self._database.write(statement, attempt, float(reward))

    def messages(self) -> list[Message]:
        """The dialogues' messages, in order."""
        return [self._parse(Message, body) for body in self._bodies("messages")]

    def message(self, message: Message) -> None:
        """Journal one message, before it is acted on."""
        self._database.write("INSERT INTO messages VALUES (?, ?)", message.number, message.model_dump_json())

    def events(self) -> list[str]:
        """The events as JSON, in order; `engine.events` has their types."""
        return self._bodies("events")

    def event(self, body: str) -> None:
        """Journal one event with the time of day."""
        at = datetime.now(UTC).isoformat()
        self._database.write("INSERT INTO events SELECT COUNT(*), ?, ? FROM events", at, body)

    def outcome(self) -> Outcome | None:
        """How the run ended the last time; None when it never did."""
        bodies = self._bodies("outcomes")
        return self._parse(Outcome, bodies[-1]) if bodies else None

    def finish(self, outcome: Outcome) -> None:
        """Add how the run ended. A run that was interrupted, resumed and finished has two."""
        statement = "INSERT INTO outcomes SELECT COUNT(*), ? FROM outcomes"
        self._database.write(statement, outcome.model_dump_json())

    def close(self) -> None:
        """Close the file; a writer's lock ends with it."""
        self._database.close()

    def discard(self) -> None:
        """Close the file and remove the folder: of a run that came to nothing."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _bodies(self, table: str) -> list[str]:
        return [str(body) for (body,) in self._database.read(f"SELECT body FROM {table} ORDER BY rowid")]

    def _card(self) -> RunCard:
        return self._parse(RunCard, self._bodies("card")[0])

    def _parse(self, kind: type[R], body: str) -> R:
        return self._read(TypeAdapter(kind), body)

    def _read(self, adapter: TypeAdapter[T], body: str) -> T:
        try:
            return adapter.validate_json(body)
        except ValidationError as error:
            raise StoreError(
                f"the run at {self.folder} holds a row that this version of kernelwright cannot read "
                f"({complaint(error.errors()[0])}): use the version that wrote it, or start a new run"
            ) from error

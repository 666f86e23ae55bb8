"""The mock LLM server: real HTTP in OpenAI's format, on loopback, answered by the built-in author.

It counts calls, applies faults of transport, and closes without a thread left behind.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from types import TracebackType
from typing import NamedTuple, Self

from kernelwright.records.base import Record
from kernelwright.records.task import Task
from mock_llm import wire
from mock_llm.answer import MODEL
from mock_llm.facts import Facts, facts_in
from mock_llm.faults import STREAMED, Faults
from mock_llm.loopback import Loopback
from mock_llm.model import MockModel
from mock_llm.wire import BROKEN_STREAMS, WITH_USAGE, Asked, Body, Sent, spoiled, whole


class Arrival(NamedTuple):
    """A call's place among those before it."""

    number: int
    of_role: int
    before: int
    """How often the same request came before."""


class Served(Record):
    """One call, as the server saw it."""

    number: int
    """Position among all calls, from 0, in the order of arrival."""
    request: str
    """Hash of what was asked: the same question is the same request."""
    role: str
    """`coder`, `judge-repair`, `judge-improve`, `reflector` or `agent`, as the prompt reads."""
    kind: str
    """What was done: `seed`, `mended`, `unmended`, `improved`, `sideways`, `best`, `advice`, … or the transport's fault."""
    fault: str = ""
    """The fault of the reply's content, if it has one."""
    status: int = 200
    """Of HTTP; 0: no answer was completed."""
    prompt_tokens: int = 0
    """As told to the client; 0 where nothing was told."""
    completion_tokens: int = 0
    facts: Facts | None = None
    """What the prompt told; None where it could not be read."""

    @classmethod
    def of(cls, arrival: Arrival, asked: Asked, kind: str, status: int = 200, fault: str = "") -> Self:
        """The line of a request that could be read; its tokens are told to nobody."""
        role, request = asked.prompt.role, asked.request
        facts = facts_in(asked.prompt)
        return cls(
            number=arrival.number, request=request, role=role, kind=kind, fault=fault, status=status, facts=facts
        )

    def with_usage(self, body: Body) -> Self:
        """The same, with the tokens that a body tells."""
        found = body.get("usage")
        usage = found if isinstance(found, dict) else {}
        told = {name: int(str(usage.get(name, 0))) for name in ("prompt_tokens", "completion_tokens")}
        return self.model_copy(update=told)


class CallRecord:
    """All calls of one server."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._number = 0
        self._roles: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()
        self._served: list[Served] = []

    def arrive(self, role: str, request: str) -> Arrival:
        """Number a call."""
        with self._lock:
            found = Arrival(self._number, self._roles[role], self._requests[request])
            self._number += 1
            self._roles[role] += 1
            self._requests[request] += 1
            return found

    def serve(self, served: Served) -> None:
        """Keep a line."""
        with self._lock:
            self._served.append(served)

    @property
    def served(self) -> tuple[Served, ...]:
        """Every line so far, by the calls' numbers."""
        with self._lock:
            return tuple(sorted(self._served, key=lambda s: s.number))


def tally(calls: Iterable[Served]) -> Counter[str]:
    """How many calls there were of each kind."""
    return Counter(call.kind for call in calls)


UNTOLD = "none"
"""The role of a call whose request could not be read."""


class MockLLMServer:
    """A chat server for tests and drills; use it as a context manager.

    What it writes is the built-in author's, with faults by a seed: never a model's result.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        seed: int = 0,
        faults: Faults | None = None,
        best: Mapping[str, str] | None = None,
        port: int = 0,
        cuda: Mapping[str, str] | None = None,
    ) -> None:
        """Takes admitted tasks; `best` has the best schedule known, as JSON, by a task's id or name; `cuda` right kernels in
        CUDA C++ by the task's name, for prompts that ask for it.

        Raises:
            ProposeError: the author does not write one of the tasks.
            UsageError: a schedule cannot be read.
        """
        self.faults = faults or Faults()
        self._seed = seed
        self._model = MockModel(tasks, seed, self.faults, best or {}, cuda or {})
        self._record = CallRecord()
        self._closing = threading.Event()
        self._http = Loopback(port, self.reply, self._closing)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, name="drill")

    @property
    def base_url(self) -> str:
        """What a client takes for `OPENAI_BASE_URL`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def model(self) -> str:
        """The name of its only model."""
        return MODEL

    @property
    def served(self) -> tuple[Served, ...]:
        """A line for each call that ended, by their numbers."""
        return self._record.served

    @property
    def counts(self) -> Counter[str]:
        """Calls by what was done."""
        return tally(self.served)

    def start(self) -> Self:
        """Begin to serve."""
        self._thread.start()
        return self

    def close(self) -> None:
        """End every connection and wait for every thread."""
        self._closing.set()
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.hang_up()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def reply(self, raw: bytes) -> Sent:
        """What a request's body is answered with."""
        try:
            asked = wire.read(raw)
        except wire.Unreadable as error:
            arrival = self._record.arrive(UNTOLD, "")
            self._record.serve(Served(number=arrival.number, request="", role=UNTOLD, kind="unreadable", status=400))
            return whole(wire.error(str(error), "invalid_request_error"), 400)
        arrival = self._record.arrive(asked.prompt.role, asked.request)
        refused = self._refusal(asked)
        if refused is not None:
            self._record.serve(Served.of(arrival, asked, "refused", refused.status))
            return refused
        return self._answer(arrival, asked)

    def _refusal(self, asked: wire.Asked) -> Sent | None:
        if not asked.model.startswith("drill"):
            message = f"The model `{asked.model[:80]}` does not exist; this server has {MODEL}"
            return whole(wire.error(message, "invalid_request_error", "model_not_found", "model"), 404)
        named = next((p for p in self.faults.refused if p in asked.parameters), None)
        if named is None:
            return None
        message = f"Unsupported parameter: '{named}' is not supported with this model."
        return whole(wire.error(message, "invalid_request_error", "unsupported_parameter", named), 400)

    def _answer(self, arrival: Arrival, asked: wire.Asked) -> Sent:
        role = asked.prompt.role
        fault = self.faults.scripted(arrival.number, role, arrival.of_role)
        fault = fault or self.faults.passing(self._seed, asked.chance, arrival.before)
        answer = self._model.answer(asked.prompt, asked.chance, asked.tools)
        body = wire.completion(answer, asked)
        if fault is None or (fault in STREAMED and not asked.streams):
            self._record.serve(Served.of(arrival, asked, answer.kind, fault=answer.fault).with_usage(body))
            return whole(body)
        sent = spoiled(fault, body, self.faults.retry_after_s)
        whole_answer = sent.cut is None and fault not in BROKEN_STREAMS
        served = Served.of(arrival, asked, fault, sent.status if whole_answer else 0)
        self._record.serve(served.with_usage(body) if fault in WITH_USAGE else served)
        if fault == "stall":
            self._closing.wait(self.faults.stall_s)
        return replace(sent, silent_s=self.faults.stall_s)

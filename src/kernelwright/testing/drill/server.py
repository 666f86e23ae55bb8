"""The drill server: real HTTP in OpenAI's format, on loopback, answered by the built-in author.

Decides nothing about kernels: it counts, applies faults of transport, and closes without a thread left behind.
"""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from kernelwright.records.task import Task
from kernelwright.testing.drill import wire
from kernelwright.testing.drill.faults import Faults
from kernelwright.testing.drill.loopback import Loopback
from kernelwright.testing.drill.model import DrillModel
from kernelwright.testing.drill.record import Arrival, CallRecord, Served, tally
from kernelwright.testing.drill.shown import MODEL
from kernelwright.testing.drill.transport import WITH_USAGE, Sent, spoiled, whole

NEVER = ("stream",)
"""Parameters that no server of this kind takes."""
UNTOLD = "none"
"""The role of a call whose request could not be read."""


class DrillServer:
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
    ) -> None:
        """Takes admitted tasks; `best` has the best schedule known, as JSON, by a task's id or name.

        Raises:
            ProposeError: the author does not write one of the tasks.
            UsageError: a schedule cannot be read.
        """
        self.faults = faults or Faults()
        self._seed = seed
        self._model = DrillModel(tasks, seed, self.faults, best or {})
        self._record = CallRecord()
        self._closing = threading.Event()
        self._http = Loopback(port, self.reply)
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
        named = next((p for p in (*self.faults.refused, *NEVER) if p in asked.parameters), None)
        if named is None:
            return None
        message = f"Unsupported parameter: '{named}' is not supported with this model."
        return whole(wire.error(message, "invalid_request_error", "unsupported_parameter", named), 400)

    def _answer(self, arrival: Arrival, asked: wire.Asked) -> Sent:
        role = asked.prompt.role
        fault = self.faults.scripted(arrival.number, role, arrival.of_role)
        fault = fault or self.faults.passing(self._seed, asked.request, arrival.before)
        answer = self._model.answer(asked.prompt, asked.request, asked.tools)
        body = wire.completion(answer, asked)
        if fault is None:
            self._record.serve(Served.of(arrival, asked, answer.kind, fault=answer.fault).with_usage(body))
            return whole(body)
        sent = spoiled(fault, body, self.faults.retry_after_s)
        served = Served.of(arrival, asked, fault, 0 if sent.cut is not None else sent.status)
        self._record.serve(served.with_usage(body) if fault in WITH_USAGE else served)
        if fault == "stall":
            self._closing.wait(self.faults.stall_s)
        return sent

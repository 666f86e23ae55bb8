"""Endpoint: a model behind HTTP, whatever its protocol; a `Dialect` composes requests and reads replies.

It retries, learns from refusals, and passes on empty answers. Only ModelError leaves here, raised outside of any
handler, so that it drags along no request and no key.

The key comes from an environment variable, and can be taken out of any text. It cannot be printed, pickled or compared, so it
reaches neither logs nor workers.
"""

import asyncio
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import NoReturn

from pydantic import JsonValue

from kernelwright.errors import ModelError, UsageError
from kernelwright.models.answer import BYTES_A_TOKEN, Answer, Dialect, added, counted, prompt_tokens
from kernelwright.models.capability import CACHE, SYSTEM, Capabilities
from kernelwright.models.config import ModelConfig
from kernelwright.models.fault import (
    Complaint,
    Fault,
    RetryPolicy,
    explain,
    is_refusal,
    is_too_long,
    worth_retrying,
)
from kernelwright.models.prices import Price, cost, price_of
from kernelwright.models.wire import dict_in, list_in, parsed
from kernelwright.records.chat import ChatReply, ChatRequest, ToolCall, Usage

EMPTY_RETRIES = 2
"""How often an empty answer is asked for again before it is passed on as it is."""
GONE = ("timeout", "cut", "stalled")
"""Faults of a request that was sent and whose reply did not arrive: it counts by its estimate."""
MOST_LESSONS = 8
"""How many refusals one call may learn from."""
LEAST_ROOM = 0.5
"""Share of the room for a reply that must be left to ask again after an answer that was paid for and is of no use."""

NO_LIMIT = (
    "A cap on tokens or money holds only where the length of a reply can be limited: "
    "leave --max-tokens and --max-usd out, or use another endpoint."
)


SHORTEST = 8
"""Characters. A shorter key is not looked for in texts: it would be found in innocent words."""
PLACEHOLDER = "none"
"""What a local endpoint that needs no key is sent."""
REDACTED = "[key]"
WIRES = ("httpcore", "httpcore2", "httpx", "httpx2", "openai._base_client", "anthropic._base_client")
"""Loggers that write down what an endpoint's headers say, which may be the key said back."""


class Secret:
    """A key, and where it came from."""

    __slots__ = ("_forms", "_key", "variable")

    def __init__(self, key: str, variable: str) -> None:
        self._key, self.variable = key, variable
        """The environment variable, for the fix in messages."""
        self._forms = re.compile("".join(map(_letter, key))) if len(key) >= SHORTEST else None

    def reveal(self) -> str:
        """The key itself, to hand to an SDK."""
        return self._key

    def redact(self, text: str) -> str:
        """The text without the key, whoever put it there."""
        return self._forms.sub(REDACTED, text) if self._forms else text

    def __repr__(self) -> str:
        return f"Secret({self.variable})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key does not leave the process that holds it")


def _letter(letter: str) -> str:
    """A pattern of one letter of a key as it is, as JSON escapes it, or as an address does."""
    if letter.isalnum():
        return letter
    code = "".join(f"[{digit}{digit.upper()}]" for digit in f"{ord(letter):02x}")
    return rf"(?:\\?{re.escape(letter)}|%{code}|\\u00{code})"


def find_secret(variable: str, model: str, local: bool) -> Secret:
    """The key in that environment variable; a placeholder for a local endpoint when there is none.

    From here on the SDKs log warnings only.

    Raises:
        UsageError: there is no key and the endpoint is not local, or it cannot be a key.
    """
    for name in WIRES:
        logging.getLogger(name).setLevel(logging.WARNING)
    key = os.environ.get(variable, "").strip()
    if not key and not local:
        raise UsageError(f"{model} needs a key: set the environment variable {variable}")
    if not key.isascii() or any(letter.isspace() or not letter.isprintable() for letter in key):
        raise UsageError(f"the environment variable {variable} has letters that no key has: was it copied in full?")
    return Secret(key or PLACEHOLDER, variable)


@dataclass
class _Call:
    """What one call has used up."""

    request: ChatRequest
    """As it is asked: within the configuration's limits."""
    sent: frozenset[str] = frozenset()
    """Names of the parameters of the latest try."""
    failures: int = 0
    empties: int = 0
    lessons: int = 0
    usage: Usage = field(default_factory=Usage)
    usd: float | None = 0.0
    full: int = 0
    """Most tokens of the reply at first."""

    def shorten(self) -> bool:
        """Less room, so that all tries together cost no more than one of full length can; False where none is left."""
        self.full = self.full or self.request.max_tokens
        room = self.full - self.usage.total
        if room < self.full * LEAST_ROOM:
            return False
        self.request = self.request.model_copy(update={"max_tokens": min(room, self.request.max_tokens)})
        return True


class Endpoint:
    """Implements `ChatModel` over a dialect."""

    def __init__(
        self, config: ModelConfig, dialect: Dialect, secret: Secret, capabilities: Capabilities, retries: RetryPolicy
    ) -> None:
        self._config, self._dialect, self._secret, self._capabilities = config, dialect, secret, capabilities
        self._retries = retries
        self._price: Price | None = price_of(config)
        self._turns = asyncio.Semaphore(config.concurrency)

    @property
    def name(self) -> str:
        """See `ChatModel.name`."""
        return f"{self._config.provider}:{self._config.name}"

    async def close(self) -> None:
        """See `ChatModel.close`."""
        await self._dialect.close()

    async def reply(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.reply`."""
        async with self._turns:
            started = monotonic()
            call = _Call(self._config.within(request))
            answer = await self._answer(call)
            return self._reply(answer, call, monotonic() - started)

    async def _answer(self, call: _Call) -> Answer:
        while True:
            found = await self._try(call)
            if isinstance(found, Fault):
                passed = await self._recover(found, call)
                if passed is not None:
                    return passed
                continue
            self._count(found, call)
            if not found.empty:
                return found
            if call.empties >= EMPTY_RETRIES or not call.shorten():
                return found._replace(finish="other")
            call.empties += 1
            await self._retries.sleep(self._retries.delay_s(call.empties, None))

    async def _try(self, call: _Call) -> Answer | Fault:
        parameters = self._dialect.compose(call.request, self._capabilities)
        call.sent = frozenset(parameters) | _system(call.request, self._capabilities) | _marks(parameters)
        text = await self._dialect.send(parameters)
        if isinstance(text, Fault):
            return self._redacted(text)
        body = parsed(text)
        if body is None:
            begun = text.lstrip()[
                :1
            ]  # what begins like an answer and cannot be read was written by a model all the same
            what = "a web page" if begun == "<" else "no JSON"
            characters = len(text) if begun in ("{", "[") else 0
            return Fault("garbled", complaint=Complaint(f"the body is {what}"), characters=characters)
        found = self._dialect.read(body)
        return self._redacted(found) if isinstance(found, Fault) else found

    async def _recover(self, fault: Fault, call: _Call) -> Answer | None:
        """An answer after all, or None when the request is to be tried again."""
        if is_refusal(fault):
            return Answer(finish="refusal", usage=Usage())
        lesson = self._capabilities.learn(fault, call.sent, call.request.max_tokens)
        if lesson is not None and call.lessons < MOST_LESSONS:
            call.lessons += 1
            if lesson.max_tokens is not None:
                call.request = call.request.model_copy(update={"max_tokens": lesson.max_tokens})
            return None
        if is_too_long(fault):
            return Answer(finish="length", usage=Usage())
        lost = fault.characters > 0 or fault.kind in GONE
        if lost:
            self._count_lost(fault, call)
        out = lost and not call.shorten()
        if not worth_retrying(fault) or call.failures >= self._config.retries:
            tries = f" (tried {call.failures + 1} times)" if call.failures else ""
            words = f"{self.name}{tries} {explain(fault, self._secret.variable)}{self._uncapped(fault, call)}"
            raise ModelError(words, call.usage.prompt, call.usage.completion, call.usd)
        if out and (self._config.capped or fault.kind not in GONE):
            return Answer(finish="other", usage=Usage())
        call.failures += 1
        await self._retries.sleep(self._retries.delay_s(call.failures, fault.retry_after_s))
        return None

    def _uncapped(self, fault: Fault, call: _Call) -> str:
        needed = self._config.capped and self._capabilities.cannot_leave_out(fault, call.sent)
        return f" {NO_LIMIT}" if needed else ""

    def _count(self, answer: Answer, call: _Call) -> None:
        usage = counted(answer, call.request)
        call.usage = added(call.usage, usage)
        usd = answer.usd if answer.usd is not None else self._cost(usage, answer.written)
        call.usd = None if usd is None or call.usd is None else call.usd + usd

    def _count_lost(self, fault: Fault, call: _Call) -> None:
        """An answer that came and could not be read, or was sent for and did not come whole, was paid for all the same."""
        said = min(int(fault.characters / BYTES_A_TOKEN), call.request.max_tokens)
        usage = Usage(prompt=prompt_tokens(call.request), completion=said, estimated=True)
        self._count(Answer(usage=usage), call)

    def _cost(self, usage: Usage, written: int = 0) -> float | None:
        return None if self._price is None else cost(self._price, usage, written)

    def _reply(self, answer: Answer, call: _Call, seconds: float) -> ChatReply:
        hide = self._presentable
        return ChatReply(
            text=hide(answer.text),
            calls=tuple(
                ToolCall(id=hide(wish.id), name=hide(wish.name), arguments=hide(wish.arguments))
                for wish in answer.calls
            ),
            finish=answer.finish,
            model=hide(answer.model) or self._config.name,
            usage=call.usage,
            usd=call.usd,
            seconds=seconds,
        )

    def _presentable(self, text: str) -> str:
        """Without the key, and without half characters, which no file takes."""
        return self._secret.redact(text.encode("utf-8", "replace").decode())

    def _redacted(self, fault: Fault) -> Fault:
        complaint = Complaint(*(self._secret.redact(part) for part in fault.complaint))
        return fault._replace(complaint=complaint, elsewhere=self._secret.redact(fault.elsewhere))


def _system(request: ChatRequest, capabilities: Capabilities) -> set[str]:
    apart = not capabilities.folded and any(message.role == "system" for message in request.messages)
    return {SYSTEM} if apart else set()


def _marks(parameters: Mapping[str, JsonValue]) -> set[str]:
    """What a refusal may be about that is no parameter of its own: the marks of prompt caching on a message's blocks."""
    blocks = [block for turn in list_in(parameters.get("messages")) for block in list_in(dict_in(turn).get("content"))]
    return {CACHE} if any(CACHE in dict_in(block) for block in blocks) else set()

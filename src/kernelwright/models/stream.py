"""A reply that comes in pieces, put together to the body that would have come whole.

Time is given for silence and not for the whole: a stalled reply is told from a slow one. Until its first words a reply
may take as long as one that comes whole; after each of them it may be silent for `idle_s`. So that nobody waits for
a few letters a minute, it must keep `SLOWEST_TOKENS_S` in the long run.

`Sdk` is what the SDKs of both protocols have in common. They are made by one generator, and name things alike; they only send,
and read a stream's events. What is made of their exceptions stands there.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextvars import ContextVar
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, NamedTuple, Protocol, cast

from pydantic import JsonValue

from kernelwright.models.answer import BYTES_A_TOKEN
from kernelwright.models.fault import Complaint, Fault, late, refused

SLOWEST_TOKENS_S = 1.0
"""Tokens a second. Whoever writes more slowly runs out of time."""
ROOM_BYTES = 1 << 16
MOST_BYTES_A_TOKEN = 32
"""What is longer than `ROOM_BYTES` and this for each token asked for keeps to no limit."""
HEARD: ContextVar[Callable[[int], None]] = ContextVar("HEARD")
"""Hears how many tokens of a reply have come, as they come. Whoever asks a model may set it around the call; a
parameter would have to go through every model, of which most have nothing to say."""


class Pace(NamedTuple):
    """How long a reply may take."""

    first_s: float
    """Until its first words."""
    idle_s: float
    """From words to words."""
    max_tokens: int
    """What was asked for."""


class Pieces(Protocol):
    """What has come of one reply."""

    @property
    def whole(self) -> bool:
        """Whether the reply has said that it is at its end."""
        ...

    def take(self, event: JsonValue) -> str:
        """The words that an event adds, reasoning and arguments of calls among them."""
        ...

    def body(self) -> JsonValue:
        """The body that would have come at once."""
        ...


class Meanwhile:
    """The clock of one reply."""

    def __init__(self, pace: Pace, now: Callable[[], float] | None = None) -> None:
        self._pace, self._now = pace, now or asyncio.get_running_loop().time
        self._started = self._last = self._now()
        self._bytes = 0

    @property
    def characters(self) -> int:
        """UTF-8 bytes that have come."""
        return self._bytes

    @property
    def tokens(self) -> int:
        """About how many have come."""
        return int(self._bytes / BYTES_A_TOKEN)

    @property
    def endless(self) -> bool:
        """Whether far more has come than was asked for."""
        return self._bytes > ROOM_BYTES + MOST_BYTES_A_TOKEN * self._pace.max_tokens

    @property
    def deadline(self) -> float:
        """When the reply is given up, by the event loop's clock."""
        earned = self._started + self._pace.first_s + self.tokens / SLOWEST_TOKENS_S
        return min(earned, self._last + self._pace.idle_s) if self._bytes else earned

    def heard(self, words: str) -> None:
        """Some words have come."""
        self._last, self._bytes = self._now(), self._bytes + len(words.encode("utf-8", "replace"))
        tell = HEARD.get(None)
        if tell is not None:
            tell(self.tokens)

    def late(self) -> Fault:
        """Why it was given up."""
        if not self._bytes:
            return Fault("timeout")
        silent = self._now() - self._last
        if silent >= self._pace.idle_s:
            return self._broken("stalled", f"{self.tokens} tokens, then nothing for {silent:.3g} s")
        took = self._now() - self._started
        return self._broken("stalled", f"{self.tokens} tokens in {took:.3g} s")

    def cut(self) -> Fault:
        """It ended before its end."""
        return self._broken("cut", f"{self.tokens} tokens came")

    def _broken(self, kind: Literal["cut", "stalled"], words: str) -> Fault:
        return Fault(kind, complaint=Complaint(words), characters=self._bytes)


async def gather(events: AsyncIterator[JsonValue], pieces: Pieces, clock: Meanwhile, limit: asyncio.Timeout) -> None:
    """Take the events until the last; each word moves the limit. Stops where a reply keeps to no length."""
    async for event in events:
        words = pieces.take(event)
        if words:
            clock.heard(words)
            limit.reschedule(clock.deadline)
        if clock.endless:
            return


EVENTS = "text/event-stream"


class Sdk(NamedTuple):
    """One of them."""

    module: ModuleType
    root: type[Exception]
    """Of all its exceptions."""

    @property
    def http(self) -> ModuleType:
        """Its HTTP library, by whichever name: what that raises while a body is read reaches us as it is."""
        kinds = self.module.DefaultAsyncHttpxClient.__mro__
        client = next(kind for kind in kinds if kind.__name__ == "AsyncClient")
        return import_module(client.__module__.partition(".")[0])

    def client(self, kind: str, key: str, address: str, timeout_s: float) -> Any:  # noqa: ANN401
        """A client that does not retry, since retries are counted here, and follows no redirect.

        So neither the key nor the prompt goes where nobody sent it.
        """
        http = self.module.DefaultAsyncHttpxClient(follow_redirects=False)
        made = getattr(self.module, kind)
        return made(api_key=key, base_url=address, max_retries=0, timeout=timeout_s, http_client=http)

    async def opened(self, client: Any, path: str, parameters: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """The stream of a call, whose events are JSON as it is: imitators send what the SDK's types do not expect."""
        kind = self.module.AsyncStream[object]
        return await client.post(path, body=dict(parameters), cast_to=object, stream=True, stream_cls=kind)

    async def whole(self, request: Awaitable[Any], timeout_s: float) -> str | Fault:
        """The raw body of a response.

        Args:
            request: A call of one of its methods `with_raw_response`.
            timeout_s: For the whole call; the SDK's own starts anew with every packet.
        """
        try:
            async with asyncio.timeout(timeout_s):
                return str((await request).http_response.text)
        except (TimeoutError, self.module.APITimeoutError):
            return Fault("timeout")
        except self.module.APIStatusError as error:
            return refused(error.status_code, error.response.headers, error.response.text)
        except self.module.APIConnectionError as error:
            return Fault("connection", complaint=Complaint(str(error.__cause__ or error)))
        except self.root as error:
            return Fault("garbled", complaint=Complaint(str(error)))

    async def pieced(self, opened: Awaitable[Any], pieces: Pieces, pace: Pace) -> str | Fault:
        """The body of a reply that comes in pieces, or whole from an endpoint that knows no streams.

        Args:
            opened: See `opened`.
            pieces: Puts them together.
            pace: How long it may take.
        """
        clock, begun = Meanwhile(pace), False
        fault: Fault | None = None
        try:
            async with asyncio.timeout_at(clock.deadline) as limit:
                async with await opened as stream:
                    begun = True
                    if EVENTS not in stream.response.headers.get("content-type", ""):
                        return bytes(await stream.response.aread()).decode("utf-8", "replace")
                    await gather(cast("AsyncIterator[JsonValue]", stream), pieces, clock, limit)
        except (TimeoutError, ValueError, RecursionError, self.root, self.http.HTTPError) as error:
            fault = self._fault(error, clock, begun)
        if clock.endless:
            return Fault("garbled", complaint=Complaint("the reply is endless"), characters=clock.characters)
        return json.dumps(pieces.body()) if pieces.whole else fault or clock.cut()

    def _fault(self, error: Exception, clock: Meanwhile, begun: bool) -> Fault:
        """What ended a stream before its end, or kept it from its beginning."""
        sdk, http = self.module, self.http
        if isinstance(error, TimeoutError | sdk.APITimeoutError | http.TimeoutException):
            return clock.late()
        if isinstance(error, http.HTTPError):
            return clock.cut()
        if isinstance(error, sdk.APIStatusError) and error.status_code >= 300:  # an event's error stands under 200
            return refused(error.status_code, error.response.headers, error.response.text)
        if isinstance(error, sdk.APIConnectionError):
            return clock.cut() if begun else Fault("connection", complaint=Complaint(str(error.__cause__ or error)))
        if isinstance(error, sdk.APIError):  # an event of the stream
            body = cast("JsonValue", error.body) or error.message
            return late(body if isinstance(body, dict) and "error" in body else {"error": body})
        if isinstance(error, self.root):
            return Fault("garbled", complaint=Complaint(str(error)))
        return Fault("garbled", complaint=Complaint("an event of its stream is no JSON"))

"""What the SDKs of both protocols have in common: a reply whole or in pieces, and what is made of their exceptions.

They are made by one generator, and name things alike. They only send, and read a stream's events.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kernelwright.models.fault import Complaint, Fault, late, refused
from kernelwright.models.stream import Meanwhile, Pace, Pieces, gather

if TYPE_CHECKING:
    from pydantic import JsonValue

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
            opened: A call that gives a stream, its events JSON as it is: imitators send what the SDK's types do not expect.
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

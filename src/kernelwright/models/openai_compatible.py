"""Any endpoint that speaks OpenAI's Chat Completions or its Responses API, through the official SDK.

The SDK only sends, and reads a stream's events. Retries are ours, so that they are counted. Redirects are not followed,
so that neither the key nor the prompt goes where nobody sent it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from importlib import import_module
from typing import Any, cast

import openai
from pydantic import JsonValue

from kernelwright.models import openai_responses, openai_wire
from kernelwright.models.answer import Answer
from kernelwright.models.capability import LENGTH, LENGTH_NEW, STREAM, Capabilities
from kernelwright.models.config import ModelConfig, checked, is_local
from kernelwright.models.endpoint import Endpoint, body_of
from kernelwright.models.fault import Complaint, Fault, RetryPolicy, refused
from kernelwright.models.openai_stream import ChatPieces, ResponsePieces
from kernelwright.models.prices import address_of
from kernelwright.models.secret import Secret, find_secret
from kernelwright.models.stream import Meanwhile, Pace, Pieces, gather
from kernelwright.records.chat import ChatRequest

HOME = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
EVENTS = "text/event-stream"
_CLIENT = next(kind for kind in openai.DefaultAsyncHttpxClient.__mro__ if kind.__name__ == "AsyncClient")
_HTTP = import_module(_CLIENT.__module__.partition(".")[0])
"""The SDK's own HTTP library, by whichever name: what it raises while a body is read reaches us as it is."""
LENGTHS = (LENGTH, LENGTH_NEW, "max_output_tokens")


class _Dialect:
    """Implements `Dialect`."""

    def __init__(self, config: ModelConfig, address: str, secret: Secret) -> None:
        self._config, self._responses = config, config.api == "responses"
        self._client = openai.AsyncOpenAI(
            api_key=secret.reveal(),
            base_url=address,
            max_retries=0,
            timeout=config.patience_s,
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
        )

    def compose(self, request: ChatRequest, capabilities: Capabilities) -> dict[str, JsonValue]:
        """See `Dialect.compose`."""
        wire = openai_responses if self._responses else openai_wire
        parameters: dict[str, JsonValue] = wire.parameters_of(self._config.name, request, capabilities)
        options, stream = STREAM
        if self._config.stream and stream not in capabilities.dropped:
            parameters[stream] = True
            if not self._responses and options not in capabilities.dropped:
                parameters[options] = {"include_usage": True}
        return parameters

    async def send(self, parameters: Mapping[str, Any]) -> str | Fault:
        """See `Dialect.send`."""
        if parameters.get("stream"):
            return await self._streamed(parameters)
        client: Any = self._client.responses if self._responses else self._client.chat.completions
        request = client.with_raw_response.create(**parameters)
        return await body_of(openai, openai.OpenAIError, request, self._config.patience_s)

    def read(self, body: JsonValue) -> Answer | Fault:
        """See `Dialect.read`."""
        return openai_responses.read_response(body) if self._responses else openai_wire.read_completion(body)

    async def close(self) -> None:
        """See `Dialect.close`."""
        await self._client.close()

    async def _streamed(self, parameters: Mapping[str, Any]) -> str | Fault:
        """The body of a reply that comes in pieces, or whole from an endpoint that knows no streams."""
        most = next((parameters[name] for name in LENGTHS if name in parameters), self._config.max_tokens)
        clock = Meanwhile(Pace(self._config.patience_s, self._config.timeout_s, most))
        pieces: Pieces = ResponsePieces() if self._responses else ChatPieces()
        fault: Fault | None = None
        begun = False
        try:
            async with asyncio.timeout_at(clock.deadline) as limit:
                async with await self._opened(parameters) as stream:
                    begun = True
                    if EVENTS not in stream.response.headers.get("content-type", ""):
                        return (await stream.response.aread()).decode("utf-8", "replace")
                    await gather(cast("AsyncIterator[JsonValue]", stream), pieces, clock, limit)
        except (TimeoutError, ValueError, RecursionError, openai.OpenAIError, _HTTP.HTTPError) as error:
            fault = _fault_of(error, clock, begun)
        if clock.endless:
            return Fault("garbled", complaint=Complaint("the reply is endless"), characters=clock.characters)
        return json.dumps(pieces.body()) if pieces.whole else fault or clock.cut()

    async def _opened(self, parameters: Mapping[str, Any]) -> openai.AsyncStream[object]:
        """The stream of a call, whose events are JSON as it is: imitators send what the SDK's types do not expect."""
        return await self._client.post(
            "/responses" if self._responses else "/chat/completions",
            body=dict(parameters),
            cast_to=object,
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )


def _fault_of(error: Exception, clock: Meanwhile, begun: bool) -> Fault:
    """What ended a stream before its end, or kept it from its beginning."""
    match error:
        case TimeoutError() | openai.APITimeoutError() | _HTTP.TimeoutException():
            return clock.late()
        case _HTTP.HTTPError():
            return clock.cut()
        case openai.APIStatusError():
            return refused(error.status_code, error.response.headers, error.response.text)
        case openai.APIConnectionError():
            return clock.cut() if begun else Fault("connection", complaint=Complaint(str(error.__cause__ or error)))
        case openai.APIError():
            return openai_wire.late({"error": cast("JsonValue", error.body) or error.message})
        case openai.OpenAIError():
            return Fault("garbled", complaint=Complaint(str(error)))
    return Fault("garbled", complaint=Complaint("an event of its stream is no JSON"))


def open_model(config: ModelConfig, retries: RetryPolicy | None = None) -> Endpoint:
    """The model; no request is made yet.

    Raises:
        UsageError: the address or the key cannot be used.
    """
    address = checked(address_of(config) or HOME)
    secret = find_secret(config.key_variable or KEY, f"openai:{config.name}", is_local(address))
    capabilities = Capabilities(fixed={LENGTH_NEW} if config.capped else ())
    return Endpoint(config, _Dialect(config, address, secret), secret, capabilities, retries or RetryPolicy())
